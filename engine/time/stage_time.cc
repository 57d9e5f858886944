// Adds up a stage's operations. A part of a model, such as a layer of one kind, is traced and
// priced once (WorkTable) and counts as often as the stage has it. The parameters of a rank add
// their exchanges, by ZeRO stage: once a step an all-reduce, or a reduce-scatter and an all-gather;
// under stage 3 gathers and reductions in every micro-batch (StateSums).
//
// Stages in a row with the same layers are computed once. Time is linear in the operations of the
// parts that differ, plus the parts of each stage that is computed.
#include "engine/time/stage_time.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/container/inlined_vector.h"
#include "engine/base/status_macros.h"
#include "engine/memory/state/state_rules.h"

namespace sextant {
namespace {

// Steps of CallWork: to add up a stage and its state, about 2 us, and to trace and to price a part,
// up to 60 us.
constexpr int64_t kStepsAStage = 200;
constexpr int64_t kStepsAPart = 6000;
// The runs of stages that are alike, of most layouts; more are allocated as they come.
constexpr int64_t kUsualRuns = 4;

PassSeconds& PassOf(TracePass pass, WorkSeconds& out) {
  switch (pass) {
    case TracePass::kForward:
      return out.forward;
    case TracePass::kWeightGradient:
      return out.weight_gradient;
    default:
      return out.input_gradient;
  }
}

LinkSeconds& LinksOf(TraceGroup group, PassSeconds& pass) {
  switch (group) {
    case TraceGroup::kTensor:
      return pass.tensor;
    case TraceGroup::kContext:
      return pass.context;
    default:
      return pass.expert;
  }
}

const ExpertsSpec* ExpertsOf(const ArchitectureSpec& spec, int layer_kind) {
  if (layer_kind < 0) return nullptr;
  const LayerSpec& layer = spec.layer_kinds[static_cast<size_t>(layer_kind)];
  return layer.experts.has_value() ? &*layer.experts : nullptr;
}

// The sum of the operations of one of `part`.
WorkSeconds SumOf(const StageTimeInput& in, const WorkPart& part, ModelOperations& operations) {
  WorkSeconds out;
  const ExpertsSpec* const experts = ExpertsOf(in.compute.spec, part.layer_kind);
  // A layer has few exchanges that differ.
  absl::InlinedVector<std::pair<CollectiveWork, ExchangeTime>, 8> known;
  const auto time_of = [&](const CollectiveWork& work) {
    for (const auto& [of, time] : known) {
      if (of == work) return time;
    }
    return known.emplace_back(work, in.exchanges.TimeOf(work, experts)).second;
  };
  operations.ForEach(part, [&](const TraceOp& op, const KernelTime& time, size_t source) {
    PassSeconds& pass = PassOf(op.pass, out);
    if (const auto* exchange = std::get_if<CollectiveWork>(&op.work)) {
      LinksOf(exchange->group, pass)
          .Add(time_of(*exchange).Times(static_cast<double>(op.launches)));
      return;
    }
    const auto kind = static_cast<size_t>(*KernelKindOf(op));
    const double seconds = time.expected.value();
    pass.kernels[kind] += seconds;
    out.by_source[source] += seconds;
    if (op.component == FlopsComponent::kMixerCore) out.mixers += seconds;
    if (!in.compute.captured_graphs) out.launches += op.launches;
    if (!in.pricer.IsOfDatasheet(source)) return;
    out.ends[kind].below += seconds - time.low.value();
    out.ends[kind].above += time.high.value() - seconds;
  });
  return out;
}

void AddTimes(const LinkSeconds& from, double times, LinkSeconds& to) {
  to.within += from.within * times;
  to.across += from.across * times;
}

void AddTimes(const PassSeconds& from, double times, PassSeconds& to) {
  for (size_t i = 0; i < kKernelKindCount; ++i) to.kernels[i] += from.kernels[i] * times;
  AddTimes(from.tensor, times, to.tensor);
  AddTimes(from.context, times, to.context);
  AddTimes(from.expert, times, to.expert);
}

// Sums the time of one stage's parameters.
class StateSums {
 public:
  StateSums(const StageTimeInput& in, int64_t stage)
      : in_(in),
        job_(in.compute.model.job()),
        stage_(stage),
        weights_(NeedsComponents() ? in.compute.model.weights().Stage(stage)
                                   : in.compute.model.weights().GroupsOn(stage)) {}

