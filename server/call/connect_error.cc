#include "server/call/connect_error.h"

#include <google/protobuf/any.pb.h>
#include <google/protobuf/util/json_util.h>

#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/strip.h"
#include "google/rpc/error_details.pb.h"
#include "server/call/status.h"

namespace sextant::server {
namespace {

using ::nlohmann::ordered_json;

struct ConnectCode {
  absl::StatusCode code;
  const char* name;
  int http_status;
};

// Source: the Connect protocol, "Error Codes".
constexpr ConnectCode kCodes[] = {
    {absl::StatusCode::kCancelled, "canceled", 499},
    {absl::StatusCode::kUnknown, "unknown", 500},
    {absl::StatusCode::kInvalidArgument, "invalid_argument", 400},
    {absl::StatusCode::kDeadlineExceeded, "deadline_exceeded", 504},
    {absl::StatusCode::kNotFound, "not_found", 404},
    {absl::StatusCode::kAlreadyExists, "already_exists", 409},
    {absl::StatusCode::kPermissionDenied, "permission_denied", 403},
    {absl::StatusCode::kResourceExhausted, "resource_exhausted", 429},
    {absl::StatusCode::kFailedPrecondition, "failed_precondition", 400},
    {absl::StatusCode::kAborted, "aborted", 409},
    {absl::StatusCode::kOutOfRange, "out_of_range", 400},
    {absl::StatusCode::kUnimplemented, "unimplemented", 501},
    {absl::StatusCode::kInternal, "internal", 500},
    {absl::StatusCode::kUnavailable, "unavailable", 503},
    {absl::StatusCode::kDataLoss, "data_loss", 500},
    {absl::StatusCode::kUnauthenticated, "unauthenticated", 401},
};

const ConnectCode& RowOf(absl::StatusCode code) {
  for (const ConnectCode& row : kCodes) {
    if (row.code == code) return row;
  }
  return RowOf(absl::StatusCode::kUnknown);
}

// The message in a detail, as JSON; null where it is none of ours.
ordered_json DebugOf(const google::protobuf::Any& detail) {
  std::string json;
  const auto show = [&detail, &json](auto message) {
    return detail.UnpackTo(&message) &&
           google::protobuf::util::MessageToJsonString(message, &json).ok();
  };
  if (!show(google::rpc::ErrorInfo()) && !show(google::rpc::BadRequest()) &&
      !show(google::rpc::PreconditionFailure()) && !show(google::rpc::RetryInfo())) {
    return nullptr;
  }
  constexpr bool kThrow = false;
  ordered_json out = ordered_json::parse(json, nullptr, kThrow);
  return out.is_discarded() ? ordered_json() : out;
}

ordered_json DetailJson(const google::protobuf::Any& detail) {
  std::string value = absl::Base64Escape(detail.value());
  value.erase(value.find_last_not_of('=') + 1);
  const std::string& url = detail.type_url();
  ordered_json out = {{"type", url.substr(url.rfind('/') + 1)}, {"value", value}};
  if (ordered_json debug = DebugOf(detail); !debug.is_null()) out["debug"] = std::move(debug);
  return out;
}

}  // namespace

const char* ConnectCodeName(absl::StatusCode code) { return RowOf(code).name; }

int HttpStatusOf(absl::StatusCode code) { return RowOf(code).http_status; }

std::string ConnectErrorJson(const absl::Status& status, absl::string_view trace_id) {
  const google::rpc::Status wire = ToRpcStatus(status, trace_id);
  ordered_json details = ordered_json::array();
  for (const google::protobuf::Any& detail : wire.details()) details.push_back(DetailJson(detail));
  const ordered_json error = {{"code", ConnectCodeName(status.code())},
                              {"message", wire.message()},
                              {"details", std::move(details)}};
  // By default dump() throws on text that is not UTF-8.
  constexpr bool kAsciiOnly = false;
  return error.dump(-1, ' ', kAsciiOnly, ordered_json::error_handler_t::replace);
}

}  // namespace sextant::server
