#include "engine/run/step_plan.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/model/block/mixer_block.h"

namespace sextant {
namespace {

// The stages of one device.
struct DeviceStages {
  absl::string_view uuid = "";
  std::vector<StageTime> times = {};
  Seconds slowest = {};         // stage's kernels of a micro-batch
  ComputeEstimate listed = {};  // where operations are asked for
  // The slowest stage's.
  std::vector<KernelTimeShare> sources = {};
  std::vector<LongOperation> longest = {};  // in a full answer
};

// A condition of an overlap, in words, and the field that gives it.
struct NeedWords {
  absl::string_view words;
  absl::string_view field;
};

NeedWords WordsOf(OverlapNeed need) {
  switch (need) {
    case OverlapNeed::kSequenceParallel:
      return {"with layout.sequence_parallel", "layout.sequence_parallel"};
    case OverlapNeed::kDualPipe:
      return {"under layout.schedule dualpipe, on several stages", "layout.schedule"};
    case OverlapNeed::kDistributedOptimizer:
      return {"where layout.sharding.zero_stage divides the optimizer's state",
              "layout.sharding.zero_stage"};
    case OverlapNeed::kNothing:
      break;
  }
  return {};
}

// Plans the step of one run.
class StepPlanner {
 public:
  StepPlanner(const RunSpec& run, const ResolvedRun& resolved, CallWork& work)
      : run_(run), resolved_(resolved), job_(resolved.memory->job()), work_(work) {}

  absl::StatusOr<StepAnswer> Plan() {
    const MissingField missing = MissingForStep(run_, resolved_);
    if (!missing.field.empty()) {
      NotPredicted(missing);
      if (!run_.options.include_operations) return std::move(out_);
    }
    SEXTANT_ASSIGN_OR_RETURN(predictor_, StepPredictor::Of(run_, resolved_, work_));
    if (predictor_->devices().empty()) return Untimed(missing.field.empty());
    const ExchangePricer exchanges = predictor_->ExchangesOf(job_);
    absl::optional<DeviceStages> slowest;
    absl::optional<DeviceStages> next;
    const int64_t before = work_.steps();
    for (const StepPredictor::Device& device : predictor_->devices()) {
      SEXTANT_ASSIGN_OR_RETURN(absl::optional<DeviceStages> one, StagesOn(device, exchanges));
      if (!slowest.has_value()) SEXTANT_RETURN_IF_ERROR(CheckDevices(work_.steps() - before));
      if (!slowest.has_value() || one->slowest > slowest->slowest) std::swap(slowest, one);
      if (one.has_value() && (!next.has_value() || one->slowest > next->slowest)) {
        next = std::move(one);
      }
    }
    if (run_.options.include_operations) AddOperations(*slowest);
    if (missing.field.empty()) {
      SEXTANT_RETURN_IF_ERROR(AddStep(exchanges, *std::move(slowest), next));
      out_.predictor = std::move(predictor_);
    }
    return std::move(out_);
  }

 private:
  void NotPredicted(const MissingField& missing) {
    AddNote(out_.notes, NoteKind::kStepNotPredicted,
            absl::StrCat("The time of a step is not predicted: ", missing.why, "."), missing.field);
  }

  StepAnswer Untimed(bool step) {
    constexpr char kUnknown[] =
        "times of matrix products, attention or memory passes are unknown on the device in the "
        "run's types";
    if (step) NotPredicted({"training.precision.compute_data_type", kUnknown});
    if (run_.options.include_operations) {
      AddNote(out_.notes, NoteKind::kOperationsNotTimed,
              absl::StrCat("Operations are not listed: ", kUnknown, "."),
              "training.precision.compute_data_type");
    }
    return std::move(out_);
  }

  absl::StatusOr<absl::optional<DeviceStages>> StagesOn(const StepPredictor::Device& device,
                                                        const ExchangePricer& exchanges) {
    const ComputeInput compute = predictor_->ComputeOf(*resolved_.memory);
    const StageTimeInput input = predictor_->StagesOf(compute, device, exchanges);
    PricedOperations priced(device.pricer);
    ModelOperations operations(compute, priced);
    DeviceStages out = {.uuid = device.uuid()};
    SEXTANT_RETURN_IF_ERROR(AppendStageTimes(input, operations, work_, out.times));
    const StageTime& slowest = SlowestStage(out.times);
    out.slowest = Seconds(slowest.kernels());
    out.sources = KernelTimeSharesOf(slowest, device.pricer);
    if (run_.options.full) {
      const StageCompute listed = ComputeOf(compute, operations, slowest.first_stage);
      const PricedStage priced_stage = {compute.spec, listed, device.pricer, exchanges};
      out.longest = LongestOperations(priced_stage, kLongestOperations);
    }
    if (run_.options.include_operations) {
      SEXTANT_RETURN_IF_ERROR(ListOperations(input, operations, out));
    }
    return absl::make_optional(std::move(out));
  }

