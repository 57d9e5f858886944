#include "server/fleet/prometheus_api.h"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "engine/base/status_macros.h"
#include "proto/http/http_call.h"
#include "server/security/watched_file.h"

namespace sextant::server {
namespace {

using nlohmann::json;

// A quarter of a million series.
constexpr size_t kMaxVectorBytes = size_t{64} << 20;
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

// Reads samples as the text of an answer goes by, which holds a hundred thousand of a large fleet.
class AnswerReader final : public nlohmann::json_sax<json> {
 public:
  absl::StatusOr<std::vector<PrometheusSample>> Read(const std::string& text) {
    if (!json::sax_parse(text, this) && fault_.empty()) fault_ = "it is not JSON";
    // Warnings are of stores that did not answer: a missing device may be the slowest.
    if (warning_.has_value()) {
      return absl::FailedPreconditionError(
          absl::StrCat("Prometheus' answer may be incomplete: ", *warning_));
    }
    if (fault_.empty() && (type_ != "vector" || !has_result_)) {
      fault_ = "it has no result of type vector";
    }
    if (!fault_.empty()) return Malformed(fault_);
    return std::move(samples_);
  }

  bool null() override { return Other(); }
  bool boolean(bool) override { return Other(); }
  bool number_integer(number_integer_t) override { return Other(); }
  bool number_unsigned(number_unsigned_t) override { return Other(); }
  bool number_float(number_float_t, const string_t&) override { return Other(); }
  bool binary(binary_t&) override { return Other(); }

  bool string(string_t& text) override {
    if (IsIn({"data", "result", kItem, "metric"})) {
      samples_.back().labels.emplace(path_.back(), std::move(text));
    } else if (IsIn({"data", "result", kItem, "value"})) {
      if (++value_count_ != 2 || !absl::SimpleAtod(text, &samples_.back().value)) {
        return Fault("a value is not a number");
      }
      has_value_ = true;
    } else if (IsIn({"data", "result"})) {
      return Fault("an element is not an object");
    } else if (IsIn({"data"}) && path_.back() == "resultType") {
      type_ = text;
    } else if (IsIn({"warnings"}) && !warning_.has_value()) {
      warning_ = text.substr(0, kMaxErrorText);
    }
    return true;
  }

  bool start_object(size_t) override {
    if (IsIn({"data", "result"})) {
      samples_.emplace_back();
      has_metric_ = has_value_ = false;
    } else if (IsIn({"data", "result", kItem}) && path_.back() == "metric") {
      has_metric_ = true;
    } else if (!path_.empty() && !Other()) {
      return false;
    }
    path_.emplace_back();
    return true;
  }

  bool key(string_t& name) override {
    path_.back() = std::move(name);
    return true;
  }

  bool end_object() override {
    path_.pop_back();
    if (!IsIn({"data", "result"}) || (has_metric_ && has_value_)) return true;
    return Fault("an element has no metric or no value");
  }

  bool start_array(size_t) override {
    if (path_.empty()) return Fault("it is not an object");
    if (IsIn({"data"}) && path_.back() == "result") has_result_ = true;
    if (IsIn({"data", "result", kItem}) && path_.back() == "value") {
      value_count_ = 0;
    } else if (!Other()) {
      return false;
    }
    path_.emplace_back(kItem);
    return true;
  }

  bool end_array() override {
    path_.pop_back();
    return true;
  }

  bool parse_error(size_t, const std::string&, const json::exception&) override {
    return Fault("it is not JSON");
  }

 private:
  static constexpr absl::string_view kItem = "[]";  // the key of an array's elements

  // True where the value that comes is in what these keys lead to.
  bool IsIn(std::initializer_list<absl::string_view> keys) const {
    return path_.size() == keys.size() + 1 && std::equal(keys.begin(), keys.end(), path_.begin());
  }

  // A value of another kind than a text.
  bool Other() {
    if (path_.empty()) return Fault("it is not an object");
    if (IsIn({"data", "result"})) return Fault("an element is not an object");
    if (IsIn({"data", "result", kItem, "metric"})) return Fault("a label is not a text");
    if (IsIn({"data", "result", kItem, "value"}) && ++value_count_ != 1) {
      return Fault("a value is not a number");
    }
    return true;
  }

  bool Fault(const char* what) {
    if (fault_.empty()) fault_ = what;
    return false;
  }

  std::vector<std::string> path_;  // keys down to the value that comes
  std::string type_;
  bool has_result_ = false;
  bool has_metric_ = false;  // of the last sample
  bool has_value_ = false;
  int value_count_ = 0;
  std::vector<PrometheusSample> samples_;
  absl::optional<std::string> warning_;
  std::string fault_;
};

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
absl::Status StatusOfError(const absl::Status& error, std::chrono::milliseconds limit) {
  switch (error.code()) {
    case absl::StatusCode::kOutOfRange:
      return Malformed(absl::StrCat("it is over ", kMaxVectorBytes, " bytes"));
    case absl::StatusCode::kDataLoss:
      return Malformed(error.message());
    case absl::StatusCode::kDeadlineExceeded:
      return absl::DeadlineExceededError(absl::StrCat(
          "Prometheus did not answer within ", absl::FormatDuration(absl::FromChrono(limit))));
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
  if (!answer.ok()) return StatusOfError(answer.status(), limit);
  SEXTANT_RETURN_IF_ERROR(StatusOfAnswer(answer->status, answer->body));
  return AnswerReader().Read(answer->body);
}

}  // namespace sextant::server
