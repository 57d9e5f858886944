#include "gpu_probe/exit_code.h"

#include <string>

#include "engine/base/reason.h"

namespace sextant::probe {
namespace {

v1::ProbeFailure::Kind KindOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return v1::ProbeFailure::KIND_USAGE;
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kNotFound:
      return v1::ProbeFailure::KIND_UNSUPPORTED;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kAborted:
      return v1::ProbeFailure::KIND_REFUSED;
    case absl::StatusCode::kDataLoss:
      return v1::ProbeFailure::KIND_MISMATCH;
    case absl::StatusCode::kDeadlineExceeded:
      return v1::ProbeFailure::KIND_DEADLINE;
    default:
      return v1::ProbeFailure::KIND_INTERNAL;
  }
}

}  // namespace

v1::ProbeFailure FailureOf(const absl::Status& status) {
  v1::ProbeFailure failure;
  failure.set_kind(KindOf(status.code()));
  failure.set_message(std::string(status.message()));
  if (absl::IsResourceExhausted(status)) failure.set_reason("memory");
  if (absl::IsAborted(status)) failure.set_reason("locked");
  const auto metadata = MetadataOf(status);
  for (const char* const wanted : {"check", "reason"}) {
    for (const auto& [key, value] : metadata) {
      if (key == wanted) failure.set_reason(value);
    }
  }
  return failure;
}

ExitCode ExitCodeOf(v1::ProbeFailure::Kind kind) {
  switch (kind) {
    case v1::ProbeFailure::KIND_USAGE:
      return kExitUsage;
    case v1::ProbeFailure::KIND_UNSUPPORTED:
      return kExitUnsupported;
    case v1::ProbeFailure::KIND_REFUSED:
      return kExitRefused;
    case v1::ProbeFailure::KIND_MISMATCH:
      return kExitMismatch;
    case v1::ProbeFailure::KIND_DEADLINE:
      return kExitDeadline;
    default:
      return kExitInternal;
  }
}

}  // namespace sextant::probe
