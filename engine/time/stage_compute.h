// The work of one GPU of a pipeline stage for one micro-batch and for one step, operation by
// operation, and its time. Exchanges between GPUs are listed, not timed.
#ifndef SEXTANT_ENGINE_TIME_STAGE_COMPUTE_H_
#define SEXTANT_ENGINE_TIME_STAGE_COMPUTE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/base/units.h"
#include "engine/hardware/predict/kernel_source.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/trace/trace.h"
#include "engine/time/exchange_pricer.h"
#include "engine/time/model_operations.h"
#include "engine/time/operation_pricer.h"

namespace sextant {

// The work of the host that starts a stage's kernels one by one.
struct HostWork {
  int64_t launches = 0;  // of one micro-batch; 0 with captured graphs
  SecondsInterval seconds =
      {};  // launches x ComputeInput::launch_seconds, from a quarter of it to three times
  // True where the host takes longer than the device: the queue of started kernels runs empty, and
  // a micro-batch takes the host's time.
  bool bound = false;
};

// Pipeline stages that compute the same.
struct StageCompute {
  int64_t first_stage = 0;
  int64_t stage_count = 1;
  std::vector<TimedOperation> operations = {};       // of one micro-batch, in their order
  std::vector<TimedOperation> step_operations = {};  // once a step: norm, clip and optimizer
  SecondsInterval forward = {};
  SecondsInterval backward = {};  // with what it recomputes
  SecondsInterval micro_batch = {};
  SecondsInterval step = {};  // of step_operations
  HostWork host = {};
  double flops = 0;  // of a micro-batch's products on one GPU, recomputation included
};

// The compute of one stage of `in`, whose operations are `operations`.
StageCompute ComputeOf(const ComputeInput& in, ModelOperations& operations, int64_t stage);

// The resource that takes most of an operation's time.
enum class OperationBound { kArithmetic, kMemory, kExchange };

// One operation in all layers of a stage. Views point to literals.
struct LongOperation {
  absl::string_view module = "";
  absl::string_view name = "";
  TracePass pass = TracePass::kForward;
  OperationBound bound = OperationBound::kMemory;
  int64_t launches = 0;
  double flops = 0;          // of matrix products, of a micro-batch
  Seconds seconds = {};      // one after another, nothing hidden
  FlopsPerSecond rate = {};  // flops over a micro-batch's seconds
};

// A stage and the prices of its operations.
struct PricedStage {
  const ArchitectureSpec& spec;
  const StageCompute& compute;
  const OperationPricer& pricer;
  const ExchangePricer& exchanges;
};

// The time of all launches of an exchange, alone.
Seconds ExchangeSeconds(const PricedStage& stage, const TimedOperation& operation);

// The `most` longest operations of a micro-batch, the longest first. A product is bound by what
// takes the larger share of its roofline's time (OperationPricer::WorkShareOf()), attention by
// arithmetic, all else by memory.
std::vector<LongOperation> LongestOperations(const PricedStage& stage, size_t most);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_STAGE_COMPUTE_H_
