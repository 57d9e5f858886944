#include "server/handler/admit_answer.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "engine/base/call_work.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "server/call/worker_pool.h"
#include "server/convert/run_spec.h"
#include "server/handler/plan_answer.h"
#include "server/launcher/json_text.h"
#include "server/launcher/kubernetes_ask.h"
#include "sextant/v1/plan.pb.h"

namespace sextant::server {
namespace {

bool BlamesTheWordsAlone(const absl::Status& status) {
  const std::vector<FieldViolation> violations = FieldViolationsOf(status);
  return !violations.empty() && absl::c_all_of(violations, [](const FieldViolation& violation) {
    return violation.field == "words";
  });
}

// Has the run planned at the rates of the nodes that it is placed on. Memory that processes held
// there at the last scrape is not counted: those of the run before may not have been gone yet.
void PlaceOn(const std::vector<std::string>& hostnames, v1::PlanRunRequest& run) {
  v1::ClusterSpec& cluster = *run.mutable_cluster();
  if (!cluster.has_reserved_memory_bytes()) cluster.set_reserved_memory_bytes(0);
  v1::DeviceSelector& device = *cluster.mutable_device();
  const std::string accelerator = device.accelerator();
  v1::FleetDevices& fleet = *device.mutable_fleet();
  fleet.set_accelerator(accelerator);
  fleet.mutable_hostnames()->Add(hostnames.begin(), hostnames.end());
}

// The question of a request with a manifest.
absl::StatusOr<AdmitQuestion> ManifestQuestion(const v1::AdmitRequest& request, bool has_fleet) {
  const absl::StatusOr<nlohmann::json> object = ReadJson(request.manifest());
  if (!object.ok()) return InvalidField("manifest", object.status().message());
  const KubernetesAsk ask = ReadKubernetesAsk(*object);
  v1::AdmitRequest whole = request;
  if (ask.doubt.empty()) AskTo(ask, &whole);
  SEXTANT_ASSIGN_OR_RETURN(AdmitQuestion out, AdmitQuestionFrom(whole));
  if (!ask.doubt.empty()) out.doubt = ask.doubt;
  if (has_fleet && out.doubt.empty() && !ask.hostnames.empty()) {
    PlaceOn(ask.hostnames, out.run);
    out.gives_accelerator = true;  // what is wrong with the nodes is not the words' mistake
  }
  return out;
}

}  // namespace

Admission::Admission(const CallContext& context, AdmitTools tools)
    : context_(context), tools_(std::move(tools)), start_(std::chrono::steady_clock::now()) {}

void Admission::Read(const v1::AdmitRequest& request) {
  absl::StatusOr<AdmitQuestion> question = request.manifest().empty()
                                               ? AdmitQuestionFrom(request)
                                               : ManifestQuestion(request, tools_.fleet != nullptr);
  if (!question.ok()) return Decide(question.status(), {});
  question_ = *std::move(question);
  if (question_.doubt.empty()) return;
  v1::AdmitResponse response;
  UnknownTo(question_.doubt, &response);
  Decide(absl::OkStatus(), std::move(response));
}

bool Admission::is_decided() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return decided_;
}

std::chrono::steady_clock::time_point Admission::end() const {
  return start_ + absl::ToChronoNanoseconds(question_.budget);
}

void Admission::WhenDecided(std::function<void()> then) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!decided_) {
      then_ = std::move(then);
      return;
    }
  }
  then();
}

// The call may be gone as soon as it is decided.
absl::Status Admission::End() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return decided_ || IsLate() ? absl::CancelledError("the budget is over") : EndOf(context_);
}

void Admission::Plan(const absl::Status& ready) {
  if (!ready.ok()) return DecideBy(ready);
  if (is_decided()) return;
  // Held to the end: the run's texts point into it.
  const std::shared_ptr<const CalibrationSnapshot> host = tools_.calibrations();
  FieldViolations violations;
  const DeviceFinder finder(
      {.supplied = *tools_.supplied, .host = *host, .now = tools_.now(), .fleet = tools_.fleet});
  CheckPlanNumbers(question_.run, violations);
  const RunSpec run = RunSpecFrom(question_.run, finder, violations);
  const auto end = [this] {
    WorkerPool::EndTurn();
    return End();
  };
  CallWork work(end);
  v1::Plan plan;
  const absl::Status planned =
      AnswerPlan({.request = question_.run, .run = run, .violations = std::move(violations)}, work,
                 *tools_.metrics, &plan)
          .status();
  if (IsLate()) return EndBudget();
  if (!planned.ok()) return DecideBy(planned);
  v1::AdmitResponse response;
  AdmissionTo(question_, plan, &response);
  Decide(absl::OkStatus(), std::move(response));
}

void Admission::DecideBy(const absl::Status& failure) {
  v1::AdmitResponse response;
  absl::Status status = RefusalTo(question_, failure, &response);
  Decide(std::move(status), std::move(response));
}

void Admission::EndBudget() {
  v1::AdmitResponse response;
  UnknownTo(absl::StrCat("no answer within ", absl::FormatDuration(question_.budget),
                         SearchesByDefault(question_.run)
                             ? ": no layout is given, and looking for one takes longer; add --tp, "
                               "--pp and --mbs"
                             : ": the planner is busy, or the run takes longer to plan"),
            &response);
  Decide(absl::OkStatus(), std::move(response));
}

void Admission::Decide(absl::Status status, v1::AdmitResponse response) {
  std::function<void()> then;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (decided_) return;
    decided_ = true;
    status_ = std::move(status);
    response_ = std::move(response);
    then = std::move(then_);
  }
  if (then != nullptr) then();
}

absl::Status Admission::Take(const v1::AdmitCaller& caller, v1::AdmitResponse* response) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const char* const label = SchedulerLabel(caller.scheduler());
  AdmissionMetrics& counts = tools_.metrics->admissions();
  counts.judged(label, status_.ok() ? AdmitLabel(response_.verdict()) : "refused").Increment();
  if (status_.ok() || BlamesTheWordsAlone(status_)) {
    counts.AddHookCounts(label, caller.unanswered_count(), caller.error_count());
  }
  *response = std::move(response_);
  return status_;
}

}  // namespace sextant::server
