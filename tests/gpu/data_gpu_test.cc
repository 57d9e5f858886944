// The session and the kernels of data.cu on a real GPU.
#include <cmath>

#include "tests/gpu/on_gpu.h"

namespace sextant::probe {
namespace {

using DataGpuTest = OnGpuTest;

TEST_F(DataGpuTest, FillsEveryElementWithNormalNumbers) {
  constexpr uint64_t kCount = 1'000'003;
  const DeviceMemory memory = Allocate(kCount * sizeof(float));
  ASSERT_EQ(session_->Fill(memory.address(), 0xFF, memory.size_bytes()), absl::OkStatus());
  ASSERT_EQ(session_->Launch("fill_normal_fp32", {.block_count = 64}, memory.address(), kCount,
                             uint64_t{1}),
            absl::OkStatus());
  double sum = 0;
  double squares = 0;
  for (const float x : Read<float>(memory, kCount)) {
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += double{x} * x;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.01);
  EXPECT_NEAR(squares / kCount, 1, 0.01);
}

TEST_F(DataGpuTest, MemoryBeyondTheCapIsNotTaken) {
  const auto more = DeviceMemory::Allocate(session_, session_->memory_cap_bytes() + 1);
  EXPECT_EQ(more.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(session_->allocated_bytes(), 0);
}

}  // namespace
}  // namespace sextant::probe
