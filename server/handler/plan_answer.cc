#include "server/handler/plan_answer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/note.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/rates.h"
#include "server/convert/layout_search.h"
#include "server/convert/plan.h"
#include "server/convert/rates.h"
#include "server/convert/run_spec.h"
#include "server/handler/search_answer.h"

namespace sextant::server {
namespace {

void UnreadFieldsTo(const ModelSpec& model, bool full, v1::Plan* out) {
  if (!model.hugging_face_config.has_value()) return;
  for (const std::string& name : model.hugging_face_config->unread_fields) {
    out->add_unread_config_fields(name);
  }
  if (!full) return;
  for (const std::string& name : model.hugging_face_config->ignored_fields) {
    out->add_ignored_config_fields(name);
  }
}

std::string Fill(const RunSpec& run, Plan&& plan, Metrics& metrics, v1::Plan* out) {
  std::string fingerprint = RatesFingerprint(plan.rates);
  metrics.verdict(plan.verdict()).Increment();
  PlanTo(std::move(plan), run.options.full, out);
  if (run.cluster.device.fleet.has_value()) {
    FleetTo(*run.cluster.device.fleet, out->mutable_fleet());
  }
  UnreadFieldsTo(run.model, run.options.full, out);
  return fingerprint;
}

absl::StatusOr<std::string> AnswerLayout(const RunSpec& run, FieldViolations violations,
                                         CallWork& work, Metrics& metrics, v1::Plan* out) {
  SEXTANT_ASSIGN_OR_RETURN(Plan plan, PlanRun(run, std::move(violations), work));
  metrics.layouts_considered().Increment();
  return Fill(run, std::move(plan), metrics, out);
}

// Plans the state of `run` alone, since no layout of it can be timed.
absl::StatusOr<std::string> AnswerState(const RunSpec& run, const MissingField& untimed,
                                        CallWork& work, Metrics& metrics, v1::Plan* out) {
  RunSpec state = run;
  state.layout.reset();
  state.options.search = SearchExtent::kNone;
  state.options.include_ledger = false;
  state.options.include_operations = false;
  SEXTANT_ASSIGN_OR_RETURN(Plan plan, PlanRun(state, {}, work));
  plan.notes.push_back(
      {.kind = NoteKind::kStepNotPredicted,
       .text = absl::StrCat("No layout was searched for, and state alone is planned: ", untimed.why,
                            "."),
       .fields = {untimed.field}});
  return Fill(state, std::move(plan), metrics, out);
}

absl::StatusOr<SearchOutcome> Search(PlanQuestion& question, CallWork& work) {
  if (question.workers == nullptr) {
    return SearchAsPlanned(question.run, std::move(question.violations), work);
  }
  return SearchOnWorkers(question.run, std::move(question.violations), *question.workers,
                         question.end, question.watch);
}

absl::StatusOr<std::string> AnswerSearch(PlanQuestion question, CallWork& work, Metrics& metrics,
                                         v1::Plan* out) {
  SEXTANT_ASSIGN_OR_RETURN(SearchOutcome found, Search(question, work));
  metrics.layouts_considered().Increment(static_cast<double>(found.considered));
  if (!found.untimed.field.empty() && SearchesByDefault(question.request)) {
    return AnswerState(question.run, found.untimed, work, metrics, out);
  }
  SEXTANT_ASSIGN_OR_RETURN(SearchedPlan best, PlanBest(question.run, std::move(found), work));
  std::string fingerprint = Fill(*best.run, std::move(best.plan), metrics, out);
  LayoutSearchTo(best, question.request, question.run.options.full, out->mutable_search());
  return fingerprint;
}

}  // namespace

absl::StatusOr<std::string> AnswerPlan(PlanQuestion question, CallWork& work, Metrics& metrics,
                                       v1::Plan* out) {
  const InFlight in_flight(metrics.plans_in_flight());
  if (question.run.options.search != SearchExtent::kNone) {
    return AnswerSearch(std::move(question), work, metrics, out);
  }
  return AnswerLayout(question.run, std::move(question.violations), work, metrics, out);
}

}  // namespace sextant::server