  StateSeconds Sum(ModelOperations& operations) {
    operations.ForEachOfStep(weights_, [this](const TraceOp&, const KernelTime& time, size_t) {
      out_.optimizer += time.expected.value();
    });
    CountLayers();
    if (DividesParameters(job_.state.sharding)) {
      AddShards();
    } else {
      AddReplicas();
    }
    AddOffload();
    return out_;
  }

 private:
  void CountLayers() {
    for (const StageKind& kind : in_.compute.model.weights().placement().KindsOn(stage_)) {
      out_.layer_count += kind.layers.count;
      if (ExpertsOf(in_.compute.spec, kind.layer_kind) != nullptr) {
        out_.expert_layers += kind.layers.count;
      }
    }
  }

  // True where LayerMatrices() is asked.
  bool NeedsComponents() const {
    return job_.state.frozen.data_type != DataType::kUnspecified || job_.state.gathers_fp8_weights;
  }

  // The groups that exchange the parameters of one kind.
  struct Groups {
    const RankStride& shard;
    const RankStride& copies;
  };
  Groups GroupsOf(ShardGroup group) const {
    const LayoutRanks& ranks = in_.exchanges.ranks();
    if (group == ShardGroup::kDense) return {ranks.shard, ranks.copies};
    return {ranks.expert_shard, ranks.expert_copies};
  }

  double weight_bytes() const {
    return static_cast<double>(StorageBytes(job_.state.precision.weight_data_type));
  }
  double compute_bytes() const {
    return static_cast<double>(StorageBytes(job_.batch.compute_data_type));
  }
  // Bytes of a gradient on its way.
  double gradient_bytes() const {
    const auto kept = static_cast<double>(StorageBytes(job_.state.precision.gradient_data_type));
    return job_.state.reduces_as_computed ? std::min(kept, compute_bytes()) : kept;
  }

  // Parameters of the layers' matrices in `group`.
  ShardCount LayerMatrices(ShardGroup group) const {
    ShardCount out;
    for (const WeightComponent component :
         {WeightComponent::kAttentionQueryKeyValue, WeightComponent::kAttentionLatent,
          WeightComponent::kAttentionOutput, WeightComponent::kRoutedExperts,
          WeightComponent::kSharedExperts, WeightComponent::kDenseFeedForward}) {
      const ShardCount& count = weights_.of(group, component);
      out.total += count.total;
      out.trainable += count.trainable;
    }
    return out;
  }

  // Bytes of the parameters of `group` of `each` bytes, quantised ones as they are stored.
  double BytesOf(ShardGroup group, double each) const {
    const double all = static_cast<double>(weights_.of(group).total) * each;
    const FrozenWeightFormat& format = job_.state.frozen;
    if (format.data_type == DataType::kUnspecified) return all;
    const ShardCount count = LayerMatrices(group);
    const auto quantised = static_cast<double>(count.total - count.trainable);
    return all - quantised * (each - QuantizedBytesAnElement(format));
  }

  // Bytes of updated parameters of `group` that the ranks of a shard gather.
  double GatheredBytes(ShardGroup group) const {
    const double all = static_cast<double>(weights_.of(group).trainable) * weight_bytes();
    if (!job_.state.gathers_fp8_weights) return all;
    const auto narrow = static_cast<double>(LayerMatrices(group).trainable);
    return all - narrow * (weight_bytes() - std::min(weight_bytes(), 1.0));
  }

  // Weights are gathered, and gradients reduced, layer by layer; the copies of a shard (HSDP) add
  // up once a step. Source: Rajbhandari et al. 2020 (arXiv 1910.02054) section 7.2.2;
  // pytorch/pytorch, torch/distributed/fsdp/_fully_shard.
  void AddShards() {
    const auto units = static_cast<double>(out_.layer_count + 1);
    // Weights are gathered in the compute type where that is narrower.
    const double each = std::min(weight_bytes(), compute_bytes());
    for (const ShardGroup group : {ShardGroup::kDense, ShardGroup::kExpert}) {
      const Groups among = GroupsOf(group);
      const double held = BytesOf(group, each);
      const double gradients = static_cast<double>(weights_.of(group).trainable) * gradient_bytes();
      const auto gather = [&](const RankStride& ranks) {
        return in_.exchanges.TimeOf(CollectiveOp::kAllGather, held / units, ranks).Times(units);
      };
      out_.gather.Add(gather(among.shard));
      // A second shard is divided among neighbours (ZeRO++, arXiv 2306.10209, section 3.2).
      const int64_t second = job_.state.sharding.secondary_group_size;
      out_.gather_again.Add(gather({second > 0 ? second : among.shard.size, among.shard.stride}));
      out_.reduce.Add(
          in_.exchanges.TimeOf(CollectiveOp::kReduceScatter, gradients / units, among.shard)
              .Times(units));
      const double shard = gradients / static_cast<double>(among.shard.size);
      out_.data.Add(in_.exchanges.TimeOf(CollectiveOp::kAllReduce, shard, among.copies));
    }
  }

