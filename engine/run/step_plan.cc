#include "engine/run/step_plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/links/link_times.h"
#include "engine/hardware/measured_links.h"
#include "engine/hardware/reference/reference_collectives.h"
#include "engine/run/job.h"
#include "engine/time/exchange_pricer.h"
#include "engine/time/stage_time.h"

namespace sextant {
namespace {

// A device that no link joins to another.
constexpr NodeType kLoneDevice = {
    .name = "one device", .product_name = "one device", .device_count = 1};

// The types of the products of `run`. Types below 16 bits are of the layers' matrices alone.
PricedTypes TypesOf(const RunSpec& run, const ResolvedRun& resolved) {
  const MemoryJob& job = resolved.memory->job();
  const DataType compute = resolved.precision.compute_data_type;
  const DataType kept = run.layout->kernels.matmul_input_data_type;
  const bool narrow = StorageBytes(compute) < 2 && compute != DataType::kTf32;
  PricedTypes out = {.compute = job.batch.compute_data_type};
  if (narrow || (kept != DataType::kUnspecified && StorageBytes(kept) < 2)) {
    out.narrow = narrow ? compute : kept;
  }
  if (job.state.weight_scaling == WeightScaling::kTensor) out.scaling = MatmulScaling::kTensor;
  if (job.state.weight_scaling == WeightScaling::kBlock) out.scaling = MatmulScaling::kBlock;
  return out;
}

KernelRatios RatiosOf(const SoftwareConstants& software, const ParallelLayout& layout) {
  using Constant = StackConstant;
  const bool dispatches =
      software.of(Constant::kOneCopyPerNode) > 0 && layout.expert_parallel_size > 1;
  KernelRatios out = {.attention = software.of(Constant::kAttentionTimeRatio),
                      .memory_pass = software.of(Constant::kMemoryPassTimeRatio),
                      .dispatch = dispatches ? 0.0 : 1.0,
                      .narrow_product = software.of(Constant::kNarrowProductTimeRatio),
                      .expert = software.ExpertTimeRatio(false),
                      .narrow_expert = software.ExpertTimeRatio(true)};
  const auto given = [&](Constant constant) {
    return software.given[static_cast<size_t>(constant)];
  };
  out.sustained = given(Constant::kSustainedTimeRatio);
  out.narrow_sustained = given(Constant::kNarrowSustainedTimeRatio);
  return out;
}

std::vector<PlacedDevice> DevicesOf(const RunSpec& run, const ResolvedRun& resolved) {
  const DeviceSelection& selected = run.cluster.device;
  const std::vector<const DeviceModel*> models = selected.models();
  std::vector<PlacedDevice> out = PlacementOf(models, selected.source()).devices;
  if (out.empty() && resolved.accelerator != nullptr) {
    out.push_back(PlacedProduct(*resolved.accelerator));
  }
  return out;
}

// The stages of one device.
struct DeviceStages {
  absl::string_view uuid = "";  // empty: not measured
  std::vector<StageTime> times = {};
  ComputeEstimate listed = {};              // where operations are asked for
  Seconds slowest = {};                     // of a micro-batch's kernels
  std::vector<LongOperation> longest = {};  // of that stage, in a full answer
};

// Plans the step of one run.
class StepPlanner {
 public:
  StepPlanner(const RunSpec& run, const ResolvedRun& resolved, CallWork& work)
      : run_(run),
        resolved_(resolved),
        job_(resolved.memory->job()),
        work_(work),
        types_(TypesOf(run, resolved)),
        software_(ConstantsOf(run.layout->software,
                              run.layout->framework.named ? &run.layout->framework.kind : nullptr,
                              resolved.generation)) {}