  absl::Status ListOperations(const StageTimeInput& input, ModelOperations& operations,
                              DeviceStages& out) const {
    size_t count = 0;
    for (const StageTime& time : out.times) {
      StageCompute stage = ComputeOf(input.compute, operations, time.first_stage);
      stage.stage_count = time.stage_count;
      const PricedStage priced = {input.compute.spec, stage, input.pricer, input.exchanges};
      for (TimedOperation& each : stage.operations) {
        if (KernelKindOf(each.op).has_value()) continue;
        each.time.low = each.time.expected = each.time.high = ExchangeSeconds(priced, each);
      }
      count += stage.operations.size() + stage.step_operations.size();
      if (count > kMaxOperations) return TooMany();
      out.listed.stages.push_back(std::move(stage));
    }
    out.listed.sources = input.pricer.sources();
    return absl::OkStatus();
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
         .text = absl::StrFormat(
             "The host takes %.3g s to start the %d kernels of a micro-batch on stage %d, the "
             "device %.3g s to run them: larger micro-batches or captured graphs help.",
             stage.host.seconds.expected.value(), stage.host.launches, stage.first_stage,
             stage.micro_batch.expected.value()),
         .values = {{"launch_count", stage.host.launches},
                    {"host_seconds", stage.host.seconds.expected.value()},
                    {"device_seconds", stage.micro_batch.expected.value()}},
         .fields = {"layout.micro_batch_size", "layout.framework.captured_graphs"}});
  }

  // Refuses what the plan's allowance leaves no steps for, where one device took `each`.
  absl::Status CheckDevices(int64_t each) const {
    const auto count = static_cast<int64_t>(predictor_->devices().size());
    const int64_t stages = resolved_.memory->stage_count();
    if (work_.left() < 0) {
      return InvalidField(
          "layout.parallel.pipeline_parallel_size",
          absl::StrCat(
              "is ", stages,
              ", of too many kinds of layers to predict together with all else: give fewer"));
    }
    if ((count - 1) * each <= work_.left()) return absl::OkStatus();
    return InvalidField(
        run_.cluster.device.ListField("cluster.device"),
        absl::StrCat("has ", count, " devices, on which it takes too long to predict ", stages,
                     " stages: give at most ", 1 + work_.left() / each,
                     ", the slowest, or fewer stages or kinds of layers"));
  }

  absl::Status AddStep(const ExchangePricer& exchanges, DeviceStages slowest,
                       const absl::optional<DeviceStages>& next) {
    const StepInput input = predictor_->StepOf(job_, exchanges, slowest.times);
    StepPlan& step = out_.step.emplace();
    step.estimate = EstimateStep(input);
    if (run_.options.full) AddSensitivities(input, step.estimate);
    if (next.has_value()) AddSlowest(input, slowest, *next, step);
    step.longest_operations = std::move(slowest.longest);
    step.kernel_sources = std::move(slowest.sources);
    const auto count = static_cast<double>(job_.pipeline.micro_batch_count);
    const bool halves = job_.pipeline.schedule == PipelineSchedule::kDualPipe;
    for (LongOperation& each : step.longest_operations) {
      each.seconds = each.seconds * (halves ? count / 2 : count);
    }
    step.software = input.software;
    step.token_count = *run_.layout->global_batch_size * job_.batch.sequence_length;
    if (exchanges.node_count() > 1) AddAssumedNodes();
    AddPublishedStack();
    AddMixers();
    if (run_.options.assumptions) AddStepNotes(exchanges);
    const bool again = run_.options.full && step.estimate.simulated_passes <= kMaxSensitivityPasses;
    return work_.Spend(EstimateSteps(input, step.estimate) *
                       (again ? 1 + static_cast<int64_t>(kStepRateCount) : 1));
  }

  void AddAssumedNodes() {
    const ClusterSpec& cluster = run_.cluster;
    if (!cluster.node_is_assumed && !cluster.network_is_assumed) return;
    Note note = {.kind = NoteKind::kNodesAssumed, .text = ""};
    std::vector<std::string> assumed;
    if (cluster.node_is_assumed) {
      assumed.push_back(
          absl::StrCat(cluster.node_type, ", the usual server of ", resolved_.device_name));
      note.names.emplace_back(cluster.node_type);
      note.fields.emplace_back("cluster.node_type");
    }
    if (cluster.network_is_assumed) {
      assumed.push_back(
          absl::StrCat(cluster.network.name, ", the usual network of ", cluster.node_type));
      note.names.emplace_back(cluster.network.name);
      note.fields.emplace_back("cluster.network.name");
    }
    note.text = absl::StrCat(
        "Assumed, since the request says nothing of it: ", absl::StrJoin(assumed, "; "), ". Give ",
        absl::StrJoin(note.fields, " and "), " where they are others.");
    out_.notes.push_back(std::move(note));
  }

