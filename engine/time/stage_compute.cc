#include "engine/time/stage_compute.h"

#include <algorithm>
#include <variant>

namespace sextant {
namespace {

// Adds up the operations of `out`.
void SumUp(const ComputeInput& in, StageCompute& out) {
  TimeSum forward;
  TimeSum backward;
  TimeSum both;
  TimeSum step;
  for (const TimedOperation& each : out.operations) {
    const absl::optional<KernelKind> kind = KernelKindOf(each.op);
    if (!kind.has_value()) continue;
    (each.op.pass == TracePass::kForward ? forward : backward).Add(*kind, each.time);
    both.Add(*kind, each.time);
    out.flops += each.op.flops * static_cast<double>(each.layers);
    out.host.launches += each.op.launches * each.layers;
  }
  for (const TimedOperation& each : out.step_operations) {
    step.Add(KernelKind::kMemoryPass, each.time);
  }
  out.forward = forward.interval();
  out.backward = backward.interval();
  out.micro_batch = both.interval();
  out.step = step.interval();
  if (in.captured_graphs) out.host.launches = 0;
}

// Launches of 2 to 25 us were measured around the 8 us of StackConstant::kKernelLaunchSeconds,
// whose sources are cited there.
constexpr double kLowLaunch = 2.0 / 8;
constexpr double kHighLaunch = 25.0 / 8;

HostWork HostOf(int64_t launches, double launch_seconds, Seconds device) {
  const Seconds all(static_cast<double>(launches) * launch_seconds);
  HostWork out = {.launches = launches, .seconds = {all * kLowLaunch, all, all * kHighLaunch}};
  out.bound = out.seconds.expected > device;
  return out;
}

OperationBound BoundOf(const TraceOp& op, const OperationPricer& pricer) {
  if (std::holds_alternative<CollectiveWork>(op.work)) return OperationBound::kExchange;
  if (std::holds_alternative<AttentionWork>(op.work)) return OperationBound::kArithmetic;
  return pricer.WorkShareOf(op) >= 0.5 ? OperationBound::kArithmetic : OperationBound::kMemory;
}

// The entry that `operation` belongs to: the same operation of other kinds of layers.
LongOperation& EntryOf(const TimedOperation& operation, OperationBound bound,
                       std::vector<LongOperation>& out) {
  const TraceOp& op = operation.op;
  for (LongOperation& each : out) {
    if (each.module == op.module && each.name == op.name && each.pass == op.pass &&
        each.bound == bound) {
      return each;
    }
  }
  return out.emplace_back(
      LongOperation{.module = op.module, .name = op.name, .pass = op.pass, .bound = bound});
}

}  // namespace

StageCompute ComputeOf(const ComputeInput& in, ModelOperations& operations, int64_t stage) {
  StageCompute out = {.first_stage = stage};
  operations.ForEachPart(stage, [&](const WorkPart& part) {
    operations.ForEach(part, [&](const TraceOp& op, const KernelTime& time, size_t source) {
      out.operations.push_back({.part = part.part,
                                .layer_kind = part.layer_kind,
                                .layers = part.count,
                                .op = op,
                                .time = time * static_cast<double>(part.count),
                                .source = source});
    });
  });
  operations.ForEachOfStep(
      in.model.weights().GroupsOn(stage),
      [&out](const TraceOp& op, const KernelTime& time, size_t source) {
        out.step_operations.push_back(
            {.part = ModelPart::kInput, .op = op, .time = time, .source = source});
      });
  SumUp(in, out);
  out.host = HostOf(out.host.launches, in.launch_seconds, out.micro_batch.expected);
  return out;
}

Seconds ExchangeSeconds(const PricedStage& stage, const TimedOperation& operation) {
  const auto* const work = std::get_if<CollectiveWork>(&operation.op.work);
  if (work == nullptr) return Seconds(0);
  const ExpertsSpec* experts = nullptr;
  if (operation.layer_kind >= 0) {
    const LayerSpec& layer = stage.spec.layer_kinds[static_cast<size_t>(operation.layer_kind)];
    if (layer.experts.has_value()) experts = &*layer.experts;
  }
  return stage.exchanges.TimeOf(*work, experts).time *
         static_cast<double>(operation.layers * operation.op.launches);
}

std::vector<LongOperation> LongestOperations(const PricedStage& stage, size_t most) {
  std::vector<LongOperation> out;
  for (const TimedOperation& each : stage.compute.operations) {
    const OperationBound bound = BoundOf(each.op, stage.pricer);
    LongOperation& entry = EntryOf(each, bound, out);
    entry.launches += each.op.launches * each.layers;
    entry.flops += each.op.flops * static_cast<double>(each.layers);
    entry.seconds =
        entry.seconds +
        (bound == OperationBound::kExchange ? ExchangeSeconds(stage, each) : each.time.expected);
  }
  std::stable_sort(out.begin(), out.end(), [](const LongOperation& a, const LongOperation& b) {
    return a.seconds > b.seconds;
  });
  if (out.size() > most) out.resize(most);
  for (LongOperation& each : out) {
    if (each.seconds > Seconds(0)) each.rate = FlopsPerSecond(each.flops / each.seconds.value());
  }
  return out;
}

}  // namespace sextant
