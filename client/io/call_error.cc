#include "client/io/call_error.h"

#include <grpcpp/support/error_details.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/text/text.h"
#include "google/rpc/error_details.pb.h"

namespace sextant::client {
namespace {

// In the order of their numbers.
constexpr std::array<const char*, 17> kCodeNames = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

// Reads one detail into `error`; a detail of an unknown kind is ignored.
void AddDetail(const google::protobuf::Any& detail, CallError* error) {
  google::rpc::ErrorInfo info;
  google::rpc::BadRequest bad_request;
  google::rpc::PreconditionFailure precondition;
  google::rpc::RetryInfo retry;
  if (detail.UnpackTo(&info)) {
    error->reason = info.reason();
    error->metadata.insert(info.metadata().begin(), info.metadata().end());
  } else if (detail.UnpackTo(&bad_request)) {
    for (const auto& v : bad_request.field_violations()) {
      error->field_violations.push_back({v.field(), v.description()});
    }
  } else if (detail.UnpackTo(&precondition)) {
    for (const auto& v : precondition.violations()) {
      error->precondition_violations.push_back({v.subject(), v.description()});
    }
  } else if (detail.UnpackTo(&retry)) {
    error->retry_delay_seconds = static_cast<double>(retry.retry_delay().seconds()) +
                                 1e-9 * static_cast<double>(retry.retry_delay().nanos());
  }
}

void AddDetails(const google::rpc::Status& status, CallError* error) {
  for (const google::protobuf::Any& detail : status.details()) AddDetail(detail, error);
}

// One line a violation: programs read them by line.
std::string ViolationLines(const std::vector<CallError::Violation>& violations) {
  std::string out;
  for (const CallError::Violation& v : violations) {
    absl::StrAppend(&out, "  ", OneLine(v.subject), ": ", OneLine(v.description), "\n");
  }
  return out;
}

// The server's message; where it only repeats the violations, which follow line by line, their
// number. A server names at most 16 and ends its message in " (and 3 more)".
std::string Headline(const CallError& error) {
  const size_t fields = error.field_violations.size();
  const size_t conditions = error.precondition_violations.size();
  if (fields == 0 && (conditions == 0 || error.code != grpc::StatusCode::FAILED_PRECONDITION)) {
    return OneLine(error.message);
  }
  if (fields == 0) {
    return absl::StrCat(conditions, conditions == 1 ? " condition is" : " conditions are",
                        " not met");
  }
  const size_t more = error.message.rfind(" (and ");
  return absl::StrCat("correct ", fields, fields == 1 ? " field" : " fields",
                      more == std::string::npos ? "" : OneLine(error.message.substr(more)));
}

// True where the probe's guard refused for now: the device is busy, hot or locked, not unable.
bool RefusedForNow(const CallError& error) {
  const auto why = error.metadata.find("reason");
  return error.reason == "PROBE_REFUSED" &&
         (why == error.metadata.end() || why->second != "unsupported");
}

nlohmann::ordered_json ViolationsJson(const std::vector<CallError::Violation>& violations,
                                      const char* subject_key) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const CallError::Violation& v : violations) {
    out.push_back({{subject_key, v.subject}, {"description", v.description}});
  }
  return out;
}

}  // namespace

std::string CodeName(grpc::StatusCode code) {
  const auto i = static_cast<size_t>(code);
  return i < kCodeNames.size() ? kCodeNames[i] : absl::StrCat("CODE_", static_cast<int>(code));
}

CallError CallErrorOf(const grpc::Status& status) {
  CallError error{.code = status.error_code(), .message = status.error_message()};
  google::rpc::Status details;
  if (grpc::ExtractErrorDetails(status, &details).ok()) AddDetails(details, &error);
  return error;
}

CallError CallErrorOf(const google::rpc::Status& status) {
  const bool known = 0 <= status.code() && std::cmp_less(status.code(), kCodeNames.size());
  CallError error{
      .code = known ? static_cast<grpc::StatusCode>(status.code()) : grpc::StatusCode::UNKNOWN,
      .message = status.message()};
  AddDetails(status, &error);
  return error;
}

grpc::Status RefusalStatus(const std::string& reason, const std::string& message) {
  google::rpc::ErrorInfo info;
  info.set_domain("sextant");
  info.set_reason(reason);
  google::rpc::Status details;
  details.set_code(grpc::StatusCode::INVALID_ARGUMENT);
  details.set_message(message);
  details.add_details()->PackFrom(info);
  return {grpc::StatusCode::INVALID_ARGUMENT, message, details.SerializeAsString()};
}

ExitCode ExitCodeOf(const CallError& error) {
  switch (error.code) {
    case grpc::StatusCode::OK:
      return kExitFits;
    case grpc::StatusCode::FAILED_PRECONDITION:
      return RefusedForNow(error) ? kExitRetryLater : kExitBadRequest;
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::NOT_FOUND:
    case grpc::StatusCode::OUT_OF_RANGE:
      return kExitBadRequest;
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::CANCELLED:
      return kExitRetryLater;
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::PERMISSION_DENIED:
      return kExitNotAllowed;
    default:
      return kExitInternal;
  }
}

std::string CallErrorText(const CallError& error) {
  std::string out = absl::StrCat("sextant: ", CodeName(error.code));
  if (!error.reason.empty()) absl::StrAppend(&out, " (", OneLine(error.reason), ")");
  absl::StrAppend(&out, ": ", Headline(error), "\n");
  absl::StrAppend(&out, ViolationLines(error.field_violations),
                  ViolationLines(error.precondition_violations));
  if (error.retry_delay_seconds.has_value()) {
    absl::StrAppendFormat(&out, "  retry in %.3g s\n", *error.retry_delay_seconds);
  }
  if (!error.hint.empty()) absl::StrAppend(&out, "  ", error.hint, "\n");
  return out;
}

std::string CallErrorJson(const CallError& error) {
  nlohmann::ordered_json json = {
      {"code", CodeName(error.code)},
      {"reason", error.reason},
      {"message", error.message},
      {"fieldViolations", ViolationsJson(error.field_violations, "field")}};
  if (!error.metadata.empty()) json["metadata"] = error.metadata;
  if (!error.precondition_violations.empty()) {
    json["preconditionViolations"] = ViolationsJson(error.precondition_violations, "subject");
  }
  if (error.retry_delay_seconds.has_value()) {
    json["retryDelaySeconds"] = *error.retry_delay_seconds;
  }
  if (!error.hint.empty()) json["hint"] = error.hint;
  // A message may hold any bytes. By default dump() throws on text that is not UTF-8.
  return absl::StrCat(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), "\n");
}

}  // namespace sextant::client