  // Once a step, P parameters of g bytes a gradient and w a weight:
  //   stage 0      an all-reduce of P g
  //   stages 1, 2  a reduce-scatter of P g, or an all-reduce, and an all-gather of P w
  // and among the copies of a shard an all-reduce of its gradients. Stage 2 keeps no whole
  // gradients, so that each micro-batch reduces its own.
  // Source: Rajbhandari et al. 2020 (arXiv 1910.02054) section 7.2.1; deepspeedai/DeepSpeed,
  // deepspeed/runtime/zero/stage_1_and_2.py, reduce_ready_partitions_and_remove_grads.
  void AddReplicas() {
    const bool divides = DividesOptimizer(job_.state.sharding);
    for (const ShardGroup group : {ShardGroup::kDense, ShardGroup::kExpert}) {
      const Groups among = GroupsOf(group);
      const auto parameters = static_cast<double>(weights_.of(group).trainable);
      const double gradients = parameters * gradient_bytes();
      const bool scatters = divides && !in_.all_reduces_gradients;
      const ExchangeTime reduced =
          in_.exchanges.TimeOf(scatters ? CollectiveOp::kReduceScatter : CollectiveOp::kAllReduce,
                               gradients, among.shard);
      out_.data.Add(reduced);
      if (DividesGradients(job_.state.sharding)) out_.early_reduce.Add(reduced);
      const double shard = scatters ? gradients / static_cast<double>(among.shard.size) : gradients;
      out_.data.Add(in_.exchanges.TimeOf(CollectiveOp::kAllReduce, shard, among.copies));
      if (!divides) continue;
      out_.data.Add(
          in_.exchanges.TimeOf(CollectiveOp::kAllGather, GatheredBytes(group), among.shard));
    }
  }

  void AddOffload() {
    if (!job_.state.sharding.offload_optimizer) return;
    double shard = 0;
    for (const ShardGroup group : {ShardGroup::kDense, ShardGroup::kExpert}) {
      shard += BytesOf(group, weight_bytes()) / static_cast<double>(GroupsOf(group).shard.size);
    }
    out_.offload = OffloadSecondsOf({.job = job_,
                                     .weights = weights_,
                                     .shard_bytes = shard,
                                     .node_ranks = in_.exchanges.node_devices(),
                                     .rates = in_.host});
  }

