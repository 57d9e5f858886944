#include "server/probe/probe_events.h"

#include <google/protobuf/util/json_util.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"

namespace sextant::server {
namespace {

absl::Status Refused(const std::string& reason, const std::string& message) {
  absl::Status status = FailedPrecondition(
      "PROBE_REFUSED", {{"PROBE_REFUSED", reason, absl::StrCat("the probe refused: ", message)}});
  return WithMetadata(std::move(status), "reason", reason);
}

constexpr size_t kMaxExcerptBytes = 80;

std::string Excerpt(absl::string_view line) {
  return absl::StrCat("\"", absl::CHexEscape(line.substr(0, kMaxExcerptBytes)),
                      line.size() > kMaxExcerptBytes ? "\"..." : "\"");
}

constexpr char kOtherVersion[] = ": does --probe_program name the sextant-probe of this server?";

absl::Status Garbage(absl::string_view what) {
  return ProbeFault("garbage", absl::StrCat("the probe wrote ", what, kOtherVersion));
}

}  // namespace

absl::Status ProbeFault(absl::string_view fault, absl::string_view message) {
  return WithMetadata(WithReason(absl::UnavailableError(message), "PROBE_FAILED"), "fault", fault);
}

absl::Status ProbeTimeout(absl::string_view message) {
  return WithReason(absl::UnavailableError(message), "PROBE_TIMEOUT");
}

absl::Status ProbeCancelled() {
  return WithReason(absl::CancelledError("the probe was stopped before it had a result"),
                    "PROBE_CANCELLED");
}

absl::Status ProbeFailureStatus(const v1::ProbeFailure& failure) {
  const std::string message =
      failure.message().empty() ? "it did not say why: see the server's host" : failure.message();
  switch (failure.kind()) {
    case v1::ProbeFailure::KIND_REFUSED:
      return Refused(failure.reason().empty() ? "unknown" : failure.reason(), message);
    case v1::ProbeFailure::KIND_UNSUPPORTED:
      return Refused("unsupported", message);
    case v1::ProbeFailure::KIND_MISMATCH:
      return ProbeFault("mismatch",
                        absl::StrCat("a result was WRONG, do not trust this device: ", message));
    case v1::ProbeFailure::KIND_DEADLINE:
      return ProbeTimeout(absl::StrCat("the probe ran out of time: ", message));
    default:
      return ProbeFault("exited", absl::StrCat("the probe failed: ", message));
  }
}

absl::optional<std::string> LineBuffer::Next() {
  const size_t end = bytes_.find('\n', searched_);
  if (end == std::string::npos) {
    bytes_.erase(0, start_);
    start_ = 0;
    searched_ = bytes_.size();
    return {};
  }
  absl::string_view line(bytes_.data() + start_, end - start_);
  absl::ConsumeSuffix(&line, "\r");
  start_ = searched_ = end + 1;
  return std::string(line);
}

ProbeOutput::ProbeOutput(ProbeEventCallback on_event, size_t max_bytes)
    : on_event_(std::move(on_event)), max_bytes_(max_bytes) {}

absl::Status ProbeOutput::Add(absl::string_view bytes) {
  byte_count_ += bytes.size();
  lines_.Add(bytes);
  while (const auto line = lines_.Next()) SEXTANT_RETURN_IF_ERROR(AddLine(*line));
  if (lines_.rest().size() > kMaxLineBytes) {
    return Garbage(absl::StrCat("a line of more than ", kMaxLineBytes, " bytes"));
  }
  if (byte_count_ > max_bytes_) return Garbage(absl::StrCat("more than ", max_bytes_, " bytes"));
  return absl::OkStatus();
}

absl::Status ProbeOutput::AddLine(const std::string& line) {
  ++line_count_;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  v1::ProbeEvent event;
  if (!google::protobuf::util::JsonStringToMessage(line, &event, options).ok() ||
      event.event_case() == v1::ProbeEvent::EVENT_NOT_SET) {
    return Garbage(absl::StrCat("a line that is not an event: ", Excerpt(line)));
  }
  if (const absl::Status taken = on_event_(event); !taken.ok()) {
    return Garbage(absl::StrCat("an event that makes no sense (", taken.message(), ")"));
  }
  if (event.has_failure() && failure_.ok()) failure_ = ProbeFailureStatus(event.failure());
  if (event.has_calibration() || event.has_device()) ++result_count_;
  return absl::OkStatus();
}

absl::Status ProbeOutput::End(const absl::Status& exit_status) const {
  if (!failure_.ok()) return failure_;
  SEXTANT_RETURN_IF_ERROR(exit_status);
  if (!lines_.rest().empty()) {
    return ProbeFault("partial_line",
                      absl::StrCat("the probe stopped in the middle of a line: ",
                                   Excerpt(lines_.rest()), ": try again; is a disk or pipe full?"));
  }
  if (result_count_ == 0) {
    return ProbeFault("silent",
                      absl::StrCat("the probe ended well but wrote no result", kOtherVersion));
  }
  return absl::OkStatus();
}

}  // namespace sextant::server
