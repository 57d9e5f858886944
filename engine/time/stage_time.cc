#include "engine/time/stage_time.h"

#include <algorithm>
#include <variant>

#include "engine/memory/state/state_rules.h"

namespace sextant {
namespace {

// The sums of one stage.
class StageSums {
 public:
  StageSums(const StageTimeInput& in, const StageCompute& compute)
      : in_(in), job_(in.model.job()), compute_(compute) {}

  StageTime Sum() {
    out_.first_stage = compute_.first_stage;
    out_.stage_count = compute_.stage_count;
    out_.launches = compute_.host.launches;
    for (const TimedOperation& each : compute_.operations) Add(each);
    out_.optimizer = compute_.step.expected.value();
    CountLayers();
    if (DividesParameters(job_.state.sharding)) {
      AddShards();
    } else {
      AddReplicas();
    }
    return out_;
  }

 private:
  PassSeconds& PassOf(TracePass pass) {
    switch (pass) {
      case TracePass::kForward:
        return out_.forward;
      case TracePass::kWeightGradient:
        return out_.weight_gradient;
      default:
        return out_.input_gradient;
    }
  }

  const LayerSpec* LayerOf(const TimedOperation& each) const {
    if (each.layer_kind < 0) return nullptr;
    return &in_.spec.layer_kinds[static_cast<size_t>(each.layer_kind)];
  }

  void Add(const TimedOperation& each) {
    PassSeconds& pass = PassOf(each.op.pass);
    const LayerSpec* const layer = LayerOf(each);
    if (const auto* exchange = std::get_if<CollectiveWork>(&each.op.work)) {
      const ExpertsSpec* const experts =
          layer != nullptr && layer->experts.has_value() ? &*layer->experts : nullptr;
      const double count = static_cast<double>(each.layers * each.op.launches);
      LinksOf(exchange->group, pass).Add(in_.exchanges.TimeOf(*exchange, experts).Times(count));
      return;
    }
    const auto kind = static_cast<size_t>(*KernelKindOf(each.op));
    const double seconds = each.time.expected.value();
    pass.kernels[kind] += seconds;
    if (in_.sources[each.source].source == RateSource::kDatasheet) {
      out_.ends[kind].below += seconds - each.time.low.value();
      out_.ends[kind].above += each.time.high.value() - seconds;
    }
    if (layer == nullptr) pass.outside_layers += seconds;
    if (layer != nullptr && layer->experts.has_value()) out_.expert_layer_seconds += seconds;
  }

  static LinkSeconds& LinksOf(TraceGroup group, PassSeconds& pass) {
    switch (group) {
      case TraceGroup::kTensor:
        return pass.tensor;
      case TraceGroup::kContext:
        return pass.context;
      default:
        return pass.expert;
    }
  }

  void CountLayers() {
    const LayerPlacement& placement = in_.model.weights().placement();
    for (const StageKind& kind : placement.KindsOn(compute_.first_stage)) {
      out_.layers += kind.layers.count;
      const LayerSpec& layer = in_.spec.layer_kinds[static_cast<size_t>(kind.layer_kind)];
      if (layer.experts.has_value()) out_.expert_layers += kind.layers.count;
    }
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

  // Bytes of the parameters of `group` as they are gathered: in the compute type where that is
  // narrower, and quantised where nothing trains them.
  double GatheredBytes(const StageWeights& weights, ShardGroup group) const {
    const double each = std::min(weight_bytes(), compute_bytes());
    const double all = static_cast<double>(weights.of(group).total) * each;
    const FrozenWeightFormat& format = job_.state.frozen;
    if (format.data_type == DataType::kUnspecified) return all;
    double quantised = 0;
    for (const WeightComponent component :
         {WeightComponent::kAttentionQueryKeyValue, WeightComponent::kAttentionLatent,
          WeightComponent::kAttentionOutput, WeightComponent::kRoutedExperts,
          WeightComponent::kSharedExperts, WeightComponent::kDenseFeedForward}) {
      const ShardCount& count = weights.of(group, component);
      quantised += static_cast<double>(count.total - count.trainable);
    }
    return all - quantised * (each - QuantizedBytesAnElement(format));
  }

  // Weights are gathered, and gradients reduced, layer by layer; the copies of a shard (HSDP) add
  // up once a step. Source: Rajbhandari et al. 2020 (arXiv 1910.02054) section 7.2.2;
  // pytorch/pytorch, torch/distributed/fsdp/_fully_shard.
  void AddShards() {
    const StageWeights weights = in_.model.weights().Stage(compute_.first_stage);
    const auto units = static_cast<double>(out_.layers + 1);
    for (const ShardGroup group : {ShardGroup::kDense, ShardGroup::kExpert}) {
      const Groups among = GroupsOf(group);
      const double held = GatheredBytes(weights, group);
      const double gradients = static_cast<double>(weights.of(group).trainable) * gradient_bytes();
      out_.gather.Add(
          in_.exchanges.TimeOf(CollectiveOp::kAllGather, held / units, among.shard).Times(units));
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
  // and among the copies of a shard an all-reduce of its gradients.
  // Source: Rajbhandari et al. 2020 (arXiv 1910.02054) section 7.2.1.
  void AddReplicas() {
    const StageWeights weights = in_.model.weights().Stage(compute_.first_stage);
    const bool divides = DividesOptimizer(job_.state.sharding);
    for (const ShardGroup group : {ShardGroup::kDense, ShardGroup::kExpert}) {
      const Groups among = GroupsOf(group);
      const auto parameters = static_cast<double>(weights.of(group).trainable);
      const double gradients = parameters * gradient_bytes();
      const bool scatters = divides && !in_.all_reduces_gradients;
      out_.data.Add(
          in_.exchanges.TimeOf(scatters ? CollectiveOp::kReduceScatter : CollectiveOp::kAllReduce,
                               gradients, among.shard));
      const double shard = scatters ? gradients / static_cast<double>(among.shard.size) : gradients;
      out_.data.Add(in_.exchanges.TimeOf(CollectiveOp::kAllReduce, shard, among.copies));
      if (!divides) continue;
      out_.data.Add(
          in_.exchanges.TimeOf(CollectiveOp::kAllGather, parameters * weight_bytes(), among.shard));
    }
  }

  const StageTimeInput& in_;
  const MemoryJob& job_;
  const StageCompute& compute_;
  StageTime out_;
};

}  // namespace

StageTime StageTimeOf(const StageTimeInput& in, const StageCompute& compute) {
  return StageSums(in, compute).Sum();
}

}  // namespace sextant
