#include "engine/time/offload_time.h"

#include <algorithm>

#include "engine/memory/state/state_rules.h"
#include "engine/time/model_operations.h"

namespace sextant {
namespace {

class OffloadSum {
 public:
  explicit OffloadSum(const OffloadInput& in)
      : in_(in),
        sharding_(in.job.state.sharding),
        parameters_(RankParametersOf(in.job, in.weights).updated),
        gradient_bytes_(parameters_ * static_cast<double>(
                                          StorageBytes(in.job.state.precision.gradient_data_type))),
        update_rate_(in.rates.update.value() / static_cast<double>(in.node_ranks)),
        copy_rate_(std::min(in.rates.link.value(), update_rate_)) {}

  OffloadSeconds Sum() {
    AddGradients();
    if (sharding_.offload_parameters) {
      out_.weights = in_.shard_bytes / copy_rate_;
    } else {
      const PrecisionPolicy& precision = in_.job.state.precision;
      out_.copies +=
          parameters_ * static_cast<double>(StorageBytes(precision.weight_data_type)) / copy_rate_;
    }
    const PassWork update = OptimizerPass(in_.job.state, parameters_);
    out_.update += (update.read_bytes + update.written_bytes) / update_rate_;
    return out_;
  }

 private:
  void AddGradients() {
    const double copy = gradient_bytes_ / copy_rate_;
    const double pass = gradient_bytes_ / update_rate_;
    switch (in_.job.state.gradient_offload) {
      case GradientOffload::kAtStep:
        out_.copies += copy;
        break;
      case GradientOffload::kAddedOnDevice:
        out_.gradients = copy;
        out_.update += 2 * pass;  // clipping reads and writes
        break;
      case GradientOffload::kAddedOnHost:
        out_.gradients = copy;
        out_.addition = 3 * pass;  // reads two, writes one
        out_.update += 3 * pass;   // the norm reads, clipping reads and writes
        break;
    }
  }

  const OffloadInput& in_;
  const StateSharding& sharding_;
  const double parameters_;
  const double gradient_bytes_;
  const double update_rate_;
  const double copy_rate_;
  OffloadSeconds out_;
};

double Beyond(double work, double passes) { return std::max(0.0, work - passes); }

}  // namespace

OffloadSeconds OffloadSecondsOf(const OffloadInput& in) {
  if (!in.job.state.sharding.offload_optimizer || in.rates.link.value() <= 0 ||
      in.rates.update.value() <= 0) {
    return {};
  }
  return OffloadSum(in).Sum();
}

OffloadExposed ExposedOf(const OffloadSeconds& offload, const MemoryJob& job,
                         const ShardPasses& passes, double slowness) {
  const auto count = static_cast<double>(job.pipeline.micro_batch_count);
  const double later = (count - 1) / count;  // of the micro-batches, all but the first
  const double weights = offload.weights * slowness;
  const double gradients = offload.gradients * slowness;
  double up = passes.gathers_again ? weights : 0;
  double down = gradients;
  OffloadExposed out;
  if (job.state.gradient_offload == GradientOffload::kAddedOnDevice) {
    up += gradients * later;
  } else if (job.state.gradient_offload == GradientOffload::kAddedOnHost) {
    down /= count;
    if (!job.buffers.deferred_reduction) {
      out.backward = gradients * later;
      out.addition = offload.addition * slowness * later;
    }
  }
  const auto added = [](double copies, double exchange, double pass) {
    return Beyond(copies + exchange, pass) - Beyond(exchange, pass);
  };
  out.forward = added(weights, passes.forward_exchange, passes.forward);
  out.backward += added(std::max(up, down), passes.backward_exchange, passes.backward);
  return out;
}

}  // namespace sextant
