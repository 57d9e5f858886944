// cuBLASLt on one GPU: the description of one multiplication, and the algorithms that the library
// offers for it.
#ifndef SEXTANT_GPU_PROBE_CUDA_MATMUL_GPU_MATMUL_H_
#define SEXTANT_GPU_PROBE_CUDA_MATMUL_GPU_MATMUL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_probe/cuda/cuda_driver.h"
#include "gpu_probe/cuda/cuda_libraries.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/cuda/matmul/gpu_matmul_type.h"

namespace sextant::probe {

// The library's handle on one GPU.
class CublasLtSession {
 public:
  // Makes the library's handle, for the session's GPU.
  //
  // Errors: CublasStatus()'s.
  static absl::StatusOr<std::shared_ptr<CublasLtSession>> Open(CublasLt library,
                                                               SharedSession session);
  ~CublasLtSession();
  CublasLtSession(const CublasLtSession&) = delete;
  CublasLtSession& operator=(const CublasLtSession&) = delete;

  const CublasLt& library() const { return library_; }
  void* handle() const { return handle_; }
  GpuSession& session() const { return *session_; }
  const SharedSession& shared_session() const { return session_; }
  // "cublaslt 13.1.0".
  std::string engine() const { return "cublaslt " + library_.version; }

 private:
  CublasLtSession(CublasLt library, SharedSession session)
      : session_(std::move(session)), library_(std::move(library)) {}

  const SharedSession session_;  // first, so that it outlives the handle
  const CublasLt library_;
  void* handle_ = nullptr;
};

using SharedCublasLt = std::shared_ptr<CublasLtSession>;

// Bytes of workspace that its algorithms may use in addition to the operands: as many as frameworks
// give them. 32 MiB since Hopper and 8.125 MiB before are PyTorch's (parseChosenWorkspaceSize() of
// aten/src/ATen/cuda/CublasHandlePool.cpp); TransformerEngine gives 32 and 4 MiB.
int64_t WorkspaceBytesFor(const GpuSession& session);

// "tile 20 stages 35 split-k 2 cluster 5 waves 3.9": the library's own numbers of the tile, of the
// stages and of the cluster's shape, which cublasLt.h names (20 is CUBLASLT_MATMUL_TILE_128x128);
// the number of parts of k, where more than one; how often the blocks fill the GPU. Values that the
// library does not report are left out.
std::string AlgorithmText(const CublasLt& library, const CublasLtChoice& choice);

// The addresses of a run's operands.
struct GpuMatmulOperands {
  cuda::Address a = 0;
  cuda::Address b = 0;
  cuda::Address c = 0;
  cuda::Address workspace = 0;  // of WorkspaceBytesFor()
};

// Scales of A and B: one for each block, or one number each. Unused where the type has none.
struct GpuMatmulScales {
  cuda::Address a = 0;
  cuda::Address b = 0;
};

class GpuMatmul {
 public:
  // Asks the library for its algorithms, in its order of preference.
  //
  // Errors: kUnimplemented where it has none for the problem; CublasStatus()'s.
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
  // The library's matrices are column-major: C' = B' A', so that its first operand is B.
  void* b_layout_ = nullptr;
  void* a_layout_ = nullptr;
  void* c_layout_ = nullptr;
  std::vector<CublasLtChoice> choices_;
};

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_MATMUL_GPU_MATMUL_H_
