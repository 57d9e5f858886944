// One multiplication as cuBLASLt is told of it, and the algorithms that it offers.
#ifndef SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_MATMUL_H_
#define SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_MATMUL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/cuda/cuda_driver.h"
#include "gpu_probe/cuda/gemm/cublaslt_session.h"
#include "gpu_probe/cuda/gemm/gpu_matmul_type.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

// C[m,n] = A[m,k] B[k,n], row-major, `batch_count` times with operands one behind the other.
struct GpuMatmulProblem {
  const GpuMatmulType* type = nullptr;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  v1::MatmulMeasurement::Layout layout = v1::MatmulMeasurement::LAYOUT_ROW_BY_COLUMN;
  int64_t batch_count = 1;
  bool fast_accumulation = true;  // of FP8_E4M3
  bool wide_output = false;       // C as exact sums need it

  MatrixFormat output() const { return wide_output ? type->wide_output : type->output; }
  int64_t output_bytes() const { return batch_count * m * n * OutputBytesOf(output()); }
  double operation_count() const;
};

// Where the operands of a run lie.
struct GpuMatmulOperands {
  cuda::Address a = 0;
  cuda::Address b = 0;
  cuda::Address c = 0;
  cuda::Address workspace = 0;  // of WorkspaceBytesFor()
};

// Scales of A and B: of blocks, or one number each. Unused where the type has none.
struct GpuMatmulScales {
  cuda::Address a = 0;
  cuda::Address b = 0;
};

class GpuMatmul {
 public:
  // Asks the library for its algorithms, the one that it prefers first.
  //
  // Errors: kUnimplemented where it has none for that; CublasStatus()'s.
  static absl::StatusOr<std::unique_ptr<GpuMatmul>> Prepare(SharedCublasLt cublaslt,
                                                            const GpuMatmulProblem& problem,
                                                            const GpuMatmulScales& scales);
  ~GpuMatmul();
  GpuMatmul(const GpuMatmul&) = delete;
  GpuMatmul& operator=(const GpuMatmul&) = delete;

  const GpuMatmulProblem& problem() const { return problem_; }
  size_t choice_count() const { return choices_.size(); }
  // "tile 23 stages 35 cluster 3 waves 3.9": AlgorithmText().
  std::string KernelText(size_t choice) const;

  // Queues a run by an algorithm.
  //
  // Errors: CublasStatus()'s, or the GPU's own where it fails.
  absl::Status Enqueue(size_t choice, const GpuMatmulOperands& operands) const;

 private:
  GpuMatmul(SharedCublasLt cublaslt, const GpuMatmulProblem& problem)
      : cublaslt_(std::move(cublaslt)), problem_(problem) {}
  const CublasLt& library() const { return cublaslt_->library(); }
  absl::Status Describe(const GpuMatmulScales& scales);
  absl::Status SetScales(const GpuMatmulScales& scales);
  absl::Status MakeLayout(int type, int64_t rows, int64_t columns, void** out);
  absl::Status Choose();
  template <typename Value>
  absl::Status Set(int attribute, Value value);

  const SharedCublasLt cublaslt_;
  const GpuMatmulProblem problem_;
  void* matmul_ = nullptr;
  // As the library has them, column-major: C' = B' A', so that its first is B.
  void* b_layout_ = nullptr;
  void* a_layout_ = nullptr;
  void* c_layout_ = nullptr;
  std::vector<CublasLtChoice> choices_;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_MATMUL_H_
