#include "gpu_probe/cuda/attention/gpu_attention_workload.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/attention/attention_graph.h"

namespace sextant {
namespace {

constexpr unsigned char kPoison = 0xFF;  // numbers of such bytes are not finite

void* PointerTo(cuda::Address address) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(address));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Workload>> GpuAttentionWorkload::Create(Parts parts) {
  std::unique_ptr<GpuAttentionWorkload> workload(new GpuAttentionWorkload(std::move(parts)));
  SEXTANT_RETURN_IF_ERROR(workload->Start());
  return workload;
}

absl::Status GpuAttentionWorkload::Start() {
  const GpuAttentionShape& shape = parts_.shape;
  numbers_ = {shape.scale(), -std::numeric_limits<float>::infinity(), 1.0F};
  if (parts_.backward) SEXTANT_RETURN_IF_ERROR(RunForward());
  SEXTANT_ASSIGN_OR_RETURN(plan_, parts_.backward ? parts_.cudnn->BackwardPlan(shape)
                                                  : parts_.cudnn->ForwardPlan(shape));
  SEXTANT_ASSIGN_OR_RETURN(pack_, PackOf(plan_, parts_.backward));
  return absl::OkStatus();
}

absl::Status GpuAttentionWorkload::RunForward() {
  const AttentionBytes bytes = AttentionBytesOf(parts_.shape, /*backward=*/false);
  const auto allocate = [&](AttentionTensor which) {
    return DeviceMemory::Allocate(shared_session(), bytes[static_cast<size_t>(which)]);
  };
  SEXTANT_ASSIGN_OR_RETURN(outputs_, allocate(AttentionTensor::kOutputs));
  SEXTANT_ASSIGN_OR_RETURN(statistics_, allocate(AttentionTensor::kStatistics));
  SEXTANT_ASSIGN_OR_RETURN(const CudnnPlan forward, parts_.cudnn->ForwardPlan(parts_.shape));
  SEXTANT_ASSIGN_OR_RETURN(const CudnnDescriptor pack, PackOf(forward, /*backward=*/false));
  SEXTANT_RETURN_IF_ERROR(parts_.cudnn->Execute(forward, pack));
  return session().Synchronize();
}

cuda::Address GpuAttentionWorkload::AddressOf(AttentionTensor which) const {
  if (parts_.backward && which == AttentionTensor::kOutputs) return outputs_.address();
  if (parts_.backward && which == AttentionTensor::kStatistics) return statistics_.address();
  return parts_.arena->of(which).address();
}

absl::StatusOr<CudnnDescriptor> GpuAttentionWorkload::PackOf(const CudnnPlan& plan,
                                                             bool backward) const {
  const int64_t room_bytes = parts_.arena->of(AttentionTensor::kWorkspace).size_bytes();
  if (plan.workspace_bytes > room_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("needs a workspace of ", plan.workspace_bytes,
                                                     " bytes, and has ", room_bytes));
  }
  CudnnOperands operands;
  const AttentionBytes bytes = AttentionBytesOf(parts_.shape, backward);
  for (size_t i = 0; i < static_cast<size_t>(AttentionTensor::kWorkspace); ++i) {
    if (bytes[i] == 0) continue;
    const auto which = static_cast<AttentionTensor>(i);
    operands.ids.push_back(IdOf(which));
    operands.pointers.push_back(PointerTo(AddressOf(which)));
  }
  // cuDNN only reads them.
  auto* const numbers = const_cast<float*>(numbers_.data());
  const auto add = [&](AttentionNumber which) {
    operands.ids.push_back(static_cast<int64_t>(which));
    operands.pointers.push_back(
        numbers + (static_cast<int64_t>(which) - static_cast<int64_t>(AttentionNumber::kScale)));
  };
  add(AttentionNumber::kScale);
  if (parts_.shape.causal) add(AttentionNumber::kMasked);
  if (backward) add(AttentionNumber::kKept);
  return parts_.cudnn->Pack(operands, PointerTo(AddressOf(AttentionTensor::kWorkspace)));
}

absl::Status GpuAttentionWorkload::Enqueue() { return parts_.cudnn->Execute(plan_, pack_); }

void GpuAttentionWorkload::Poison() {
  const AttentionBytes bytes = AttentionBytesOf(parts_.shape, parts_.backward);
  const auto fill = [&](AttentionTensor which) {
    // What fails here fails the run that follows as well.
    (void)session().Fill(AddressOf(which), kPoison, bytes[static_cast<size_t>(which)]);
  };
  if (parts_.backward) {
    fill(AttentionTensor::kQueryGradients);
    fill(AttentionTensor::kKeyGradients);
    fill(AttentionTensor::kValueGradients);
  } else {
    fill(AttentionTensor::kOutputs);
    fill(AttentionTensor::kStatistics);
  }
}

absl::Status GpuAttentionWorkload::Check() {
  AttentionAddresses addresses = {};
  for (size_t i = 0; i < addresses.size(); ++i) {
    addresses[i] = AddressOf(static_cast<AttentionTensor>(i));
  }
  GpuAttentionCheck& check = parts_.arena->check;
  return parts_.backward ? check.Backward(parts_.shape, addresses)
                         : check.Forward(parts_.shape, addresses);
}

}  // namespace sextant
