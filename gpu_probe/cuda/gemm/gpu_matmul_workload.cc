#include "gpu_probe/cuda/gemm/gpu_matmul_workload.h"

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/gemm/gpu_matmul_check.h"

namespace sextant {
namespace {

// Of every byte of C: NaN for the floating types, and for INT8 a sum below all that occur.
constexpr unsigned char kGpuNanByte = 0xFF;
constexpr unsigned char kGpuLowByte = 0x80;

}  // namespace

GpuMatmulWorkload::GpuMatmulWorkload(Parts parts)
    : GpuWorkload(parts.cublaslt->shared_session(), HostPart::kRecords), parts_(std::move(parts)) {}

GpuMatmulOperands GpuMatmulWorkload::Operands() const {
  GpuMatmulOperands out = parts_.arena->operands();
  out.b += static_cast<cuda::Address>(turn_ * parts_.rotation.stride_bytes);
  return out;
}

void GpuMatmulWorkload::Poison() {
  const GpuMatmulProblem& problem = parts_.matmul->problem();
  const unsigned char byte = problem.output() == MatrixFormat::kInt32 ? kGpuLowByte : kGpuNanByte;
  // Where this fails so does the next run.
  (void)session().Fill(Operands().c, byte, problem.output_bytes());
}

absl::Status GpuMatmulWorkload::Enqueue() {
  turn_ = (turn_ + 1) % parts_.rotation.count;
  return parts_.matmul->Enqueue(parts_.choice, Operands());
}

absl::Status GpuMatmulWorkload::CheckRepeats() {
  const GpuMatmulProblem& problem = parts_.matmul->problem();
  SEXTANT_ASSIGN_OR_RETURN(const uint64_t once,
                           HashOfOutput(problem, Operands(), *parts_.arena, session()));
  Poison();
  SEXTANT_RETURN_IF_ERROR(parts_.matmul->Enqueue(parts_.choice, Operands()));
  SEXTANT_ASSIGN_OR_RETURN(const uint64_t again,
                           HashOfOutput(problem, Operands(), *parts_.arena, session()));
  if (once == again) return absl::OkStatus();
  return absl::DataLossError(
      "the same operands were multiplied twice by the same kernel, and the results differ");
}

absl::Status GpuMatmulWorkload::Check() {
  // New signs each time: what one choice happens to cancel, the next does not.
  const GpuMatmulProblem& problem = parts_.matmul->problem();
  check_seed_ += static_cast<uint64_t>(problem.batch_count * problem.n);
  SEXTANT_RETURN_IF_ERROR(
      CheckGpuProduct(problem, Operands(), check_seed_, *parts_.arena, session()));
  if (checked_) return absl::OkStatus();
  checked_ = true;
  SEXTANT_RETURN_IF_ERROR(CheckRepeats());
  if (*parts_.exact_checked) return absl::OkStatus();
  *parts_.exact_checked = true;
  return CheckExactProduct(parts_.cublaslt, *parts_.arena);
}

}  // namespace sextant