  static void AddSlowest(const StepInput& input, const DeviceStages& slowest,
                         const DeviceStages& next, StepPlan& step) {
    StepInput without = input;
    without.stages = next.times;
    const Seconds seconds = EstimateStep(without).seconds.expected;
    const double saved = 1 - seconds.value() / step.estimate.seconds.expected.value();
    if (saved > 0) step.slowest = {.uuid = std::string(slowest.uuid), .saved_share = saved};
  }

  void AddStepNotes(const ExchangePricer& exchanges) {
    std::string servers = "one device";
    if (run_.cluster.device_count > 1) {
      servers = absl::StrCat(exchanges.node_count(), " x ", resolved_.node->name);
      if (exchanges.node_count() > 1) {
        absl::StrAppend(&servers, " over ", resolved_.network->citation);
      }
    }
    out_.notes.push_back(
        {NoteKind::kStepAssumed,
         absl::StrCat("A step runs on ", servers, ", with ", out_.step->software.stack->title,
                      "; ranks fill servers in the order tensor, context, data, pipeline parallel; "
                      "data loading, checkpoints and evaluation are left out.")});
    AddWithheldNotes();
    const std::vector<std::string> open = predictor_->OpenFields(job_);
    if (open.empty()) return;
    Note note = {.kind = NoteKind::kStepOpen,
                 .text = absl::StrCat("The run may be slower than expected, since it leaves open ",
                                      absl::StrJoin(open, " and "), ".")};
    note.fields.assign(open.begin(), open.end());
    out_.notes.push_back(std::move(note));
  }

  // Exchanges that the stack would hide under another layout.
  void AddWithheldNotes() {
    constexpr struct {
      StackConstant constant;
      StepCause cause;
      absl::string_view exchanges;
    } kHidden[] = {
        {StackConstant::kTensorExchangeExposure, StepCause::kTensorExchange,
         "of tensor parallel ranks"},
        {StackConstant::kExpertExchangeExposure, StepCause::kExpertExchange, "among experts"},
        {StackConstant::kDataExchangeOverlap, StepCause::kDataExchange, "of data parallel ranks"}};
    const StepPlan& step = *out_.step;
    for (const auto& [constant, cause, exchanges] : kHidden) {
      if (!step.software.IsWithheld(constant) || step.estimate.of(cause) == 0) continue;
      const SoftwareStack& stack = *step.software.stack;
      const auto [words, field] = WordsOf(stack.of(constant).needs);
      AddNote(out_.notes, NoteKind::kStepAssumed,
              absl::StrCat("Exchanges ", exchanges, " take all their time: ", stack.name,
                           " hides them only ", words, "."),
              field);
    }
  }

  // The stack of a published run of this model on these devices, where the request names no
  // software.
  void AddPublishedStack() {
    if (run_.layout->framework.named || !run_.layout->software.name.empty()) return;
    const PublishedStack* const known =
        PublishedStackOf(resolved_.model_name, resolved_.device_name);
    if (known == nullptr) return;
    Note note = {.kind = NoteKind::kSoftwarePublished,
                 .text = absl::StrCat("The published run of ", known->model, " on ",
                                      known->accelerator, " used other software (", known->source,
                                      "): give layout.software.name = ", known->stack),
                 .fields = {"layout.software.name"}};
    if (!known->with.empty()) absl::StrAppend(&note.text, " with ", known->with);
    absl::StrAppend(&note.text, " to predict that.");
    out_.notes.push_back(std::move(note));
  }

  // Mixers whose recurrences were never measured.
  void AddMixers() {
    Note note = {.kind = NoteKind::kMixersNotMeasured, .text = ""};
    for (const LayerSpec& layer : resolved_.memory->spec().layer_kinds) {
      if (!layer.mixer.has_value() || !HasHeads(*layer.mixer)) continue;
      std::string name(MixerName(layer.mixer->kind));
      if (absl::c_linear_search(note.names, name)) continue;
      note.names.push_back(std::move(name));
    }
    if (note.names.empty()) return;
    note.text = absl::StrCat("No kernel was measured for the recurrence of ",
                             absl::StrJoin(note.names, " and "),
                             ": its time is that of the products and passes of published kernels, "
                             "and the interval is wider for it.");
    out_.notes.push_back(std::move(note));
  }

  const RunSpec& run_;
  const ResolvedRun& resolved_;
  const MemoryJob& job_;
  CallWork& work_;
  std::unique_ptr<const StepPredictor> predictor_;
  StepAnswer out_;
};

}  // namespace

absl::StatusOr<StepAnswer> PlanStep(const RunSpec& run, const ResolvedRun& resolved,
                                    CallWork& work) {
  if (!resolved.memory.has_value()) return StepAnswer();
  return StepPlanner(run, resolved, work).Plan();
}

}  // namespace sextant