  absl::StatusOr<StepAnswer> Plan() {
    const Missing missing = FindMissing();
    if (!missing.field.empty()) {
      NotPredicted(missing);
      if (!run_.options.include_operations) return std::move(out_);
    }
    SEXTANT_RETURN_IF_ERROR(FindLinks());
    const ExchangePricer exchanges(*links_, job_, software_.of(StackConstant::kOneCopyPerNode) > 0);
    absl::optional<DeviceStages> slowest;
    absl::optional<DeviceStages> next;
    for (const PlacedDevice& device : DevicesOf(run_, resolved_)) {
      SEXTANT_ASSIGN_OR_RETURN(absl::optional<DeviceStages> one, StagesOn(device, exchanges));
      if (!one.has_value()) {
        slowest.reset();
        break;
      }
      if (!slowest.has_value() || one->slowest > slowest->slowest) std::swap(slowest, one);
      if (one.has_value() && (!next.has_value() || one->slowest > next->slowest)) {
        next = std::move(one);
      }
    }
    if (!slowest.has_value()) return Untimed(missing.field.empty());
    if (run_.options.include_operations) AddOperations(*slowest);
    if (missing.field.empty()) AddStep(exchanges, *slowest, next);
    return std::move(out_);
  }

 private:
  bool crosses_nodes() const {
    return resolved_.node != nullptr && run_.cluster.device_count > resolved_.node->device_count;
  }

  // The field of the request that keeps the step from being predicted.
  struct Missing {
    std::string field = {};  // empty: none does
    std::string why = {};
  };
  Missing FindMissing() const {
    if (!run_.layout->global_batch_size.has_value()) {
      return {"layout.global_batch_size", "give layout.global_batch_size, the sequences of a step"};
    }
    if (run_.cluster.device_count > 1 && resolved_.node == nullptr) {
      return {"cluster.node_type",
              "no kind of server with these devices is known: give cluster.node_type"};
    }
    if (crosses_nodes() && !resolved_.network.has_value()) {
      return {"cluster.network",
              absl::StrCat(run_.cluster.device_count, " devices are more than one ",
                           resolved_.node->name,
                           ": give cluster.network, or the cluster.node_type of servers that are "
                           "sold with one")};
    }
    return {};
  }

  void NotPredicted(const Missing& missing) {
    out_.notes.push_back(
        {.kind = NoteKind::kStepNotPredicted,
         .text = absl::StrCat("The time of a step is not predicted: ", missing.why, "."),
         .fields = {missing.field}});
  }

  StepAnswer Untimed(bool step) {
    constexpr char kUnknown[] =
        "times of matrix products, attention or memory passes are unknown on the device in the "
        "run's types";
    if (step) NotPredicted({"training.precision.compute_data_type", kUnknown});
    if (run_.options.include_operations) {
      out_.notes.push_back({.kind = NoteKind::kOperationsNotTimed,
                            .text = absl::StrCat("Operations are not listed: ", kUnknown, "."),
                            .fields = {"training.precision.compute_data_type"}});
    }
    return std::move(out_);
  }

  absl::Status FindLinks() {
    SEXTANT_ASSIGN_OR_RETURN(measured_, MeasuredLinksOf(run_.cluster.device.models()));
    const NodeType* const node = resolved_.node != nullptr ? resolved_.node : &kLoneDevice;
    const CollectiveModel* const own =
        measured_.collectives.has_value() ? &*measured_.collectives : nullptr;
    links_.emplace(
        node, std::vector<const CollectiveModel*>{own, ReferenceCollectives(node->collectives)},
        resolved_.network);
    return absl::OkStatus();
  }

  ComputeInput Compute() const {
    const FrameworkSpec& framework = run_.layout->framework;
    return {.spec = resolved_.counted_shape(),
            .model = *resolved_.memory,
            .types = types_,
            .fused_projections =
                framework.fused_projections.value_or(framework.traits().fused_projections.value),
            .captured_graphs = framework.captured_graphs};
  }

