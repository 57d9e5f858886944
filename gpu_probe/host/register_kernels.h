// Multiply-adds on registers alone: the rate that no kernel can pass.
#ifndef SEXTANT_GPU_PROBE_HOST_REGISTER_KERNELS_H_
#define SEXTANT_GPU_PROBE_HOST_REGISTER_KERNELS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "gpu_probe/host/cpu_features.h"
#include "sextant/v1/data_type.pb.h"

namespace sextant {

// 32-bit words that a kernel's chains hold, at most: 24 vectors of 64 bytes.
inline constexpr int kMaxRegisterWordCount = 24 * 16;

// What the chains start with and end with, word by word (bits; only the first `word_count` of
// the kernel are used), and the two operands of a multiply-add, a vector each.
struct RegisterState {
  alignas(64) std::array<uint32_t, kMaxRegisterWordCount> words = {};
  alignas(64) std::array<uint32_t, 16> left = {};
  alignas(64) std::array<uint32_t, 16> right = {};
};

// One instruction, as many times as `step_count` times the number of its chains.
struct RegisterKernel {
  v1::DataType data_type = v1::DATA_TYPE_UNSPECIFIED;
  const char* instruction = "";
  int word_count = 0;              // of all chains; a chain is as wide as the instruction
  int lane_count = 0;              // words of one chain
  int operation_count_a_word = 0;  // of one step: a multiply-add is two
  void (*run)(RegisterState* state, int64_t step_count) = nullptr;
};

// FP32:  x = left x + right, as fp32.
// BF16:  x = x + left0 right0 + left1 right1: fp32 sums of pairs of bf16.
// INT8:  x = x + the sum of four products, unsigned (left) times signed (right), modulo 2^32.
//
// All that this processor has, the fastest of a type first; none for BF16 or INT8 where tile
// registers (AMX) multiply them, whose rate these instructions do not show.
std::vector<RegisterKernel> RegisterKernelsOf(const CpuFeatures& features);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_REGISTER_KERNELS_H_
