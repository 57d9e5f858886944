#include "server/probe_output.h"

#include <google/protobuf/util/json_util.h>

#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "server/probe_fault.h"

namespace sextant {
namespace {

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

ProbeOutput::ProbeOutput(ProbeEventCallback on_event) : on_event_(std::move(on_event)) {}

absl::Status ProbeOutput::Add(absl::string_view bytes) {
  byte_count_ += bytes.size();
  lines_.Add(bytes);
  while (const auto line = lines_.Next()) SEXTANT_RETURN_IF_ERROR(AddLine(*line));
  if (lines_.rest().size() > kMaxLineBytes) {
    return Garbage(absl::StrCat("a line of more than ", kMaxLineBytes, " bytes"));
  }
  if (byte_count_ > kMaxBytes) return Garbage(absl::StrCat("more than ", kMaxBytes, " bytes"));
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

}  // namespace sextant