  absl::StatusOr<absl::optional<DeviceStages>> StagesOn(const PlacedDevice& device,
                                                        const ExchangePricer& exchanges) {
    SEXTANT_ASSIGN_OR_RETURN(const absl::optional<OperationPricer> pricer,
                             OperationPricer::Of(device, types_, RatiosOf(software_, job_.layout)));
    if (!pricer.has_value()) return absl::optional<DeviceStages>();
    const ComputeInput input = Compute();
    const StageTimeInput stage_input = {
        .spec = input.spec,
        .model = input.model,
        .exchanges = exchanges,
        .sources = pricer->sources(),
        .all_reduces_gradients = software_.stack->all_reduces_gradients.value};
    DeviceStages out;
    if (device.model != nullptr) out.uuid = device.model->calibration().uuid;
    size_t operations = 0;
    const auto add = [&](StageCompute stage) -> absl::Status {
      out.times.push_back(StageTimeOf(stage_input, stage));
      const PricedStage priced = {input.spec, stage, *pricer, exchanges};
      if (run_.options.full && stage.micro_batch.expected > out.slowest) {
        out.longest = LongestOperations(priced, kLongestOperations);
      }
      out.slowest = std::max(out.slowest, stage.micro_batch.expected);
      if (!run_.options.include_operations) return absl::OkStatus();
      for (TimedOperation& each : stage.operations) {
        if (KernelKindOf(each.op).has_value()) continue;
        each.time.low = each.time.expected = each.time.high = ExchangeSeconds(priced, each);
      }
      operations += stage.operations.size() + stage.step_operations.size();
      out.listed.stages.push_back(std::move(stage));
      return operations <= kMaxOperations ? absl::OkStatus() : TooMany();
    };
    SEXTANT_RETURN_IF_ERROR(ForEachStageCompute(input, *pricer, work_, add));
    out.listed.sources = {pricer->sources().begin(), pricer->sources().end()};
    return absl::make_optional(std::move(out));
  }

  absl::Status TooMany() const {
    return InvalidField("options.include_operations",
                        absl::StrCat("would list more than ", kMaxOperations, " operations over ",
                                     resolved_.memory->stage_count(),
                                     " stages: leave it out, or plan fewer stages"));
  }

  void AddOperations(DeviceStages& stages) {
    out_.compute = std::move(stages.listed);
    out_.notes.push_back(
        {NoteKind::kOperationsAssumed,
         "Operations run in the kernels of an eager framework whose norms, softmax and activation "
         "functions are one kernel each; positions without a table are rotary; exchanges between "
         "devices are timed alone: what hides them is in the time of the step."});
    for (const StageCompute& stage : out_.compute->stages) {
      if (!stage.host.bound) continue;
      AddHostNote(stage);
      return;
    }
  }

  void AddHostNote(const StageCompute& stage) {
    out_.notes.push_back(
        {.kind = NoteKind::kHostBound,
         .text = absl::StrFormat("The host takes %.3g s to start the %d kernels of a micro-batch "
                                 "on stage %d, the device %.3g s to run them: larger micro-batches "
                                 "or captured graphs help.",
                                 stage.host.seconds.expected.value(), stage.host.launches,
                                 stage.first_stage, stage.micro_batch.expected.value()),
         .values = {{"launch_count", static_cast<double>(stage.host.launches)},
                    {"host_seconds", stage.host.seconds.expected.value()},
                    {"device_seconds", stage.micro_batch.expected.value()}},
         .fields = {"layout.micro_batch_size", "layout.framework.captured_graphs"}});
  }

  // The output of a layer for all tokens of a micro-batch on a rank.
  // Source: Narayanan et al. 2021 (arXiv 2104.04473) section 4.1; with sequence parallelism each
  // rank sends its part.
  double SendBytes() const {
    const MicroBatchSpec& batch = job_.batch;
    const double tokens = static_cast<double>(batch.sequence_count * batch.sequence_length) /
                          static_cast<double>(batch.context_parallel_size);
    const double ranks =
        batch.sequence_parallel ? static_cast<double>(job_.layout.tensor_parallel_size) : 1;
    return tokens * static_cast<double>(resolved_.counted_shape().hidden_size) *
           static_cast<double>(StorageBytes(batch.compute_data_type)) / ranks;
  }

