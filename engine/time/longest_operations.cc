#include "engine/time/longest_operations.h"

#include <algorithm>
#include <variant>

namespace sextant {
namespace {

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
