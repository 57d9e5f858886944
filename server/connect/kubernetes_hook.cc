#include "server/connect/kubernetes_hook.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "proto/words/plan_line.h"
#include "server/launcher/json_text.h"
#include "server/launcher/kubernetes_ask.h"
#include "server/launcher/kubernetes_job.h"
#include "server/listen/http_failure.h"
#include "server/listen/http_head.h"
#include "sextant/v1/admit.pb.h"

namespace sextant::server {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

constexpr char kDenyPath[] = "/v1/hooks/kubernetes/deny";
constexpr milliseconds kDeadline(1000);
constexpr int kForbidden = 403;
constexpr size_t kMaxNameBytes = 256;  // of AdmitCaller

// A tree of JSON takes some 20 times its text: of large ones there is one at a time.
constexpr size_t kLargeBytes = 256 << 10;

absl::StatusOr<Json> ReadReview(const std::string& body) {
  static std::mutex mutex;
  std::unique_lock<std::mutex> lock(mutex, std::defer_lock);
  if (body.size() > kLargeBytes) lock.lock();
  return ReadJson(body);
}

std::string TextAt(const Json& from, absl::string_view path) {
  const Json& value = ValueAt(from, path);
  return value.is_string() ? value.get<std::string>() : std::string();
}

// The time until the answer: half of what Kubernetes waits, in its query as "2s".
milliseconds TimeOf(const HttpExchange& exchange) {
  absl::Duration waits;
  if (!absl::ParseDuration(exchange.Parameter("timeout").value_or(""), &waits)) return kDeadline;
  return std::clamp(absl::ToChronoMilliseconds(waits / 2), milliseconds(1), kDeadline);
}

// One line of Kubernetes', which may cut what is longer than 256 characters.
std::string Line(absl::string_view text) {
  return absl::StrCat("sextant: ", words::OneLineOf(text));
}

// The faults of the words.
std::string FaultsOf(const absl::Status& status) {
  std::vector<std::string> out;
  for (const FieldViolation& each : FieldViolationsOf(status)) {
    out.push_back(absl::StrCat(each.field, ": ", each.description));
  }
  return out.empty() ? std::string(status.message()) : absl::StrJoin(out, "; ");
}

// One review, from its body to its answer.
class Review final : public ForeignMessages {
 public:
  Review(bool denies, milliseconds time) : denies_(denies), time_(time) {}

  absl::StatusOr<std::string> ReadRequest(HttpExchange& exchange) override {
    absl::Status place;
    SEXTANT_ASSIGN_OR_RETURN(const std::string body, exchange.ReadBody(&place));
    SEXTANT_RETURN_IF_ERROR(Read(body));
    // Without words Admit plans nothing, and counts that it was asked.
    if (!place.ok()) doubt_ = "the planner is busy";
    if (!doubt_.empty()) request_.clear_words();
    return request_.SerializeAsString();
  }

  HttpAnswer AnswerOf(const absl::Status& status, absl::string_view bytes,
                      absl::string_view trace_id) override {
    if (uid_.empty()) return FailureAnswer(status, trace_id);
    v1::AdmitResponse response;
    if (status.ok() && !response.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return Allowed({"not planned: the answer can't be read"});
    }
    if (!doubt_.empty()) return Allowed({absl::StrCat("not planned: ", doubt_)});
    if (absl::IsInvalidArgument(status)) return Refused({FaultsOf(status)});
    if (!status.ok()) return Allowed({absl::StrCat("not planned: ", status.message())});
    std::vector<std::string> lines = {response.message()};
    if (!response.change().empty()) lines.push_back(response.change());
    const bool fits = response.verdict() != v1::AdmitResponse::VERDICT_DOES_NOT_FIT;
    return fits ? Allowed(lines) : Refused(lines);
  }

 private:
  // Reads the review's uid and object.
  absl::Status Read(const std::string& body) {
    const absl::StatusOr<Json> review = ReadReview(body);
    if (!review.ok()) return InvalidField("body", review.status().message());
    const Json& request = ValueAt(*review, "request");
    uid_ = TextAt(request, "uid");
    if (uid_.empty() || TextAt(*review, "kind") != "AdmissionReview") {
      uid_.clear();
      return InvalidField("body", "must be an AdmissionReview of admission.k8s.io/v1 with a uid");
    }
    const KubernetesAsk ask = ReadKubernetesAsk(ValueAt(request, "object"));
    doubt_ = ask.doubt;
    AskTo(ask, &request_);
    TakeMode(ask.mode);
    v1::AdmitCaller& caller = *request_.mutable_caller();
    caller.set_scheduler(v1::AdmitCaller::SCHEDULER_KUBERNETES);
    caller.set_job_name(absl::StrCat(TextAt(request, "namespace"), "/", TextAt(request, "name"))
                            .substr(0, kMaxNameBytes));
    caller.set_user(TextAt(request, "userInfo.username").substr(0, kMaxNameBytes));
    // Admit's own answer comes before the call's end.
    *request_.mutable_budget() = google::protobuf::util::TimeUtil::MillisecondsToDuration(
        std::max<int64_t>(time_.count() * 4 / 5, 1));
    return absl::OkStatus();
  }

  void TakeMode(const std::string& mode) {
    if (mode == "warn" || mode == "deny") {
      denies_ = mode == "deny";
    } else if (!mode.empty()) {
      denies_ = false;
      doubt_ = absl::StrCat("its ", kModeAnnotation, " must be warn or deny");
    }
  }

  HttpAnswer Answer(Json response) const {
    response["uid"] = uid_;
    const Json review = {{"apiVersion", "admission.k8s.io/v1"},
                         {"kind", "AdmissionReview"},
                         {"response", std::move(response)}};
    return {.content_type = "application/json",
            .body = review.dump(-1, ' ', false, Json::error_handler_t::replace)};
  }

  HttpAnswer Allowed(const std::vector<std::string>& lines) const {
    Json warnings = Json::array();
    for (const std::string& line : lines) warnings.push_back(Line(line));
    return Answer({{"allowed", true}, {"warnings", std::move(warnings)}});
  }

  HttpAnswer Refused(const std::vector<std::string>& lines) const {
    if (!denies_) return Allowed(lines);
    return Answer({{"allowed", false},
                   {"status",
                    {{"code", kForbidden},
                     {"reason", "Forbidden"},
                     {"message", Line(absl::StrJoin(lines, "; "))}}}});
  }

  bool denies_;
  const milliseconds time_;
  std::string uid_;    // empty: no review was read
  std::string doubt_;  // why the object is not judged
  v1::AdmitRequest request_;
};

}  // namespace

bool AnswerKubernetes(const ConnectMethod& admit, HttpExchange& exchange,
                      const std::shared_ptr<OpenCalls>& open) {
  const bool denies = exchange.path() == kDenyPath;
  if (!denies && exchange.path() != kHookPath) return false;
  if (exchange.method() != "POST") {
    exchange.Answer(FailureAnswer(
        HttpError(HttpFault::kUnknownMethod, "a webhook of Kubernetes is called by POST")));
    return true;
  }
  const milliseconds time = TimeOf(exchange);
  Review review(denies, time);
  AnswerCall(admit, {.deadline = std::chrono::system_clock::now() + time, .foreign = &review},
             exchange, open);
  return true;
}

}  // namespace sextant::server