  std::vector<std::string> OpenFields() const {
    std::vector<std::string> out;
    if (!run_.training.recompute_given) out.push_back("training.recompute");
    if (job_.layout.pipeline_parallel_size > 1 && !run_.layout->interleaving_given &&
        job_.pipeline.schedule == PipelineSchedule::kOneForwardOneBackward) {
      out.push_back("layout.parallel.virtual_stage_count");
    }
    return out;
  }

  StepClass ClassOf(bool open) const {
    if (software_.stack->generic) return StepClass::kUnknownStack;
    if (HasExperts(resolved_.counted_shape())) return StepClass::kExperts;
    if (open) return StepClass::kOpen;
    return types_.narrow != DataType::kUnspecified ? StepClass::kNarrow : StepClass::kWide;
  }

  void AddStep(const ExchangePricer& exchanges, const DeviceStages& slowest,
               const absl::optional<DeviceStages>& next) {
    const std::vector<std::string> open = OpenFields();
    const StepInput input = {.job = job_,
                             .software = software_,
                             .exchanges = exchanges,
                             .stages = slowest.times,
                             .send_bytes = SendBytes(),
                             .step_class = ClassOf(!open.empty())};
    StepPlan& step = out_.step.emplace();
    step.estimate = EstimateStep(input);
    if (run_.options.full) AddSensitivities(input, step.estimate);
    if (next.has_value()) AddSlowest(input, slowest, *next, step);
    step.longest_operations = slowest.longest;
    const auto count = static_cast<double>(job_.pipeline.micro_batch_count);
    const bool halves = job_.pipeline.schedule == PipelineSchedule::kDualPipe;
    for (LongOperation& each : step.longest_operations) {
      each.seconds = each.seconds * (halves ? count / 2 : count);
    }
    step.software = software_;
    step.token_count = *run_.layout->global_batch_size * job_.batch.sequence_length;
    AddStepNotes(open, exchanges);
  }

  static void AddSlowest(const StepInput& input, const DeviceStages& slowest,
                         const DeviceStages& next, StepPlan& step) {
    StepInput without = input;
    without.stages = next.times;
    const Seconds seconds = EstimateStep(without).seconds.expected;
    const double saved = 1 - seconds.value() / step.estimate.seconds.expected.value();
    if (saved > 0) step.slowest = {.uuid = std::string(slowest.uuid), .saved_share = saved};
  }

  void AddStepNotes(const std::vector<std::string>& open, const ExchangePricer& exchanges) {
    std::string servers = "one device";
    if (run_.cluster.device_count > 1) {
      servers = absl::StrCat(exchanges.node_count(), " x ", resolved_.node->name);
      if (exchanges.node_count() > 1) {
        absl::StrAppend(&servers, " over ", resolved_.network->citation);
      }
    }
    out_.notes.push_back(
        {NoteKind::kStepAssumed,
         absl::StrCat("A step runs on ", servers, ", with ", software_.stack->title,
                      "; ranks fill servers in the order tensor, context, data, pipeline parallel; "
                      "data loading, checkpoints and evaluation are left out.")});
    if (open.empty()) return;
    Note note = {.kind = NoteKind::kStepOpen,
                 .text = absl::StrCat("The run may be slower than expected, since it leaves open ",
                                      absl::StrJoin(open, " and "), ".")};
    note.fields.assign(open.begin(), open.end());
    out_.notes.push_back(std::move(note));
  }

  const RunSpec& run_;
  const ResolvedRun& resolved_;
  const MemoryJob& job_;
  CallWork& work_;
  const PricedTypes types_;
  const SoftwareConstants software_;
  MeasuredLinks measured_;
  absl::optional<LinkTimes> links_;
  StepAnswer out_;
};

}  // namespace

absl::StatusOr<StepAnswer> PlanStep(const RunSpec& run, const ResolvedRun& resolved,
                                    CallWork& work) {
  if (!resolved.memory.has_value()) return StepAnswer();
  return StepPlanner(run, resolved, work).Plan();
}

}  // namespace sextant
