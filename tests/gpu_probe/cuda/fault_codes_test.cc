// Each code of CUDA and of NVML that means something of its own, by fault_codes.csv: numbers as
// cuda.h, driver_types.h and nvml.h have them, and what the sentence tells to do or to look at.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "gpu_probe/cuda/cuda_fault.h"
#include "gpu_probe/cuda/nvml.h"
#include "gpu_probe/exit_code.h"
#include "tests/support/csv.h"
#include "tests/support/source_folder.h"
#include "tests/support/status_matchers.h"

namespace sextant::probe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(FaultCodesTest, EachHasItsKindItsWordAndItsAdvice) {
  EXPECT_THAT(CudaStatus(0, "cuInit"), IsOk());
  EXPECT_THAT(NvmlStatus(nvml::kSuccess, "nvmlInit_v2"), IsOk());
  const auto rows = ReadCsv(SourceFolder() + "/tests/gpu_probe/cuda/fault_codes.csv").value();
  for (const CsvRow& row : rows) {
    const std::string& library = row.at("library");
    const int code = std::atoi(row.at("code").c_str());
    const v1::ProbeFailure failure = FailureOf(library == "CUDA" ? CudaStatus(code, "aFunction")
                                                                 : NvmlStatus(code, "aFunction"));
    EXPECT_EQ(v1::ProbeFailure::Kind_Name(failure.kind()), row.at("kind")) << library << code;
    EXPECT_EQ(failure.reason(), row.at("reason")) << library << code;
    EXPECT_THAT(failure.message(), AllOf(HasSubstr(row.at("advice")), HasSubstr("aFunction"),
                                         HasSubstr(library + "'s error " + row.at("code"))));
  }
}

}  // namespace
}  // namespace sextant::probe
