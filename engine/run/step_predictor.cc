#include "engine/run/step_predictor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/reference/reference_collectives.h"
#include "engine/memory/state/state_rules.h"
#include "engine/run/job.h"

namespace sextant {
namespace {

// A device that no link joins to another.
constexpr NodeType kLoneDevice = {
    .name = "one device", .product_name = "one device", .device_count = 1};

// The types of the products of `run`. Types below 16 bits are of the layers' matrices alone.
PricedTypes TypesOf(const RunSpec& run, const ResolvedRun& resolved) {
  const DataType compute = resolved.precision.compute_data_type;
  const DataType kept = run.layout->kernels.matmul_input_data_type;
  const bool narrow = IsOfMatricesAlone(compute);
  PricedTypes out = {.compute = narrow ? DataType::kBf16 : compute};
  if (narrow || (kept != DataType::kUnspecified && StorageBytes(kept) < 2)) {
    out.narrow = narrow ? compute : kept;
  }
  if (run.layout->weight_scaling == WeightScaling::kTensor) out.scaling = MatmulScaling::kTensor;
  if (run.layout->weight_scaling == WeightScaling::kBlock) out.scaling = MatmulScaling::kBlock;
  return out;
}

KernelRatios RatiosOf(const SoftwareConstants& software) {
  using Constant = StackConstant;
  KernelRatios out = {.attention = software.of(Constant::kAttentionTimeRatio),
                      .memory_pass = software.of(Constant::kMemoryPassTimeRatio),
                      .dispatch = software.of(Constant::kOneCopyPerNode) > 0 ? 0.0 : 1.0,
                      .narrow_product = software.of(Constant::kNarrowProductTimeRatio),
                      .expert = software.ExpertTimeRatio(false),
                      .narrow_expert = software.ExpertTimeRatio(true),
                      .optimizer = software.of(Constant::kOptimizerTimeRatio),
                      .gradient_overlap = software.of(Constant::kGradientAdditionOverlap)};
  const auto given = [&](Constant constant) {
    return software.given[static_cast<size_t>(constant)];
  };
  out.sustained = given(Constant::kSustainedTimeRatio);
  out.narrow_sustained = given(Constant::kNarrowSustainedTimeRatio);
  out.misaligned_product = given(Constant::kMisalignedProductTimeRatio);
  out.misaligned_head = given(Constant::kMisalignedHeadTimeRatio);
  return out;
}

OverlapConditions OverlapConditionsOf(const MemoryJob& job) {
  return {.sequence_parallel = job.batch.sequence_parallel,
          .dual_pipe = job.pipeline.schedule == PipelineSchedule::kDualPipe &&
                       job.layout.pipeline_parallel_size > 1,
          .distributed_optimizer = DividesOptimizer(job.state.sharding)};
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

}  // namespace

MissingField MissingForStep(const RunSpec& run, const ResolvedRun& resolved) {
  if (!run.layout->global_batch_size.has_value()) {
    return {"layout.global_batch_size", "give layout.global_batch_size, the sequences of a step"};
  }
  if (run.training.optimizer.kind == OptimizerKind::kGalore) {
    return {"training.optimizer.kind",
            "the decompositions of GaLore's gradients are not timed: choose another kind for the "
            "time of a step"};
  }
  const int64_t devices = run.cluster.device_count;
  if (devices > 1 && resolved.node == nullptr) {
    return {"cluster.node_type",
            "no kind of server with these devices is known: give cluster.node_type"};
  }
  const bool crosses = resolved.node != nullptr && devices > resolved.node->device_count;
  if (crosses && !resolved.network.has_value()) {
    return {"cluster.network",
            absl::StrCat(devices, " devices are more than one ", resolved.node->name,
                         ": give cluster.network, or the cluster.node_type of servers that are "
                         "sold with one")};
  }
  return run.layout->sharding.offload_optimizer ? MissingForOffload(resolved) : MissingField();
}

MissingField MissingForOffload(const ResolvedRun& resolved) {
  constexpr absl::string_view kOr =
      ", or the cluster.node_type of servers of which it is known, for the time of offloaded state";
  if (resolved.host.link.value() <= 0) {
    return {"cluster.host_link_bytes_per_second",
            absl::StrCat("the devices' link to their host is not known: give "
                         "cluster.host_link_bytes_per_second",
                         kOr)};
  }
  if (resolved.host.update.value() <= 0) {
    return {"cluster.host_memory_bytes_per_second",
            absl::StrCat("the rate of the host's memory is not known: give "
                         "cluster.host_memory_bytes_per_second",
                         kOr)};
  }
  return {};
}

absl::string_view StepPredictor::Device::uuid() const {
  return placed.model == nullptr ? absl::string_view() : placed.model->calibration().uuid;
}

absl::StatusOr<std::unique_ptr<const StepPredictor>> StepPredictor::Of(const RunSpec& run,
                                                                       const ResolvedRun& resolved,
                                                                       CallWork& work) {
  std::unique_ptr<StepPredictor> out(new StepPredictor(run, resolved));
  SEXTANT_RETURN_IF_ERROR(out->FindLinks());
  SEXTANT_RETURN_IF_ERROR(out->FindDevices(work));
  return out;
}

StepPredictor::StepPredictor(const RunSpec& run, const ResolvedRun& resolved)
    : run_(run),
      resolved_(resolved),
      types_(TypesOf(run, resolved)),
      software_(ConstantsOf(run.layout->software,
                            run.layout->framework.named ? &run.layout->framework.kind : nullptr,
                            resolved.generation)),
      fused_projections_(run.layout->framework.fused_projections.value_or(
          run.layout->framework.traits().fused_projections.value)),
      has_experts_(HasExperts(*resolved.shape.architecture)) {}

absl::Status StepPredictor::FindLinks() {
  SEXTANT_ASSIGN_OR_RETURN(measured_, MeasuredLinksOf(run_.cluster.device.models()));
  const NodeType* const node = resolved_.node != nullptr ? resolved_.node : &kLoneDevice;
  const CollectiveModel* const own =
      measured_.collectives.has_value() ? &*measured_.collectives : nullptr;
  links_.emplace(node,
                 std::vector<const CollectiveModel*>{own, ReferenceCollectives(node->collectives)},
                 resolved_.network);
  return absl::OkStatus();
}

absl::Status StepPredictor::FindDevices(CallWork& work) {
  const bool measured = !run_.cluster.device.models().empty();
  for (const PlacedDevice& device : DevicesOf(run_, resolved_)) {
    if (measured) SEXTANT_RETURN_IF_ERROR(work.SpendApart(kStepsAFit));
    SEXTANT_ASSIGN_OR_RETURN(absl::optional<OperationPricer> pricer,
                             OperationPricer::Of(device, types_, RatiosOf(software_)));
    if (!pricer.has_value()) {
      devices_.clear();
      break;
    }
    devices_.push_back({device, *std::move(pricer)});
  }
  return absl::OkStatus();
}

ComputeInput StepPredictor::ComputeOf(const MemoryModel& model) const {
  return {.spec = model.spec(),
          .model = model,
          .types = types_,
          .fused_projections = fused_projections_,
          .captured_graphs = run_.layout->framework.captured_graphs,
          .launch_seconds = software_.of(StackConstant::kKernelLaunchSeconds)};
}

ExchangePricer StepPredictor::ExchangesOf(const MemoryJob& job) const {
  return {*links_, job, software_.of(StackConstant::kOneCopyPerNode) > 0};
}

StageTimeInput StepPredictor::StagesOf(const ComputeInput& compute, const Device& device,
                                       const ExchangePricer& exchanges) const {
  return {.compute = compute,
          .pricer = device.pricer,
          .exchanges = exchanges,
          .all_reduces_gradients = software_.of(StackConstant::kAllReducesGradients) > 0,
          .host = resolved_.host};
}

absl::StatusOr<std::vector<StageTime>> StepPredictor::SlowestStages(const MemoryModel& model,
                                                                    const ExchangePricer& exchanges,
                                                                    CallWork& work) const {
  const ComputeInput compute = ComputeOf(model);
  std::vector<StageTime> out;
  double longest = -1;
  for (const Device& device : devices_) {
    PricedOperations priced(device.pricer);
    ModelOperations operations(compute, priced);
    std::vector<StageTime> times;
    SEXTANT_RETURN_IF_ERROR(
        AppendStageTimes(StagesOf(compute, device, exchanges), operations, work, times));
    const double slowest = SlowestStage(times).kernels();
    if (slowest <= longest) continue;
    longest = slowest;
    out = std::move(times);
  }
  return out;
}

StepInput StepPredictor::StepOf(const MemoryJob& job, const ExchangePricer& exchanges,
                                absl::Span<const StageTime> stages) const {
  return {.job = job,
          .software = software_.Under(OverlapConditionsOf(job)),
          .exchanges = exchanges,
          .stages = stages,
          .send_bytes = SendBytes(job),
          .step_class = ClassOf(job)};
}

// The output of a layer for all tokens of a micro-batch on a rank.
// Source: Narayanan et al. 2021 (arXiv 2104.04473) section 4.1; with sequence parallelism each
// rank sends its part.
double StepPredictor::SendBytes(const MemoryJob& job) const {
  const MicroBatchSpec& batch = job.batch;
  const double tokens = static_cast<double>(batch.sequence_count * batch.sequence_length) /
                        static_cast<double>(batch.context_parallel_size);
  const auto ranks = static_cast<double>(SequenceRanks(batch, job.layout));
  return tokens * static_cast<double>(resolved_.shape.architecture->hidden_size) *
         static_cast<double>(StorageBytes(batch.compute_data_type)) / ranks;
}

std::vector<std::string> StepPredictor::OpenFields(const MemoryJob& job) const {
  std::vector<std::string> out;
  if (!run_.training.recompute.has_value()) out.push_back("training.recompute");
  if (job.layout.pipeline_parallel_size > 1 &&
      !run_.layout->parallel.virtual_stage_count.has_value() &&
      job.pipeline.schedule == PipelineSchedule::kOneForwardOneBackward) {
    out.push_back("layout.parallel.virtual_stage_count");
  }
  return out;
}

StepClass StepPredictor::ClassOf(const MemoryJob& job) const {
  if (software_.stack->generic) return StepClass::kUnknownStack;
  if (has_experts_) return StepClass::kExperts;
  if (!OpenFields(job).empty()) return StepClass::kOpen;
  return types_.narrow != DataType::kUnspecified ? StepClass::kNarrow : StepClass::kWide;
}

}  // namespace sextant
