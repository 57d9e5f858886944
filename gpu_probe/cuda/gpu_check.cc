#include "gpu_probe/cuda/gpu_check.h"

#include <utility>

#include "engine/base/status_macros.h"

namespace sextant {

absl::StatusOr<GpuCheck> GpuCheck::Create(const SharedSession& session) {
  SEXTANT_ASSIGN_OR_RETURN(DeviceMemory memory,
                           DeviceMemory::Allocate(session, sizeof(GpuCheckReport)));
  return GpuCheck(session, std::move(memory));
}

absl::Status GpuCheck::Clear() {
  const GpuCheckReport clear;
  return session_->CopyToDevice(memory_.address(), &clear, sizeof(clear));
}

absl::StatusOr<GpuCheckReport> GpuCheck::Read() {
  GpuCheckReport report;
  SEXTANT_RETURN_IF_ERROR(session_->CopyToHost(&report, memory_.address(), sizeof(report)));
  return report;
}

}  // namespace sextant
