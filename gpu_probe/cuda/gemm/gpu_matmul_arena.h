// The operands of all multiplications of one type on a GPU, and what checks need.
#ifndef SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_MATMUL_ARENA_H_
#define SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_MATMUL_ARENA_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/cuda/gemm/gpu_matmul.h"
#include "gpu_probe/cuda/gpu_check.h"

namespace sextant {

// What a problem needs, or the most that several need.
struct GpuMatmulBytes {
  int64_t a = 0;
  int64_t b = 0;  // all copies of B
  int64_t c = 0;
  int64_t a_scales = 0;
  int64_t b_scales = 0;
  int64_t scratch = 0;  // of checks
  int64_t total() const { return a + b + c + a_scales + b_scales + scratch; }
};

// Copies of B that a workload takes in turn, all of random numbers of their own: as many that
// `touched_bytes` are touched before the first comes again.
struct GpuRotation {
  int64_t count = 1;
  int64_t stride_bytes = 0;
};

GpuRotation GpuRotationOf(const GpuMatmulProblem& problem, int64_t touched_bytes);
GpuMatmulBytes GpuBytesOf(const GpuMatmulProblem& problem, const GpuRotation& rotation);
GpuMatmulBytes GpuMaximumOf(const GpuMatmulBytes& x, const GpuMatmulBytes& y);

// What comparing a type's products with plain ones multiplies.
GpuMatmulProblem ExactProblemOf(const GpuMatmulType& type);
// Its operands, one behind the other in the scratch memory.
GpuMatmulBytes ExactBytesOf(const GpuMatmulProblem& exact);

class GpuMatmulArena {
 public:
  // Fills A and B with random numbers.
  //
  // Errors: DeviceMemory::Allocate()'s, GpuSession::Launch()'s.
  static absl::StatusOr<std::shared_ptr<GpuMatmulArena>> Create(const GpuMatmulType& type,
                                                                const GpuMatmulBytes& bytes,
                                                                const CublasLtSession& cublaslt);

  const GpuMatmulType& type() const { return type_; }
  // Of the first copy of B.
  GpuMatmulOperands operands() const {
    return {
        .a = a_.address(), .b = b_.address(), .c = c_.address(), .workspace = workspace_.address()};
  }
  GpuMatmulScales scales() const { return {.a = a_scales_.address(), .b = b_scales_.address()}; }
  cuda::Address scratch() const { return scratch_.address(); }
  cuda::Address hash() const { return hash_.address(); }  // 8 bytes
  GpuCheck& check() { return *check_; }

 private:
  explicit GpuMatmulArena(const GpuMatmulType& type) : type_(type) {}

  const GpuMatmulType& type_;
  DeviceMemory a_;
  DeviceMemory b_;
  DeviceMemory c_;
  DeviceMemory a_scales_;
  DeviceMemory b_scales_;
  DeviceMemory scratch_;
  DeviceMemory workspace_;
  DeviceMemory hash_;
  std::unique_ptr<GpuCheck> check_;
};

// The arena of several problems of a type, there while any workload uses it.
class GpuMatmulArenaSource {
 public:
  GpuMatmulArenaSource(const GpuMatmulType& type, SharedSession session);

  // Makes room for a problem too, unless the arena would then exceed what the probe may take.
  //
  // Errors: kResourceExhausted, naming the bytes.
  absl::Status Include(const GpuMatmulProblem& problem, const GpuRotation& rotation);

  // Errors: GpuMatmulArena::Create()'s.
  absl::StatusOr<std::shared_ptr<GpuMatmulArena>> Get(const CublasLtSession& cublaslt);

 private:
  const GpuMatmulType& type_;
  const SharedSession session_;
  GpuMatmulBytes bytes_;
  std::weak_ptr<GpuMatmulArena> arena_;
};

// Fills `size_bytes` bytes with elements of the type, whole numbers from -4 to 4 where `integers`.
absl::Status FillElements(const GpuMatmulType& type, cuda::Address to, int64_t size_bytes,
                          uint64_t seed, bool integers, GpuSession& session);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_MATMUL_ARENA_H_
