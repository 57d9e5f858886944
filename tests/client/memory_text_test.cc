#include "client/memory_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "client/format.h"
#include "client/table.h"
#include "tests/client/sample_memory.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string TextOf(const v1::PlanRunResponse& response) {
  return MemoryText(SampleMemoryRequest(), response, {});
}

TEST(MemoryText, Shows) { std::cout << TextOf(SampleMemory()); std::cout << TextOf(SampleMemoryOn(43, v1::VERDICT_TIGHT));  std::cout << TextOf(SampleMemoryOn(20, v1::VERDICT_DOES_NOT_FIT)); std::cout << TextOf(SampleLedger()); std::cout << TextOf(SampleOfStages(100)); }

}  // namespace
}  // namespace sextant
