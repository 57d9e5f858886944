#include "server/handler/planning_service.h"

#include <string>
#include <utility>

#include "engine/base/call_work.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/rates.h"
#include "engine/run/plan.h"
#include "engine/search/allocate_compute.h"
#include "engine/search/layout_search.h"
#include "server/call/call_end.h"
#include "server/call/worker_pool.h"
#include "server/convert/allocate_compute.h"
#include "server/convert/layout_search.h"
#include "server/convert/plan.h"
#include "server/convert/run_spec.h"
#include "server/handler/search_answer.h"

namespace sextant::server {
namespace {

void IgnoredFieldsTo(const ModelSpec& model, v1::Plan* out) {
  if (!model.hugging_face_config.has_value()) return;
  for (const std::string& name : model.hugging_face_config->ignored_fields) {
    out->add_ignored_config_fields(name);
  }
}

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

}  // namespace

PlanningService::PlanningService(Metrics& metrics, PlanningOptions options)
    : metrics_(metrics),
      options_(std::move(options)),
      plan_run_("sextant.v1.PlanningService/PlanRun", metrics, options_.log_level),
      allocate_compute_("sextant.v1.PlanningService/AllocateCompute", metrics, options_.log_level) {
}

absl::Status PlanningService::Answer(const v1::PlanRunRequest& request,
                                     const grpc::CallbackServerContext& context,
                                     v1::PlanRunResponse* response) {
  const InFlight in_flight(metrics_.plans_in_flight());
  FieldViolations violations;
  // Held to the end: the run's texts point into it.
  const std::shared_ptr<const CalibrationSnapshot> host = options_.calibrations();
  const RunSpec run = RunSpecFrom(
      request, {.supplied = *options_.supplied, .host = *host, .now = options_.now()}, violations);
  if (run.options.search != SearchExtent::kNone) {
    return AnswerSearch(request, run, std::move(violations), context, response);
  }
  const auto end = [&context] { return EndOf(context); };
  CallWork work(end);
  return AnswerLayout(run, std::move(violations), work, response);
}

absl::Status PlanningService::AnswerLayout(const RunSpec& run, FieldViolations violations,
                                           CallWork& work, v1::PlanRunResponse* response) {
  SEXTANT_ASSIGN_OR_RETURN(Plan plan, sextant::PlanRun(run, std::move(violations), work));
  metrics_.layouts_considered().Increment();
  PlanTo(run, std::move(plan), response);
  return absl::OkStatus();
}

absl::Status PlanningService::AnswerSearch(const v1::PlanRunRequest& request, const RunSpec& run,
                                           FieldViolations violations,
                                           const grpc::CallbackServerContext& context,
                                           v1::PlanRunResponse* response) {
  const auto end = [&context] { return EndOf(context); };
  SEXTANT_ASSIGN_OR_RETURN(SearchOutcome found,
                           SearchOnWorkers(run, std::move(violations), *options_.workers, end));
  CallWork work(end);
  metrics_.layouts_considered().Increment(static_cast<double>(found.considered));
  const bool none = !found.untimed.field.empty() || (found.best.empty() && !found.smallest);
  if (none && SearchesByDefault(request)) {
    RunSpec given = run;
    given.options.search = SearchExtent::kNone;
    return AnswerLayout(given, {}, work, response);
  }
  SEXTANT_ASSIGN_OR_RETURN(SearchedPlan best, PlanBest(run, std::move(found), work));
  PlanTo(*best.run, std::move(best.plan), response);
  LayoutSearchTo(best, request, run.options.full, response->mutable_plan()->mutable_search());
  return absl::OkStatus();
}

void PlanningService::PlanTo(const RunSpec& run, Plan plan, v1::PlanRunResponse* response) {
  response->set_rates_fingerprint(RatesFingerprint(plan.rates));
  metrics_.verdict(plan.verdict()).Increment();
  server::PlanTo(std::move(plan), run.options.full, response->mutable_plan());
  if (run.options.full) IgnoredFieldsTo(run.model, response->mutable_plan());
}

grpc::ServerUnaryReactor* PlanningService::PlanRun(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request,
                                                   grpc::ByteBuffer* response) {
  // Evaluates every stage of a layout and, where it does not fit, many changes to it: that may take
  // milliseconds.
  return AnswerInlineOrAfter<v1::PlanRunRequest, v1::PlanRunResponse>(
      UnaryCall(plan_run_, context, request, response),
      [](const v1::PlanRunRequest& in) {
        return !in.has_layout() && in.options().search() <= v1::LAYOUT_SEARCH_NONE;
      },
      [this, context](const v1::PlanRunRequest&, auto then) {
        PostCall(context, *options_.workers, std::move(then));
      },
      [this, context](const v1::PlanRunRequest& in, v1::PlanRunResponse* out) {
        return Answer(in, *context, out);
      });
}

absl::Status PlanningService::Allocate(const v1::AllocateComputeRequest& request,
                                       v1::AllocateComputeResponse* response) {
  FieldViolations violations;
  // Held to the end: the budget's texts point into it.
  const std::shared_ptr<const CalibrationSnapshot> host = options_.calibrations();
  const AllocationSpec spec = AllocationSpecFrom(
      request, {.supplied = *options_.supplied, .host = *host, .now = options_.now()}, violations);
  SEXTANT_ASSIGN_OR_RETURN(ComputeAllocation allocation,
                           sextant::AllocateCompute(spec, std::move(violations)));
  ComputeAllocationTo(std::move(allocation), response);
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* PlanningService::AllocateCompute(grpc::CallbackServerContext* context,
                                                           const grpc::ByteBuffer* request,
                                                           grpc::ByteBuffer* response) {
  return AnswerInline<v1::AllocateComputeRequest, v1::AllocateComputeResponse>(
      allocate_compute_, context, request, response,
      [this](const v1::AllocateComputeRequest& in, v1::AllocateComputeResponse* out) {
        return Allocate(in, out);
      });
}

}  // namespace sextant::server
