#include "gpu_probe/host/registers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/gpu_probe/host/test_host.h"

namespace sextant::probe {
namespace {

TEST(RegisterKernels, EndWhereTheClosedFormSays) {
  for (const RegisterKernel& kernel : RegisterKernelsOf(DetectCpuFeatures())) {
    SCOPED_TRACE(kernel.instruction);
    for (const int64_t step_count : {1, 2, 1001}) {
      const auto workload = RegisterWorkloadOf(kernel, step_count, SmallHost());
      workload->Poison();
      EXPECT_EQ(workload->Check().code(), absl::StatusCode::kDataLoss);
      ASSERT_EQ(workload->Run(3), absl::OkStatus());
      EXPECT_EQ(workload->Check(), absl::OkStatus());
    }
  }
}

TEST(RegisterKernels, AStepTooFewIsFound) {
  for (RegisterKernel kernel : RegisterKernelsOf(DetectCpuFeatures())) {
    SCOPED_TRACE(kernel.instruction);
    static void (*real)(RegisterState*, int64_t) = nullptr;
    real = kernel.run;
    kernel.run = [](RegisterState* state, int64_t step_count) { real(state, step_count - 1); };
    const auto workload = RegisterWorkloadOf(kernel, /*step_count=*/101, SmallHost());
    ASSERT_EQ(workload->Run(1), absl::OkStatus());
    EXPECT_EQ(workload->Check().code(), absl::StatusCode::kDataLoss);
  }
}

TEST(RegisterKernels, EveryProcessorHasOneForFp32) {
  const auto kernels = RegisterKernelsOf({});
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_STREQ(kernels[0].instruction, "sse2 mulps addps");
}

TEST(RegisterKernels, TilesHaveNone) {
  CpuFeatures features = {.avx2 = true,
                          .fma = true,
                          .avx512f = true,
                          .avx512_bf16 = true,
                          .avx512_vnni = true,
                          .avx_vnni = true,
                          .amx_tile = true,
                          .amx_bf16 = true,
                          .amx_int8 = true};
  for (const RegisterKernel& kernel : RegisterKernelsOf(features)) {
    EXPECT_EQ(kernel.data_type, v1::DATA_TYPE_FP32);
  }
  features.amx_bf16 = features.amx_int8 = false;
  std::set<v1::DataType> types;
  for (const RegisterKernel& kernel : RegisterKernelsOf(features)) types.insert(kernel.data_type);
  EXPECT_EQ(types.size(), 3u);
}

TEST(RegisterPoints, CountTheOperationsOfAllThreads) {
  const auto points = RegisterPoints({v1::DATA_TYPE_FP32}, SmallHost(/*thread_count=*/2));
  ASSERT_EQ(points.size(), 1u);
  v1::TimeStatistics time;
  time.set_median_seconds(2);
  v1::Calibration calibration;
  points[0].record(time, &calibration);
  ASSERT_EQ(calibration.registers_size(), 1);
  const RegisterKernel kernel = RegisterKernelsOf(DetectCpuFeatures())[0];
  // 40,001 steps, 2 FLOPs a word, 2 threads, over 2 seconds.
  EXPECT_EQ(calibration.registers(0).flops_per_second(), 40'001.0 * kernel.word_count() * 2);
  EXPECT_EQ(calibration.registers(0).instruction(), kernel.instruction);
}

}  // namespace
}  // namespace sextant::probe
