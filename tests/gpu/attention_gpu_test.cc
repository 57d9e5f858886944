// Attention on a real GPU: the kernels that check it against loops in double on the host, and
// cuDNN's passes against these kernels.
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gpu_probe/cuda/attention/gpu_attention_check.h"
#include "gpu_probe/cuda/attention/gpu_attention_points.h"
#include "gpu_probe/cuda/attention/gpu_attention_shape.h"
#include "tests/gpu/on_gpu.h"

namespace sextant::probe {
namespace {

using Bf16Bits = uint16_t;

double WideOf(Bf16Bits bits) {
  const uint32_t wide = uint32_t{bits} << 16;
  float value = 0;
  static_assert(sizeof(value) == sizeof(wide));
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

Bf16Bits NarrowOf(double wide) {
  const auto value = static_cast<float>(wide);
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<Bf16Bits>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

constexpr GpuAttentionShape kSmall = {.batch = 2,
                                      .sequence = 200,
                                      .heads = 4,
                                      .kv_heads = 2,
                                      .head_size = 64,
                                      .value_head_size = 32,
                                      .causal = true};
constexpr LaunchShape kSmallGrid = {.block_count = 40};

class AttentionGpuTest : public OnGpuTest {
 protected:
  // Normal numbers, on the GPU and here.
  struct Filled {
    DeviceMemory memory;
    std::vector<Bf16Bits> numbers;
  };
  Filled Normal(int64_t count, uint64_t seed) {
    const auto length = static_cast<size_t>(count);
    Filled out = {.memory = Allocate(2 * length), .numbers = {}};
    EXPECT_EQ(session_->Launch("fill_normal_bf16", kSmallGrid, out.memory.address(),
                               static_cast<unsigned long long>(count),
                               static_cast<unsigned long long>(seed)),
              absl::OkStatus());
    out.numbers = Read<Bf16Bits>(out.memory, length);
    return out;
  }
  template <typename T>
  DeviceMemory Upload(const std::vector<T>& from) {
    DeviceMemory memory = Allocate(from.size() * sizeof(T));
    EXPECT_EQ(session_->CopyToDevice(memory.address(), from.data(), memory.size_bytes()),
              absl::OkStatus());
    return memory;
  }

  void SetUp() override {
    OnGpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const int64_t rows = kSmall.tokens() * kSmall.heads;
    const int64_t kv_rows = kSmall.tokens() * kSmall.kv_heads;
    queries_ = Normal(rows * kSmall.head_size, 1);
    keys_ = Normal(kv_rows * kSmall.head_size, 1 << 20);
    values_ = Normal(kv_rows * kSmall.value_head_size, 2 << 20);
    for (int64_t i = 0; i < kSampleCount; ++i) {
      samples_.push_back({.batch = i % 2, .head = i % kSmall.heads, .token = i * 49});
    }
    samples_memory_ = Upload(samples_);
  }

  static size_t Row(int64_t heads, int64_t batch, int64_t head, int64_t token, int64_t width) {
    return static_cast<size_t>(((batch * kSmall.sequence + token) * heads + head) * width);
  }
  // The softmax's weights of a sampled query; the last is the logarithm of their sum before.
  std::vector<double> WeightsOf(const AttentionSample& at) const {
    std::vector<double> weights;
    double sum = 0;
    for (int64_t key = 0; key < kSmall.sequence; ++key) {
      const size_t q = Row(kSmall.heads, at.batch, at.head, at.token, kSmall.head_size);
      const size_t k = Row(kSmall.kv_heads, at.batch, at.head / 2, key, kSmall.head_size);
      double dot = 0;
      for (size_t i = 0; i < static_cast<size_t>(kSmall.head_size); ++i) {
        dot += WideOf(queries_.numbers[q + i]) * WideOf(keys_.numbers[k + i]);
      }
      weights.push_back(key <= at.token ? std::exp(double{kSmall.scale()} * dot) : 0);
      sum += weights.back();
    }
    for (double& weight : weights) weight /= sum;
    weights.push_back(std::log(sum));
    return weights;
  }

  static constexpr int64_t kSampleCount = 5;
  AttentionSizes sizes_ = {.sequence = kSmall.sequence,
                           .heads = kSmall.heads,
                           .kv_heads = kSmall.kv_heads,
                           .head_size = kSmall.head_size,
                           .value_head_size = kSmall.value_head_size,
                           .causal = 1,
                           .scale = double{kSmall.scale()}};
  Filled queries_, keys_, values_;
  std::vector<AttentionSample> samples_;
  DeviceMemory samples_memory_;
};

TEST_F(AttentionGpuTest, WeightsAndOutputsAgreeWithTheHost) {
  const DeviceMemory weights = Allocate(kSampleCount * kSmall.sequence * sizeof(double));
  const DeviceMemory log_sums = Allocate(kSampleCount * sizeof(double));
  ASSERT_EQ(session_->Launch("attention_row_scores", kSmallGrid, weights.address(),
                             queries_.memory.address(), keys_.memory.address(),
                             samples_memory_.address(), kSampleCount, sizes_),
            absl::OkStatus());
  ASSERT_EQ(session_->Launch("attention_row_sums", kSmallGrid, log_sums.address(),
                             weights.address(), kSampleCount, kSmall.sequence),
            absl::OkStatus());
  ASSERT_EQ(session_->Launch("attention_row_weights", kSmallGrid, weights.address(),
                             log_sums.address(), kSampleCount, kSmall.sequence),
            absl::OkStatus());
  const auto got = Read<double>(weights, kSampleCount * kSmall.sequence);
  const auto got_sums = Read<double>(log_sums, kSampleCount);

  std::vector<Bf16Bits> outputs(
      static_cast<size_t>(kSmall.tokens() * kSmall.heads * kSmall.value_head_size));
  size_t changed = 0;
  for (size_t i = 0; i < samples_.size(); ++i) {
    const AttentionSample& at = samples_[i];
    const std::vector<double> wanted = WeightsOf(at);
    EXPECT_NEAR(got_sums[i], wanted.back(), 1e-9);
    const size_t out = Row(kSmall.heads, at.batch, at.head, at.token, kSmall.value_head_size);
    if (i == 3) changed = out + 5;
    for (size_t c = 0; c < static_cast<size_t>(kSmall.value_head_size); ++c) {
      double sum = 0;
      for (int64_t key = 0; key < kSmall.sequence; ++key) {
        const double weight = wanted[static_cast<size_t>(key)];
        EXPECT_NEAR(got[i * static_cast<size_t>(kSmall.sequence) + static_cast<size_t>(key)],
                    weight, 1e-12);
        const size_t v = Row(kSmall.kv_heads, at.batch, at.head / 2, key, kSmall.value_head_size);
        sum += weight * WideOf(values_.numbers[v + c]);
      }
      outputs[out + c] = NarrowOf(sum);
    }
  }
  auto check = GpuCheck::Create(session_);
  ASSERT_TRUE(check.ok());
  const auto wrong_count = [&] {
    const DeviceMemory memory = Upload(outputs);
    const auto report =
        check->Run("check_attention_rows", kSmallGrid, memory.address(), weights.address(),
                   values_.memory.address(), samples_memory_.address(), kSampleCount, sizes_,
                   kSmall.value_head_size, 1.0);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? report->wrong_count : 0;
  };
  EXPECT_EQ(wrong_count(), 0);
  outputs[changed] = NarrowOf(WideOf(outputs[changed]) + 0.1);
  EXPECT_EQ(wrong_count(), 1);
}

// cuDNN's passes against the kernels above, at sizes that calibrations have: backward passes also
// hold the kernels of gradients to an answer that is not theirs.
TEST_F(AttentionGpuTest, CudnnComputesAttentionBothWays) {
  std::vector<std::string> notes;
  const auto points =
      GpuAttentionPoints(v1::PROBE_MODE_FULL, session_, LoadCudnn(libraries_), &notes);
  if (points.empty()) GTEST_SKIP() << notes.at(0);
  for (size_t i = 0; i < points.size(); i += 3) {
    const auto workload = points[i].make();
    if (!workload.ok()) {
      EXPECT_EQ(workload.status().code(), absl::StatusCode::kUnimplemented)
          << points[i].label << ": " << workload.status();
      continue;
    }
    (*workload)->Poison();
    ASSERT_EQ((*workload)->Run(3), absl::OkStatus()) << points[i].label;
    EXPECT_EQ((*workload)->Check(), absl::OkStatus()) << points[i].label;
    const double rate = points[i].work * 3 / (*workload)->DeviceSeconds().value();
    RecordProperty(points[i].label, std::to_string(rate * 1e-12));
    EXPECT_GT(rate, 1e9) << points[i].label;
  }
}

TEST_F(AttentionGpuTest, WhatNoRunWroteIsFound) {
  std::vector<std::string> notes;
  const auto points =
      GpuAttentionPoints(v1::PROBE_MODE_STANDARD, session_, LoadCudnn(libraries_), &notes);
  if (points.empty()) GTEST_SKIP() << notes.at(0);
  const auto workload = points[0].make();
  ASSERT_TRUE(workload.ok()) << workload.status();
  ASSERT_EQ((*workload)->Run(1), absl::OkStatus());
  ASSERT_EQ((*workload)->Check(), absl::OkStatus());
  (*workload)->Poison();
  EXPECT_EQ((*workload)->Check().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace sextant::probe
