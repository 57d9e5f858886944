#include "tests/engine/operation/graphs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/support/status_matchers.h"

namespace sextant {

GraphAnalysis Analyzed(const GraphSpec& spec) {
  const auto analysis = AnalyzeGraph(spec);
  EXPECT_THAT(analysis, IsOk()) << analysis.status();
  return analysis.ok() ? *analysis : GraphAnalysis();
}

std::vector<std::string> SavedNames(const GraphMemory& memory) {
  std::vector<std::string> names;
  for (const SavedStorage& saved : memory.saved) names.push_back(saved.storage.name);
  return names;
}

void ExpectAddsUp(const GraphMemory& memory) {
  int64_t at_peak = 0;
  for (const GraphStorage& storage : memory.at_peak) at_peak += storage.size.value();
  EXPECT_EQ(at_peak, memory.peak_bytes.value());
  int64_t saved = 0;
  for (const SavedStorage& one : memory.saved) saved += one.storage.size.value();
  EXPECT_EQ(saved, memory.saved_bytes.value());
}

GraphSpec DeepLinear(int layers, int64_t rows, int64_t width) {
  GraphSpec spec = {.tensors = {InputOf("h0", {rows, width})}, .data_type = DataType::kFp32};
  for (int i = 1; i <= layers; ++i) {
    const std::string w = absl::StrCat("w", i);
    spec.tensors.push_back(ParameterOf(w, {width, width}));
    spec.operations.push_back(Make(absl::StrCat("h", i), Linear{}, {absl::StrCat("h", i - 1), w}));
  }
  return spec;
}

}  // namespace sextant
