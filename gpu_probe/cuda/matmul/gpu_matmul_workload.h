// One shape's multiplication on a GPU, timed; the operands of all multiplications of a type; and
// the choice of the fastest of the library's algorithms.
#ifndef SEXTANT_GPU_PROBE_CUDA_MATMUL_GPU_MATMUL_WORKLOAD_H_
#define SEXTANT_GPU_PROBE_CUDA_MATMUL_GPU_MATMUL_WORKLOAD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/cuda/gpu_workload.h"
#include "gpu_probe/cuda/matmul/gpu_matmul.h"
#include "gpu_probe/point.h"

namespace sextant::probe {

// Bytes that one problem needs, or the maximum over several.
struct GpuMatmulBytes {
  int64_t a = 0;
  int64_t b = 0;  // all copies of B
  int64_t c = 0;
  int64_t a_scales = 0;
  int64_t b_scales = 0;
  int64_t scratch = 0;  // for checks
  int64_t total() const { return a + b + c + a_scales + b_scales + scratch; }
};

// Copies of B that a workload uses in turn, each with different random numbers: enough that
// `touched_bytes` are touched before the first is used again.
struct GpuRotation {
  int64_t count = 1;
  int64_t stride_bytes = 0;
};

GpuRotation GpuRotationOf(const GpuMatmulProblem& problem, int64_t touched_bytes);
GpuMatmulBytes GpuBytesOf(const GpuMatmulProblem& problem, const GpuRotation& rotation);
GpuMatmulBytes GpuMaximumOf(const GpuMatmulBytes& x, const GpuMatmulBytes& y);

// The problem on which a type's products are compared with a plain kernel's.
GpuMatmulProblem ExactProblemOf(const GpuMatmulType& type);
// Bytes of its operands, which are consecutive in the scratch memory.
GpuMatmulBytes ExactBytesOf(const GpuMatmulProblem& exact);

// The operands of all multiplications of one type, and the memory of checks.
struct GpuMatmulArena {
  const GpuMatmulType& type;
  DeviceMemory a = {};
  DeviceMemory b = {};
  DeviceMemory c = {};
  DeviceMemory a_scales = {};
  DeviceMemory b_scales = {};
  DeviceMemory scratch = {};
  DeviceMemory workspace = {};
  DeviceMemory hash = {};  // 8 bytes
  GpuCheck check = {};

  // Fills A and B with random numbers.
  //
  // Errors: DeviceMemory::Allocate()'s, GpuSession::Launch()'s.
  static absl::StatusOr<std::shared_ptr<GpuMatmulArena>> Create(const GpuMatmulType& type,
                                                                const GpuMatmulBytes& bytes,
                                                                const SharedSession& session);

  // The operands, with the first copy of B.
  GpuMatmulOperands operands() const {
    return {.a = a.address(), .b = b.address(), .c = c.address(), .workspace = workspace.address()};
  }
  GpuMatmulScales scales() const { return {.a = a_scales.address(), .b = b_scales.address()}; }
};

// The arena of several problems of a type.
class GpuMatmulArenaSource {
 public:
  GpuMatmulArenaSource(const GpuMatmulType& type, SharedSession session);

  // Includes a problem, unless the arena would then exceed the memory cap.
  //
  // Errors: kResourceExhausted, naming the bytes.
  absl::Status Include(const GpuMatmulProblem& problem, const GpuRotation& rotation);

  // Errors: GpuMatmulArena::Create()'s.
  absl::StatusOr<std::shared_ptr<GpuMatmulArena>> Get() { return arena_.Get(); }

 private:
  const SharedSession session_;
  GpuMatmulBytes bytes_;
  SharedData<GpuMatmulArena> arena_;
};

// Fills `size_bytes` bytes with elements of the type, whole numbers from -4 to 4 where `integers`.
absl::Status FillElements(const GpuMatmulType& type, cuda::Address to, int64_t size_bytes,
                          uint64_t seed, bool integers, GpuSession& session);

// A and C stay in place, as a layer's input and output do; B's copies are used in turn, so that
// small weights come from memory, as a model's do. Workloads of one arena share C: each one's
// result is checked before the next runs.
class GpuMatmulWorkload : public GpuWorkload {
 public:
  struct Parts {
    SharedCublasLt cublaslt = {};  // first, so that it outlives the rest
    GpuRotation rotation = {};
    std::shared_ptr<GpuMatmulArena> arena = {};
    std::shared_ptr<const GpuMatmul> matmul = {};
    size_t choice = 0;                         // of the library's algorithms
    std::shared_ptr<bool> exact_checked = {};  // true once any workload of the type checked
  };
  explicit GpuMatmulWorkload(Parts parts);

  void Poison() override;
  // The first call also compares a product of small whole numbers with a plain kernel's, unless
  // another workload of the type did, and the result of a second run with the first's.
  absl::Status Check() override;

 private:
  absl::Status Enqueue() override;
  int64_t turn() const override { return turn_; }
  void set_turn(int64_t turn) override { turn_ = turn; }
  int64_t operand_count() const override { return parts_.rotation.count; }

  GpuMatmulOperands Operands() const;
  absl::Status CheckRepeats();

  const Parts parts_;
  int64_t turn_ = 0;  // the copy of B used last
  uint64_t check_seed_ = 0;
  bool checked_ = false;
};

// Seconds left for the trials of one type, by the host's clock: a library loads each kernel when it
// first runs, which may take longer than everything else.
struct TrialBudget {
  Clock* clock = nullptr;
  double left_seconds = 0;
};

struct MatmulTrial {
  size_t choice = 0;          // 0: the library's first choice, or none was tried
  double median_seconds = 0;  // of one run of another choice, timed as a point is; else 0
};

// Times the first four of `choice_count` algorithms, each by a workload from `make`, with the
// point's operands and rotation. Another algorithm than the first is chosen only where it takes at
// least 2 % less time; its result is then checked, and it is timed again for its median. An
// algorithm that fails is skipped, unless it is the first.
//
// Errors: GpuWorkload::Run()'s of the first; kDataLoss where the chosen algorithm's result is
// wrong; the GPU's own.
absl::StatusOr<MatmulTrial> TryAlgorithms(
    const std::function<std::unique_ptr<GpuMatmulWorkload>(size_t choice)>& make,
    size_t choice_count, GpuSession& session, TrialBudget& budget);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_MATMUL_GPU_MATMUL_WORKLOAD_H_
