#include "server/handler/planning_service.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/base/version.h"
#include "engine/model/presets/presets.h"
#include "engine/run/job.h"
#include "engine/search/allocate_compute.h"
#include "engine/search/size_model.h"
#include "server/call/call.h"
#include "server/call/status.h"
#include "server/convert/allocate_compute.h"
#include "server/convert/architecture.h"
#include "server/convert/batched_run.h"
#include "server/convert/device_resolver.h"
#include "server/convert/layout.h"
#include "server/convert/message_fields.h"
#include "server/convert/run_spec.h"
#include "server/convert/sizing.h"
#include "server/handler/admit_answer.h"
#include "server/handler/export_answer.h"
#include "server/handler/on_worker.h"
#include "server/handler/plan_answer.h"
#include "server/handler/size_cluster_answer.h"
#include "server/launcher/import.h"

namespace sextant::server {
namespace {

void ModelTo(const LargestModel& size, const v1::PlanRunRequest& run, v1::SizeModelResponse* out) {
  out->set_met(size.met);
  out->set_basis(SizeBasisPair::To(size.basis));
  out->set_parameter_count(size.model.parameter_count);
  out->set_token_count(size.model.token_count);
  if (size.shape.has_value()) ArchitectureTo(*size.shape, out->mutable_architecture());
  out->set_width_ratio(size.model.width_ratio);
  out->set_layer_count(size.model.layer_count);
  out->set_limit(SizeLimitPair::To(size.limit));
  if (size.model.sized.plan != nullptr) {
    out->set_rates_fingerprint(SizedPlanTo(size.model.sized, run, out->mutable_plan()));
  }
  for (const SizedModel& model : size.tried) {
    v1::TriedModel* const tried = out->add_tried();
    tried->set_parameter_count(model.parameter_count);
    tried->set_hidden_size(model.hidden_size);
    tried->set_layer_count(model.layer_count);
    TriedTo(model.sized, tried);
  }
}

void CheckSizeModel(const v1::SizeModelRequest& request, FieldViolations& violations) {
  static const check::NumberLimits run_limits(*v1::PlanRunRequest::descriptor(),
                                              {"sextant.v1.TrainingSpec.token_count"});
  static const check::NumberLimits limits(*v1::SizeModelRequest::descriptor(),
                                          {"sextant.v1.SizeModelRequest.run"});
  if (request.has_tokens_per_parameter()) {
    CheckNumbers(run_limits, request.run(), "", violations);
  } else {
    CheckPlanNumbers(request.run(), violations);
  }
  CheckNumbers(limits, request, "", violations);
}

// The largest model that `request` asks for.
//
// Errors: those of FindLargestModel(), fields named from the request on.
absl::Status AnswerSizeModel(const v1::SizeModelRequest& request, const DeviceResolver& resolver,
                             const LongCall& call, v1::SizeModelResponse* out) {
  const InFlight in_flight(call.metrics.plans_in_flight());
  FieldViolations violations;
  CheckSizeModel(request, violations);
  const RunSpec run =
      SizedRunFrom(request.run(), request.has_max_duration() ? &request.max_duration() : nullptr,
                   resolver, violations);
  absl::optional<double> ratio;
  if (request.has_tokens_per_parameter()) ratio = request.tokens_per_parameter();
  const absl::StatusOr<LargestModel> size =
      FindLargestModel(run, ratio, std::move(violations), call.work);
  if (!size.ok()) return InSizeRequest(size.status());
  ModelTo(*size, request.run(), out);
  for (const SizedModel& model : size->tried) {
    call.metrics.layouts_considered().Increment(static_cast<double>(model.sized.layout_count));
  }
  return absl::OkStatus();
}

// The most runs of a batch.
constexpr int kMaxBatchedRuns = 256;
// The most runs of a batch that may search exhaustively: each takes up to seconds of a core.
constexpr int kMaxExhaustiveRuns = 16;

// Steps of CallWork for each run: its translation and resolution, about 0.1 ms. Large enough that
// each run asks whether somebody still waits.
constexpr int64_t kStepsARun = 10'000;

absl::Status CheckCount(int count) {
  if (count >= 1 && count <= kMaxBatchedRuns) return absl::OkStatus();
  if (count == 0) {
    return InvalidField("runs", absl::StrCat("is required: give 1 to ", kMaxBatchedRuns, " runs"));
  }
  return InvalidField("runs", absl::StrCat("are ", count, ": give at most ", kMaxBatchedRuns,
                                           " in one call, the others in another"));
}

absl::StatusOr<std::string> AnswerRun(const v1::BatchPlanRunsRequest& batch, int index,
                                      const DeviceResolver& resolver, CallWork& work,
                                      Metrics& metrics, v1::Plan* out) {
  const v1::PlanRunRequest& request = batch.runs(index);
  FieldViolations violations;
  CheckPlanNumbers(request, violations);
  const RunSpec run =
      BatchedRunFrom(request, resolver, batch.runs_size() <= kMaxExhaustiveRuns, violations);
  return AnswerPlan({.request = request, .run = run, .violations = std::move(violations)}, work,
                    metrics, out);
}

// Plans each run of `request`, in order, or says why it has no plan. A run's end costs no others
// theirs; that of `work` ends the call.
//
// Errors: kInvalidArgument "runs" for none and for too many; those of `work`.
absl::Status AnswerBatch(const v1::BatchPlanRunsRequest& request, const DeviceResolver& resolver,
                         const LongCall& call, v1::BatchPlanRunsResponse* out) {
  SEXTANT_RETURN_IF_ERROR(CheckCount(request.runs_size()));
  out->mutable_runs()->Reserve(request.runs_size());
  for (int i = 0; i < request.runs_size(); ++i) {
    SEXTANT_RETURN_IF_ERROR(call.work.Spend(kStepsARun));
    v1::PlannedRun& planned = *out->add_runs();
    absl::StatusOr<std::string> rates =
        AnswerRun(request, i, resolver, call.work, call.metrics, planned.mutable_plan());
    if (rates.ok()) {
      planned.set_rates_fingerprint(*std::move(rates));
      continue;
    }
    SEXTANT_RETURN_IF_ERROR(call.work.Spend(0));  // the call's own end, not the run's
    planned.clear_plan();
    *planned.mutable_status() =
        ToRpcStatus(BelowField(rates.status(), absl::StrCat("runs[", i, "]")), "");
  }
  return absl::OkStatus();
}

constexpr absl::Duration kProgressInterval = absl::Milliseconds(500);

bool Searches(const v1::PlanRunRequest& request) {
  return request.options().search() > v1::LAYOUT_SEARCH_NONE || SearchesByDefault(request);
}

// Larger requests than for any model in use may take milliseconds, and so may measurements, which
// are read and checked where they are new.
constexpr size_t kMaxBytesInline = 16'384;
constexpr int kMaxKindsInline = 16;  // of layers

// True where few changes could make a layout fit: experts can be divided in many ways.
bool IsShortModel(const v1::ModelSpec& model) {
  if (model.has_transformer()) return true;
  if (model.preset().empty()) return false;
  const auto preset = FindModelPreset(model.preset());
  return !preset.ok() || !HasExperts((*preset)->architecture);
}

bool HasMeasurements(const v1::ClusterSpec& cluster) { return cluster.device().has_calibrations(); }

}  // namespace

bool IsShort(const v1::PlanRunRequest& request) {
  constexpr double kMaxChunks = 16;
  constexpr double kMaxTokens = 1 << 20;  // of a micro-batch
  if (Searches(request) || HasMeasurements(request.cluster()) ||
      request.cluster().device().has_fleet() || request.ByteSizeLong() > kMaxBytesInline ||
      request.model().architecture().layer_kinds_size() > kMaxKindsInline) {
    return false;
  }
  if (!request.has_layout()) return true;
  const v1::ParallelLayout& sizes = request.layout().parallel();
  const double chunks = static_cast<double>(std::max(sizes.pipeline_parallel_size(), int64_t{1})) *
                        static_cast<double>(std::max(sizes.virtual_stage_count(), int64_t{1}));
  const double tokens =
      static_cast<double>(request.training().sequence_length()) *
      static_cast<double>(std::max(request.layout().micro_batch_size(), int64_t{1}));
  return IsShortModel(request.model()) && chunks <= kMaxChunks && tokens <= kMaxTokens &&
         request.cluster().device().has_accelerator() && !request.options().include_ledger() &&
         !request.options().include_operations();
}

bool IsShort(const v1::AllocateComputeRequest& request) {
  const v1::DeviceSelector& device = request.cluster().device();
  return !device.has_calibrations() && !device.has_fleet();
}

template <typename Request, typename Response>
Rpc PlanningService::OnSearches(LongAnswer<Request, Response>* answer) {
  return AnsweredBy<Request, Response>(
      [this, answer](const CallContext& context, const Request& in, Response* out) {
        const std::shared_ptr<const CalibrationSnapshot> host = options_.calibrations();
        const auto end = [&context] { return EndAfterTurn(context); };
        CallWork work(end);
        const LongCall call = {
            .work = work, .end = end, .workers = *options_.searches, .metrics = metrics_};
        return answer(in, FinderOf(*host), call, out);
      },
      OnWorker<>{options_.searches, options_.fleet});
}

PlanningService::PlanningService(Metrics& metrics, PlanningOptions options)
    : Service("sextant.v1.PlanningService", metrics, options.calls),
      metrics_(metrics),
      options_(std::move(options)) {
  const auto plan = [this](const CallContext& context, const v1::PlanRunRequest& in,
                           v1::PlanRunResponse* out) { return Answer(in, context, nullptr, out); };
  Add(AnsweredBy<v1::PlanRunRequest, v1::PlanRunResponse>(
      plan, [this](const v1::PlanRunRequest& in, const Call& call, auto then) {
        if (IsShort(in)) return then(absl::OkStatus());
        OnWorker<>{&PoolOf(in), options_.fleet}(in, call, std::move(then));
      }));
  Add({v1::PlanRunRequest::descriptor(), v1::WatchPlanRunResponse::descriptor(),
       StreamHandler([this](Method& method, StreamTransport& transport) {
         return WatchPlanRun(method, transport);
       })});
  Add(OnSearches(AnswerBatch));
  Add(OnSearches(AnswerSizeCluster));
  Add(OnSearches(AnswerSizeModel));
  Add(AnsweredBy(this, &PlanningService::Allocate,
                 OnWorker{options_.workers, options_.fleet,
                          [](const v1::AllocateComputeRequest& in) { return IsShort(in); }}));
  Add(AnsweredBy(ImportRun, OnWorker<>{options_.workers}));
  Add(AnsweredBy(AnswerExport, OnWorker<>{options_.workers}));
  Add({v1::AdmitRequest::descriptor(), v1::AdmitResponse::descriptor(),
       UnaryHandler(
           [this](Method& method, UnaryTransport& transport) { Admit(method, transport); })});
}

absl::Status PlanningService::Answer(const v1::PlanRunRequest& request, const CallContext& context,
                                     const SearchWatch& watch, v1::PlanRunResponse* response) {
  // Held to the end: the run's texts point into it.
  const std::shared_ptr<const CalibrationSnapshot> host = options_.calibrations();
  FieldViolations violations;
  CheckPlanNumbers(request, violations);
  const RunSpec run = RunSpecFrom(request, FinderOf(*host), violations);
  const auto end = [&context] { return EndAfterTurn(context); };
  CallWork work(end);
  SEXTANT_ASSIGN_OR_RETURN(*response->mutable_rates_fingerprint(),
                           AnswerPlan({.request = request,
                                       .run = run,
                                       .violations = std::move(violations),
                                       .workers = options_.searches,
                                       .end = end,
                                       .watch = watch},
                                      work, metrics_, response->mutable_plan()));
  return absl::OkStatus();
}

WorkerPool& PlanningService::PoolOf(const v1::PlanRunRequest& request) const {
  if (!Searches(request)) return *options_.workers;
  const bool is_short = request.options().search() <= v1::LAYOUT_SEARCH_BOUNDED;
  return is_short ? *options_.short_searches : *options_.searches;
}

DeviceFinder PlanningService::FinderOf(const CalibrationSnapshot& host) const {
  return DeviceFinder({.supplied = *options_.supplied,
                       .host = host,
                       .now = options_.now(),
                       .fleet = options_.fleet});
}

SearchWatch PlanningService::SendingTo(StreamCall* call, const v1::PlanRunRequest& request) const {
  return [this, call, &request, sent = options_.now()](const SearchProgress& progress) mutable {
    const absl::Time now = options_.now();
    if (now - sent < kProgressInterval) return;
    sent = now;
    v1::WatchPlanRunResponse event;
    SearchProgressTo(progress, request, event.mutable_progress());
    call->Send(event, true).IgnoreError();  // the answer comes without it, too
  };
}

std::unique_ptr<StreamCall> PlanningService::WatchPlanRun(Method& method,
                                                          StreamTransport& transport) {
  // Whoever searches asks for the call's end.
  auto call = std::make_unique<StreamCall>(method, transport, [] {});
  call->WhenReadable([this, its = call.get()] { Watch(its); });
  return call;
}

void PlanningService::Watch(StreamCall* call) {
  const auto request = std::make_shared<v1::PlanRunRequest>();
  absl::Status readable = call->admission();
  if (readable.ok()) readable = Decode(call->request(), request.get());
  if (!readable.ok()) return call->End(readable);
  const auto finish = [this, call, request](absl::Status status) {
    v1::WatchPlanRunResponse event;
    v1::PlanRunResponse& answer = *event.mutable_answer();
    if (status.ok()) {
      status = Answer(*request, call->call().context(), SendingTo(call, *request), &answer);
    }
    answer.set_engine_version(std::string(EngineVersion()));
    if (status.ok()) status = call->Send(event, false);
    call->End(status);
  };
  AfterFleet(options_.fleet, DevicesOf(*request), call->call().context().deadline(),
             [this, call, request, finish] { PostCall(call->call(), PoolOf(*request), finish); });
}

absl::Status PlanningService::Allocate(const CallContext&,
                                       const v1::AllocateComputeRequest& request,
                                       v1::AllocateComputeResponse* response) {
  FieldViolations violations;
  // Held to the end: the budget's texts point into it.
  const std::shared_ptr<const CalibrationSnapshot> host = options_.calibrations();
  const AllocationSpec spec = AllocationSpecFrom(request, FinderOf(*host), violations);
  SEXTANT_ASSIGN_OR_RETURN(ComputeAllocation allocation,
                           sextant::AllocateCompute(spec, std::move(violations)));
  ComputeAllocationTo(std::move(allocation), response);
  return absl::OkStatus();
}

void PlanningService::Admit(Method& method, UnaryTransport& transport) {
  const auto admission =
      std::make_shared<Admission>(transport, AdmitTools{.metrics = &metrics_,
                                                        .calibrations = options_.calibrations,
                                                        .now = options_.now,
                                                        .supplied = options_.supplied,
                                                        .fleet = options_.fleet});
  AnswerAfter<v1::AdmitRequest, v1::AdmitResponse>(
      method, transport,
      [this, admission](const v1::AdmitRequest& in, const Call& call, auto then) {
        const std::string turn = call.Turn();  // the call may end below
        admission->Read(in);
        const v1::PlanRunRequest& run = admission->question().run;
        if (!admission->is_decided() && IsShort(run)) admission->Plan(absl::OkStatus());
        const bool waits = !admission->is_decided();
        admission->WhenDecided([then] { then(absl::OkStatus()); });
        if (!waits) return;
        // A decided one is gone long before its alarm.
        alarms_.At(admission->end(), [weak = std::weak_ptr<Admission>(admission)] {
          if (const auto late = weak.lock(); late != nullptr) late->EndBudget();
        });
        const auto deadline = std::chrono::system_clock::now() +
                              (admission->end() - std::chrono::steady_clock::now());
        AfterFleet(options_.fleet, DevicesOf(run), deadline, [this, turn, admission] {
          PostWork(
              turn, PoolOf(admission->question().run), [] { return absl::OkStatus(); },
              [admission](const absl::Status& ready) { admission->Plan(ready); });
        });
      },
      [admission](const v1::AdmitRequest& in, v1::AdmitResponse* out) {
        return admission->Take(in.caller(), out);
      });
}

}  // namespace sextant::server