  const StageTimeInput& in_;
  const MemoryJob& job_;
  const int64_t stage_;
  const StageWeights weights_;
  StateSeconds out_;
};

// Adds the parts of a stage to `known`, and counts those that are new as `work`.
absl::Status FindParts(const StageTimeInput& in, int64_t stage, ModelOperations& operations,
                       CallWork& work, WorkTable& known) {
  absl::Status status;
  operations.ForEachPart(stage, [&](const WorkPart& part) {
    if (!status.ok()) return;
    const size_t before = known.size();
    known.Of(part, in, operations);
    status = work.Spend(kStepsAPart * static_cast<int64_t>(known.size() - before));
  });
  return status;
}

}  // namespace

double WorkSeconds::kernels() const {
  double sum = 0;
  for (const PassSeconds* const pass : {&forward, &input_gradient, &weight_gradient}) {
    for (const double seconds : pass->kernels) sum += seconds;
  }
  return sum;
}

void WorkSeconds::Add(const WorkSeconds& other, double times) {
  AddTimes(other.forward, times, forward);
  AddTimes(other.input_gradient, times, input_gradient);
  AddTimes(other.weight_gradient, times, weight_gradient);
  for (size_t i = 0; i < kKernelKindCount; ++i) {
    ends[i].below += other.ends[i].below * times;
    ends[i].above += other.ends[i].above * times;
  }
  for (size_t i = 0; i < by_source.size(); ++i) by_source[i] += other.by_source[i] * times;
  launches += other.launches * static_cast<int64_t>(times);
  mixers += other.mixers * times;
}

std::vector<KernelTimeShare> KernelTimeSharesOf(const StageTime& stage,
                                                const OperationPricer& pricer) {
  std::vector<KernelTimeShare> out;
  out.reserve(OperationPricer::kSourceCount);
  double all = 0;
  for (size_t i = 0; i < OperationPricer::kSourceCount; ++i) {
    const double seconds = stage.layers.by_source[i] + stage.outside.by_source[i];
    if (seconds <= 0) continue;
    KernelSource source = pricer.source(i);
    auto found = std::find_if(out.begin(), out.end(), [&source](const KernelTimeShare& known) {
      return known.source.source == source.source && known.source.citation == source.citation &&
             known.source.device_uuid == source.device_uuid;
    });
    if (found == out.end()) found = out.insert(out.end(), {.source = std::move(source)});
    found->share += seconds;
    all += seconds;
  }
  for (KernelTimeShare& each : out) each.share /= all;
  std::stable_sort(out.begin(), out.end(), [](const KernelTimeShare& a, const KernelTimeShare& b) {
    return a.share > b.share;
  });
  return out;
}

const WorkSeconds& WorkTable::Of(const WorkPart& part, const StageTimeInput& in,
                                 ModelOperations& operations) {
  // Where everything is trained, a module's layer works as the decoder's of its kind.
  const bool as_decoder =
      part.kind == WorkPart::Kind::kModuleLayer && in.compute.model.flow() == nullptr;
  if (as_decoder || !part.is_outside()) {
    const ActivationPlace place = {.part = as_decoder ? ModelPart::kDecoder : part.part,
                                   .layer_kind = part.layer_kind,
                                   .state = part.state};
    if (const auto* const known = layers_.Find(place); known != nullptr) return **known;
    std::unique_ptr<WorkSeconds>& out = layers_.Add(place);
    out = std::make_unique<WorkSeconds>(SumOf(in, part, operations));
    return *out;
  }
  for (const Outside& each : outside_) {
    if (each.part.kind == part.kind && each.part.part == part.part) return each.seconds;
  }
  return outside_.emplace_back(Outside{part, SumOf(in, part, operations)}).seconds;
}

StateSeconds StateSecondsOf(const StageTimeInput& in, ModelOperations& operations, int64_t stage) {
  return StateSums(in, stage).Sum(operations);
}

StageTime StageWorkOf(const StageTimeInput& in, ModelOperations& operations, WorkTable& known,
                      int64_t stage) {
  StageTime out = {.first_stage = stage};
  operations.ForEachPart(stage, [&](const WorkPart& part) {
    const WorkSeconds& each = known.Of(part, in, operations);
    const auto count = static_cast<double>(part.count);
    (part.is_outside() ? out.outside : out.layers).Add(each, count);
    if (ExpertsOf(in.compute.spec, part.layer_kind) == nullptr) return;
    out.expert_layers.Add(each, count);
  });
  return out;
}

absl::Status AppendStageTimes(const StageTimeInput& in, ModelOperations& operations, CallWork& work,
                              std::vector<StageTime>& out) {
  const MemoryModel& model = in.compute.model;
  WorkTable known(model.weights().model().alike_kinds());
  out.reserve(static_cast<size_t>(std::min(model.stage_count(), kUsualRuns)));
  int64_t next = 0;
  for (int64_t stage = 0; stage < model.stage_count(); stage = next) {
    for (++next; next < model.stage_count() && model.IsAsBefore(next);) ++next;
    SEXTANT_RETURN_IF_ERROR(FindParts(in, stage, operations, work, known));
    SEXTANT_RETURN_IF_ERROR(work.Spend(kStepsAStage));
    StageTime& time = out.emplace_back(StageWorkOf(in, operations, known, stage));
    time.stage_count = next - stage;
    time.state = StateSecondsOf(in, operations, stage);
  }
  return absl::OkStatus();
}

const StageTime& SlowestStage(absl::Span<const StageTime> stages) {
  return *std::max_element(
      stages.begin(), stages.end(),
      [](const StageTime& a, const StageTime& b) { return a.kernels() < b.kernels(); });
}

}  // namespace sextant
