#include "server/handler/plan_answer.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/note.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/rates.h"
#include "server/convert/layout.h"
#include "server/convert/plan.h"
#include "server/convert/rates.h"
#include "server/convert/run_spec.h"

namespace sextant::server {
namespace {

// Adds up how far the shards of a search have come, for `watch`, which may be null. Thread-safe.
class ProgressSum {
 public:
  explicit ProgressSum(const SearchWatch& watch) : watch_(watch) {}

  // The watch of one shard.
  SearchWatch ShardWatch() {
    if (!watch_) return nullptr;
    return [this, before = SearchProgress()](const SearchProgress& shard) mutable {
      const std::lock_guard lock(mutex_);
      sum_.searched += shard.searched - before.searched;
      sum_.to_search += shard.to_search - before.to_search;
      sum_.layer_count = shard.layer_count;
      if (shard.best.has_value() && (!sum_.best.has_value() || IsBetter(*shard.best, *sum_.best))) {
        sum_.best = shard.best;
      }
      before = shard;
      if (sum_.to_search > 0) watch_(sum_);
    };
  }

 private:
  const SearchWatch& watch_;
  std::mutex mutex_;
  SearchProgress sum_;
};

// All shards of one space, of which `of` is the first.
absl::StatusOr<SearchOutcome> SearchShards(const RunSpec& run, const FieldViolations& found,
                                           SearchShard of, WorkerPool& workers,
                                           absl::FunctionRef<absl::Status()> end,
                                           ProgressSum& progress) {
  std::mutex mutex;
  absl::Status status;
  SearchOutcome outcome;
  const auto failed = [&] {
    const std::lock_guard lock(mutex);
    return !status.ok();
  };
  SideBySide(workers, of.count, [&](int64_t index) {
    if (failed()) return;  // the others would end alike
    SearchShard shard = of;
    shard.index = index;
    CallWork work(end);
    absl::StatusOr<SearchOutcome> part =
        SearchLayouts(run, shard, found, work, progress.ShardWatch());
    const std::lock_guard lock(mutex);
    status.Update(part.status());
    if (part.ok()) Merge(*std::move(part), outcome);
  });
  if (!status.ok()) return status;
  return outcome;
}

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

absl::StatusOr<SearchOutcome> SearchOnWorkers(const RunSpec& run, FieldViolations found,
                                              WorkerPool& workers,
                                              absl::FunctionRef<absl::Status()> end,
                                              const SearchWatch& watch) {
  ProgressSum progress(watch);
  // A bounded search takes less time than its parts would take to begin.
  const bool alone = run.options.search != SearchExtent::kExhaustive || !found.empty();
  SearchShard shard = {.count = alone ? 1 : std::max<int64_t>(workers.thread_count(), 1)};
  SEXTANT_ASSIGN_OR_RETURN(SearchOutcome out,
                           SearchShards(run, found, shard, workers, end, progress));
  if (!HasToOffload(run, out)) return out;
  shard.offloads = true;
  SEXTANT_ASSIGN_OR_RETURN(SearchOutcome away,
                           SearchShards(run, found, shard, workers, end, progress));
  Merge(std::move(away), out);
  return out;
}

absl::StatusOr<std::string> AnswerPlan(PlanQuestion question, CallWork& work, Metrics& metrics,
                                       v1::Plan* out) {
  const InFlight in_flight(metrics.plans_in_flight());
  if (question.run.options.search != SearchExtent::kNone) {
    return AnswerSearch(std::move(question), work, metrics, out);
  }
  return AnswerLayout(question.run, std::move(question.violations), work, metrics, out);
}

}  // namespace sextant::server
