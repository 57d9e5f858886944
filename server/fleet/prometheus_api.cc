#include "server/fleet/prometheus_api.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "proto/http/http_call.h"
#include "server/security/watched_file.h"

namespace sextant::server {
namespace {

using nlohmann::json;

constexpr size_t kMaxVectorBytes = size_t{8} << 20;
constexpr size_t kMaxErrorText = 200;

absl::Status NoUrl(absl::string_view url, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("--fleet_prometheus_url=", url, " ", why,
                   ": write http://host:port or https://host:port, with the path under which the "
                   "API lies, if any"));
}

absl::Status Malformed(absl::string_view why) {
  return absl::DataLossError(absl::StrCat("Prometheus' answer is not an instant vector: ", why));
}

absl::StatusOr<PrometheusSample> SampleFrom(const json& element) {
  PrometheusSample out;
  const auto metric = element.find("metric");
  const auto value = element.find("value");
  if (metric == element.end() || !metric->is_object() || value == element.end() ||
      !value->is_array() || value->size() != 2 || !(*value)[1].is_string()) {
    return Malformed("an element has no metric or no value");
  }
  for (const auto& [name, text] : metric->items()) {
    if (!text.is_string()) return Malformed("a label is not a text");
    out.labels.emplace(name, text.get<std::string>());
  }
  if (!absl::SimpleAtod((*value)[1].get_ref<const std::string&>(), &out.value)) {
    return Malformed("a value is not a number");
  }
  return out;
}

absl::StatusOr<std::vector<PrometheusSample>> SamplesFrom(const std::string& text) {
  const json answer = json::parse(text, nullptr, false);
  if (!answer.is_object()) return Malformed("it is not JSON");
  // Warnings are of stores that did not answer: a missing device may be the slowest.
  const auto warnings = answer.find("warnings");
  if (warnings != answer.end() && warnings->is_array() && !warnings->empty()) {
    const json& first = warnings->front();
    return absl::FailedPreconditionError(absl::StrCat(
        "Prometheus' answer may be incomplete: ",
        first.is_string() ? first.get_ref<const std::string&>().substr(0, kMaxErrorText) : "?"));
  }
  const auto data = answer.find("data");
  if (data == answer.end() || !data->is_object()) return Malformed("it has no data");
  const auto type = data->find("resultType");
  const auto result = data->find("result");
  if (type == data->end() || *type != "vector" || result == data->end() || !result->is_array()) {
    return Malformed("it has no result of type vector");
  }
  std::vector<PrometheusSample> out;
  out.reserve(result->size());
  for (const json& element : *result) {
    if (!element.is_object()) return Malformed("an element is not an object");
    SEXTANT_ASSIGN_OR_RETURN(out.emplace_back(), SampleFrom(element));
  }
  return out;
}

// "query timed out in expression evaluation", of an error's JSON; the status alone without one.
std::string RefusalText(int status, const std::string& body) {
  std::string out = absl::StrCat("Prometheus answers ", status);
  const json answer = json::parse(body, nullptr, false);
  if (!answer.is_object()) return out;
  const auto error = answer.find("error");
  if (error == answer.end() || !error->is_string()) return out;
  absl::StrAppend(&out, ": ", error->get_ref<const std::string&>().substr(0, kMaxErrorText));
  return out;
}

absl::Status StatusOfAnswer(int status, const std::string& body) {
  if (status == 200) return absl::OkStatus();
  const std::string text = RefusalText(status, body);
  if (status == 401 || status == 403) return absl::PermissionDeniedError(text);
  if (status >= 502 && status <= 504) return absl::UnavailableError(text);
  return absl::FailedPreconditionError(text);
}

// The error that callers see of a query without an answer.
absl::Status StatusOfError(const absl::Status& error) {
  switch (error.code()) {
    case absl::StatusCode::kOutOfRange:
      return Malformed(absl::StrCat("it is over ", kMaxVectorBytes, " bytes"));
    case absl::StatusCode::kDataLoss:
      return Malformed(error.message());
    case absl::StatusCode::kDeadlineExceeded:
      return absl::DeadlineExceededError("Prometheus did not answer within a second");
    case absl::StatusCode::kUnauthenticated:
      return absl::UnavailableError(
          "Prometheus' certificate is not signed by --fleet_ca_file, or not for this host");
    default:
      return absl::UnavailableError(
          absl::StrCat("Prometheus can't be reached (", error.message(), ")"));
  }
}

// As application/x-www-form-urlencoded has it.
std::string Escaped(absl::string_view text) {
  std::string out;
  for (const char c : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      out += c;
    } else {
      absl::StrAppend(&out, "%", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    }
  }
  return out;
}

absl::Status TokenError(absl::string_view file, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("--fleet_token_file=", file, ": ", why));
}

