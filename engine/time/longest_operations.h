// The operations that take most of a step, and where the times of its kernels come from.
#ifndef SEXTANT_ENGINE_TIME_LONGEST_OPERATIONS_H_
#define SEXTANT_ENGINE_TIME_LONGEST_OPERATIONS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/base/units.h"
#include "engine/hardware/predict/kernel_source.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/trace/trace.h"
#include "engine/time/exchange_pricer.h"
#include "engine/time/operation_pricer.h"
#include "engine/time/stage_compute.h"

namespace sextant {

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

#endif  // SEXTANT_ENGINE_TIME_LONGEST_OPERATIONS_H_
