#include "gpu_probe/cuda/gpu_check.h"

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"

namespace sextant::probe {

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

absl::Status AllRight(const absl::StatusOr<GpuCheckReport>& report, int64_t count,
                      absl::string_view noun) {
  if (!report.ok()) return report.status();
  if (report->wrong_count == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(report->wrong_count, " of ", count, " ", noun,
                                          "s are wrong, the first of them ", noun, " ",
                                          report->first_wrong));
}

}  // namespace sextant::probe
