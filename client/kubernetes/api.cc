#include "client/kubernetes/api.h"

#include <chrono>
#include <iostream>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/io/text_file.h"
#include "proto/http/http_call.h"

namespace sextant::client {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kCallTime(10);
constexpr std::chrono::seconds kWatchTime(240);
constexpr size_t kMaxAnswerBytes = size_t{64} << 20;
constexpr size_t kMaxMessage = 1000;  // of an event: 1,024

absl::Status StatusOf(int status, const std::string& body) {
  const Json parsed = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  std::string message = TextAt(parsed, "message");
  if (message.empty()) message = absl::StrCat("the API server answers ", status);
  switch (status) {
    case 401:
    case 403:
      return absl::PermissionDeniedError(message);
    case 404:
      return absl::NotFoundError(message);
    case 409:
      return TextAt(parsed, "reason") == "AlreadyExists" ? absl::AlreadyExistsError(message)
                                                         : absl::AbortedError(message);
    case 410:
      return absl::OutOfRangeError(message);
    case 400:
    case 422:
      return absl::InvalidArgumentError(message);
    default:
      return absl::UnavailableError(message);
  }
}

http::HttpCall CallOf(const ApiServer& server, const char* method, const std::string& path) {
  http::HttpCall out = {.method = method,
                        .origin = server.origin,
                        .path = path,
                        .headers = {{"Accept", "application/json"}},
                        .ca_file = server.ca_file,
                        .end = steady_clock::now() + kCallTime,
                        .max_bytes = kMaxAnswerBytes};
  if (!server.token_file.empty()) {
    const absl::StatusOr<std::string> token = ReadText(server.token_file, std::cin);
    out.headers.emplace_back(
        "Authorization", absl::StrCat("Bearer ", absl::StripAsciiWhitespace(token.value_or(""))));
  }
  return out;
}

}  // namespace

const Json& At(const Json& from, absl::string_view path) {
  static const Json kNone;
  const Json* node = &from;
  for (const absl::string_view name : absl::StrSplit(path, '.')) {
    if (!node->is_object()) return kNone;
    const auto found = node->find(std::string(name));
    if (found == node->end()) return kNone;
    node = &*found;
  }
  return *node;
}

std::string TextAt(const Json& from, absl::string_view path) {
  const Json& value = At(from, path);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::string Annotation(const Json& object, const char* name) {
  const Json& annotations = At(object, "metadata.annotations");
  const bool is_there =
      annotations.is_object() && annotations.contains(name) && annotations[name].is_string();
  return is_there ? annotations[name].get<std::string>() : std::string();
}

std::string ApiTime() {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone());
}

absl::StatusOr<Json> KubernetesApi::Call(const char* method, const std::string& path,
                                         const Json& object) const {
  http::HttpCall call = CallOf(server_, method, path);
  if (!object.is_null()) {
    call.body = object.dump(-1, ' ', false, Json::error_handler_t::replace);
    call.headers.emplace_back("Content-Type", call.method == "PATCH"
                                                  ? "application/merge-patch+json"
                                                  : "application/json");
  }
  const absl::StatusOr<http::HttpResult> answer = http::CallHttp(call);
  if (!answer.ok()) {
    return absl::UnavailableError(
        absl::StrCat("the API server at ", server_.origin, ": ", answer.status().message()));
  }
  if (answer->status / 100 != 2) return StatusOf(answer->status, answer->body);
  Json out = Json::parse(answer->body, nullptr, /*allow_exceptions=*/false);
  if (out.is_object()) return out;
  return absl::UnavailableError("the API server answers no JSON");
}

absl::StatusOr<std::string> KubernetesApi::List(
    const std::string& path, const std::function<void(const Json&)>& each) const {
  constexpr char kPage[] = "?limit=500";
  std::string next;
  while (true) {
    const absl::StatusOr<Json> page =
        Get(absl::StrCat(path, kPage, next.empty() ? "" : "&continue=", next));
    if (!page.ok()) return page.status();
    const Json& items = At(*page, "items");
    for (const Json& item : items.is_array() ? items : Json::array()) each(item);
    next = TextAt(*page, "metadata.continue");
    if (next.empty()) return TextAt(*page, "metadata.resourceVersion");
  }
}

absl::StatusOr<std::string> KubernetesApi::Watch(const std::string& path, std::string version,
                                                 const std::function<void(const Json&)>& each,
                                                 const std::function<bool()>& idle) const {
  absl::Status fault;
  http::HttpCall call = CallOf(
      server_, "GET",
      absl::StrCat(path, "?watch=true&allowWatchBookmarks=true&timeoutSeconds=", kWatchTime.count(),
                   "&resourceVersion=", version));
  call.end = steady_clock::now() + kWatchTime + kCallTime;
  call.on_line = [&](absl::string_view line) {
    if (line.empty()) return idle();
    const Json event = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    const Json& object = At(event, "object");
    const std::string type = TextAt(event, "type");
    if (type.empty() || type == "ERROR") {
      fault = absl::OutOfRangeError(absl::StrCat("the watch ends: ", TextAt(object, "message")));
      return false;
    }
    version = TextAt(object, "metadata.resourceVersion");
    if (type == "ADDED" || type == "MODIFIED") each(object);
    return idle();
  };
  const absl::StatusOr<http::HttpResult> answer = http::CallHttp(call);
  if (!fault.ok()) return fault;
  if (!answer.ok()) return absl::UnavailableError(answer.status().message());
  if (answer->status != 200) return StatusOf(answer->status, answer->body);
  return version;
}

void KubernetesApi::Report(const Json& object, const char* type, const char* reason,
                           const std::string& message) const {
  const std::string uid = TextAt(object, "metadata.uid");
  const std::string name = TextAt(object, "metadata.name");
  std::string space = TextAt(object, "metadata.namespace");
  if (space.empty()) space = "default";
  // One name for one event, whoever writes it.
  uint64_t digest = 14695981039346656037U;  // FNV-1a
  for (const char c : absl::StrCat(uid, " ", reason, " ", message)) {
    digest = (digest ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  const std::string now = ApiTime();
  const Json event = {
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata",
       {{"name", absl::StrCat(name.substr(0, 200), ".", absl::Hex(digest, absl::kZeroPad16))},
        {"namespace", space}}},
      {"involvedObject",
       {{"apiVersion", TextAt(object, "apiVersion")},
        {"kind", TextAt(object, "kind")},
        {"namespace", TextAt(object, "metadata.namespace")},
        {"name", name},
        {"uid", uid}}},
      {"type", type},
      {"reason", reason},
      {"message", message.substr(0, kMaxMessage)},
      {"source", {{"component", "sextant"}}},
      {"firstTimestamp", now},
      {"lastTimestamp", now},
      {"count", 1}};
  Create(absl::StrCat("/api/v1/namespaces/", space, "/events"), event).status().IgnoreError();
}

}  // namespace sextant::client
