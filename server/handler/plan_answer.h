// The plan of one PlanRunRequest, which is a call of its own or a part of one, and
// its search for a layout on several threads.
#ifndef SEXTANT_SERVER_HANDLER_PLAN_ANSWER_H_
#define SEXTANT_SERVER_HANDLER_PLAN_ANSWER_H_

#include <functional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/base/call_work.h"
#include "engine/base/field_violation.h"
#include "engine/run/plan.h"
#include "engine/run/run_spec.h"
#include "engine/search/layout_search.h"
#include "server/call/worker_pool.h"
#include "server/metrics/metrics.h"
#include "sextant/v1/plan.pb.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::server {

// Searches the layouts of `run`, here and on those of `workers` that are free; whoever searches
// asks `end`, which is called on several threads, as CallWork does. Waits for nobody who has not
// begun: a full pool makes it slower, never stuck. The outcome depends on `run` alone. `watch`,
// which may be null, is called on one thread at a time.
//
// Errors: SearchLayouts()'s.
absl::StatusOr<SearchOutcome> SearchOnWorkers(const RunSpec& run, FieldViolations found,
                                              WorkerPool& workers,
                                              absl::FunctionRef<absl::Status()> end,
                                              const SearchWatch& watch);

// The means of a call that plans many runs; `end` is CallWork's, for work on further threads.
struct LongCall {
  CallWork& work;
  absl::FunctionRef<absl::Status()> end;
  WorkerPool& workers;
  Metrics& metrics;
};

// Counts a plan as in flight while it lives, on any thread.
class InFlight {
 public:
  explicit InFlight(prometheus::Gauge& plans) : plans_(plans) { plans_.Increment(); }
  ~InFlight() { plans_.Decrement(); }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

 private:
  prometheus::Gauge& plans_;
};

// A request and what RunSpecFrom() made of it.
struct PlanQuestion {
  const v1::PlanRunRequest& request;
  const RunSpec& run;
  FieldViolations violations = {};
  // An exhaustive search uses those that are free, and asks `end`, which outlives the answer, on
  // all of them; null: it runs here alone.
  WorkerPool* workers = nullptr;
  std::function<absl::Status()> end = {};
  SearchWatch watch = {};  // of a search by `workers`; null: nobody watches
};

// Plans a run, with the layout that it asks to search for. Fills `out`, which is empty, and counts
// the plan. Returns the fingerprint of its rates.
//
// Errors: those of sextant::PlanRun() and SearchLayouts().
absl::StatusOr<std::string> AnswerPlan(PlanQuestion question, CallWork& work, Metrics& metrics,
                                       v1::Plan* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_PLAN_ANSWER_H_