// The token that the file holds, "visible" characters of ASCII alone (RFC 6750, section 2.1).
// Errors name the file and quote none of it: any other would write headers of its own.
absl::StatusOr<std::string> ReadToken(const std::string& file) {
  const absl::StatusOr<std::string> content = ReadSmallFile(file);
  if (!content.ok()) return TokenError(file, content.status().message());
  const absl::string_view token = absl::StripAsciiWhitespace(*content);
  if (token.empty() || !std::all_of(token.begin(), token.end(), absl::ascii_isgraph)) {
    return TokenError(file, "holds no token, which is one line of printable ASCII without blanks");
  }
  return std::string(token);
}

}  // namespace

absl::string_view PrometheusSample::Label(absl::string_view name) const {
  const auto found = labels.find(name);
  return found == labels.end() ? absl::string_view() : absl::string_view(found->second);
}

absl::StatusOr<std::unique_ptr<const PrometheusApi>> PrometheusApi::Of(
    const PrometheusOptions& options) {
  const absl::string_view url = options.url;
  if (absl::StrContains(url, '@')) {  // first: no other error may quote it
    return absl::InvalidArgumentError(
        "--fleet_prometheus_url holds a name or a password, which every process list shows: give "
        "--fleet_token_file");
  }
  const size_t start = absl::StartsWith(url, "https://")  ? 8
                       : absl::StartsWith(url, "http://") ? 7
                                                          : 0;
  if (start == 0) return NoUrl(url, "has no scheme");
  const size_t slash = std::min(url.find('/', start), url.size());
  const absl::string_view host = url.substr(start, slash - start);
  if (host.empty() || absl::StrContains(url, '?') || absl::StrContains(url, '#') ||
      url.find_first_of(" \t\r\n") != absl::string_view::npos) {
    return NoUrl(url, "is not the address of a server");
  }
  std::unique_ptr<PrometheusApi> out(new PrometheusApi(options));
  out->origin_ = std::string(url.substr(0, slash));
  absl::string_view path = url.substr(slash);
  while (absl::EndsWith(path, "/")) path.remove_suffix(1);
  out->path_ = absl::StrCat(path, "/api/v1/query");
  return out;
}

absl::StatusOr<std::vector<PrometheusSample>> PrometheusApi::Query(
    const std::string& promql, std::chrono::milliseconds limit) const {
  http::HttpCall call = {
      .origin = origin_,
      .path = path_,
      .headers = {{"Content-Type", "application/x-www-form-urlencoded"},
                  {"Accept", "application/json"}},
      .body = absl::StrCat("timeout=", limit.count(),
                           "ms&partial_response=false&query=", Escaped(promql)),
      .ca_file = options_.ca_file,
      .end = std::chrono::steady_clock::now() + limit,
      .max_bytes = kMaxVectorBytes,
  };
  if (!options_.tenant.empty()) call.headers.emplace_back("X-Scope-OrgID", options_.tenant);
  if (!options_.token_file.empty()) {
    SEXTANT_ASSIGN_OR_RETURN(const std::string token, ReadToken(options_.token_file));
    call.headers.emplace_back("Authorization", absl::StrCat("Bearer ", token));
  }
  const absl::StatusOr<http::HttpResult> answer = http::CallHttp(call);
  if (!answer.ok()) return StatusOfError(answer.status());
  SEXTANT_RETURN_IF_ERROR(StatusOfAnswer(answer->status, answer->body));
  return SamplesFrom(answer->body);
}

}  // namespace sextant::server
