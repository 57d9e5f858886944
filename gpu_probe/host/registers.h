// Multiply-adds in registers alone: the upper bound of every kernel's rate.
#ifndef SEXTANT_GPU_PROBE_HOST_REGISTERS_H_
#define SEXTANT_GPU_PROBE_HOST_REGISTERS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu_probe/host/cpu_features.h"
#include "gpu_probe/host/host_context.h"
#include "gpu_probe/point.h"
#include "sextant/v1/data_type.pb.h"

namespace sextant::probe {

// The most 32-bit words that a kernel's chains hold: 24 vectors of 64 bytes.
inline constexpr int kMaxRegisterWordCount = 24 * 16;

// The start and end values of the chains, word by word (bits; only the kernel's first `word_count`
// are used), and the two operands of a multiply-add, a vector each.
struct RegisterState {
  alignas(64) std::array<uint32_t, kMaxRegisterWordCount> words = {};
  alignas(64) std::array<uint32_t, 16> left = {};
  alignas(64) std::array<uint32_t, 16> right = {};
};

// One instruction, executed `step_count` times for each of its chains.
struct RegisterKernel {
  v1::DataType data_type = v1::DATA_TYPE_UNSPECIFIED;
  const char* instruction = "";
  int chain_count = 0;
  int lane_count = 0;  // words in one chain, which is as wide as the instruction
  void (*run)(RegisterState* state, int64_t step_count) = nullptr;

  int word_count() const { return chain_count * lane_count; }
  // In one step: a multiply-add counts as two.
  int operation_count_a_word() const {
    return data_type == v1::DATA_TYPE_FP32 ? 2 : data_type == v1::DATA_TYPE_BF16 ? 4 : 8;
  }
};

// FP32:  x = left x + right, as fp32.
// BF16:  x = x + left0 right0 + left1 right1: fp32 sums of pairs of bf16.
// INT8:  x = x + the sum of four products, unsigned (left) times signed (right), modulo 2^32.
//
// The kernels for this processor, the fastest of a type first; none for BF16 or INT8 where tile
// registers (AMX) multiply them, whose rate these instructions do not show.
std::vector<RegisterKernel> RegisterKernelsOf(const CpuFeatures& features);

// One point for each type of `types`, with the fastest instruction of this processor.
std::vector<Point> RegisterPoints(const std::vector<v1::DataType>& types,
                                  const SharedContext& context);

// `step_count` steps of `kernel` on every thread.
std::unique_ptr<Workload> RegisterWorkloadOf(const RegisterKernel& kernel, int64_t step_count,
                                             SharedContext context);

// The value that a chain's word must have after `step_count` steps, by the closed form of the
// kernel's type. FP32 is exact for the numbers of RegisterWorkloadOf().
uint32_t ExpectedWord(const RegisterKernel& kernel, const RegisterState& start, int word,
                      int64_t step_count);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_REGISTERS_H_
