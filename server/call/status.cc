#include "server/call/status.h"

#include <google/protobuf/util/time_util.h>
#include <grpcpp/support/error_details.h>

#include <string>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/field_violation.h"
#include "engine/base/reason.h"
#include "engine/base/text.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace sextant::server {
namespace {

constexpr char kPayloadUrl[] = "sextant/retry_delay_seconds";

constexpr int kMaxNamedViolations = 16;
constexpr size_t kMaxFieldBytes = 64;
constexpr size_t kMaxSubjectBytes = 80;  // a device's UUID, whole
constexpr size_t kMaxDescriptionBytes = 256;
constexpr size_t kMaxMetadataCount = 4;
constexpr size_t kMaxMetadataKeyBytes = 64;
constexpr size_t kMaxMetadataBytes = 128;     // three devices' UUIDs as near names
constexpr size_t kMaxViolationsBytes = 2900;  // leaves room for the other details below 4 KiB
constexpr size_t kMaxMessageBytes = 960;      // leaves room for "(and N more)" below 1 KiB

// Names of a request are in it, and callers print it.
std::string Shown(absl::string_view text, size_t most) { return Clip(Escaped(text), most); }

google::rpc::BadRequest ToBadRequest(const std::vector<FieldViolation>& violations) {
  google::rpc::BadRequest out;
  for (const FieldViolation& v : violations) {
    if (out.field_violations_size() == kMaxNamedViolations ||
        out.ByteSizeLong() + kMaxFieldBytes + kMaxDescriptionBytes > kMaxViolationsBytes) {
      break;
    }
    auto* named = out.add_field_violations();
    named->set_field(Shown(v.field, kMaxFieldBytes));
    named->set_description(Shown(v.description, kMaxDescriptionBytes));
  }
  return out;
}

google::rpc::PreconditionFailure ToPreconditionFailure(
    const std::vector<PreconditionViolation>& violations) {
  google::rpc::PreconditionFailure out;
  for (const PreconditionViolation& v : violations) {
    if (out.violations_size() == kMaxNamedViolations ||
        out.ByteSizeLong() + kMaxFieldBytes + kMaxSubjectBytes + kMaxDescriptionBytes >
            kMaxViolationsBytes) {
      break;
    }
    auto* named = out.add_violations();
    named->set_type(Shown(v.type, kMaxFieldBytes));
    named->set_subject(Shown(v.subject, kMaxSubjectBytes));
    named->set_description(Shown(v.description, kMaxDescriptionBytes));
  }
  return out;
}

google::rpc::ErrorInfo ToErrorInfo(const absl::Status& status, absl::string_view trace_id) {
  google::rpc::ErrorInfo info;
  info.set_domain("sextant");
  info.set_reason(ReasonOf(status));
  for (const auto& [key, value] : MetadataOf(status)) {
    if (info.metadata().size() == kMaxMetadataCount) break;
    (*info.mutable_metadata())[Shown(key, kMaxMetadataKeyBytes)] = Shown(value, kMaxMetadataBytes);
  }
  if (!trace_id.empty()) (*info.mutable_metadata())["trace_id"] = std::string(trace_id);
  return info;
}

// Adds `detail`, which names `named` of `all` violations; the message counts the rest.
void AddViolations(const google::protobuf::Message& detail, int named, size_t all,
                   google::rpc::Status& wire) {
  wire.add_details()->PackFrom(detail);
  const size_t left_out = all - static_cast<size_t>(named);
  if (left_out > 0) absl::StrAppend(wire.mutable_message(), " (and ", left_out, " more)");
}

}  // namespace

absl::Status WithRetryDelay(absl::Status status, double seconds) {
  if (!status.ok()) status.SetPayload(kPayloadUrl, absl::Cord(absl::StrFormat("%.17g", seconds)));
  return status;
}

absl::optional<double> RetryDelaySecondsOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayloadUrl);
  double seconds = 0;
  if (!payload.has_value() || !absl::SimpleAtod(std::string(*payload), &seconds)) return {};
  return seconds;
}

google::rpc::Status ToRpcStatus(const absl::Status& status, absl::string_view trace_id) {
  google::rpc::Status wire;
  // absl and gRPC number their codes alike.
  wire.set_code(static_cast<int>(status.code()));
  wire.set_message(Shown(status.message(), kMaxMessageBytes));
  wire.add_details()->PackFrom(ToErrorInfo(status, trace_id));

  if (const auto violations = FieldViolationsOf(status); !violations.empty()) {
    const auto detail = ToBadRequest(violations);
    AddViolations(detail, detail.field_violations_size(), violations.size(), wire);
  }
  if (const auto violations = PreconditionsOf(status); !violations.empty()) {
    const auto detail = ToPreconditionFailure(violations);
    AddViolations(detail, detail.violations_size(), violations.size(), wire);
  }
  if (const auto seconds = RetryDelaySecondsOf(status); seconds.has_value()) {
    google::rpc::RetryInfo retry;
    *retry.mutable_retry_delay() = google::protobuf::util::TimeUtil::NanosecondsToDuration(
        static_cast<int64_t>(*seconds * 1e9));
    wire.add_details()->PackFrom(retry);
  }
  return wire;
}

grpc::Status ToGrpcStatus(const absl::Status& status, absl::string_view trace_id) {
  if (status.ok()) return grpc::Status::OK;
  const google::rpc::Status wire = ToRpcStatus(status, trace_id);
  grpc::Status out;
  const grpc::Status packed = grpc::SetErrorDetails(wire, &out);
  return packed.ok() ? out : packed;
}

}  // namespace sextant::server
