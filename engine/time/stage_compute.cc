#include "engine/time/stage_compute.h"

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

}  // namespace sextant
