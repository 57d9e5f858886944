// The work of one GPU of a pipeline stage in a step, in seconds: kernels by kind, exchanges by the
// links that they cross. Nothing overlaps here.
#ifndef SEXTANT_ENGINE_TIME_STAGE_TIME_H_
#define SEXTANT_ENGINE_TIME_STAGE_TIME_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "engine/base/call_work.h"
#include "engine/memory/activations/layer_table.h"
#include "engine/time/exchange_pricer.h"
#include "engine/time/model_operations.h"
#include "engine/time/offload_time.h"
#include "engine/time/operation_pricer.h"

namespace sextant {

// Seconds of exchanges.
struct LinkSeconds {
  double within = 0;  // a node
  double across = 0;  // nodes

  void Add(const ExchangeTime& exchange) {
    (exchange.crosses ? across : within) += exchange.time.value();
  }
};

// Seconds of one pass of a micro-batch.
struct PassSeconds {
  std::array<double, kKernelKindCount> kernels = {};
  LinkSeconds tensor = {};
  LinkSeconds context = {};
  LinkSeconds expert = {};

  double of(KernelKind kind) const { return kernels[static_cast<size_t>(kind)]; }
};

// Distances of an interval's ends from the expected time, in seconds.
struct KindEnds {
  double below = 0;
  double above = 0;
};

// Seconds of all passes of some operations for a micro-batch.
struct WorkSeconds {
  PassSeconds forward = {};
  PassSeconds input_gradient = {};  // with what it recomputes
  PassSeconds weight_gradient = {};
  // Error bounds of kernels priced from datasheets, in all passes; StepClass covers all others.
  std::array<KindEnds, kKernelKindCount> ends = {};
  // Kernel seconds in all passes, by OperationPricer's sources.
  std::array<double, OperationPricer::kSourceCount> by_source = {};
  int64_t launches = 0;  // 0: captured graphs
  double mixers = 0;     // kernel seconds of recurrences, which were never measured

  double kernels() const;
  // Adds `times` times `other`.
  void Add(const WorkSeconds& other, double times);
};

// Per-step cost of a rank's parameters: gather, reduce, optimizer, offload.
struct StateSeconds {
  int64_t layer_count = 0;
  int64_t expert_layers = 0;
  // Per micro-batch, ZeRO stage 3: weights gathered once, and gradients reduced once.
  LinkSeconds gather = {};
  LinkSeconds gather_again = {};  // for the backward pass, which may have a shard of its own
  LinkSeconds reduce = {};
  // ZeRO stage 2: gradients of a micro-batch before the last, whose are among `data`.
  LinkSeconds early_reduce = {};
  LinkSeconds data = {};  // of a step: gradients and weights among data parallel ranks
  double optimizer = 0;   // of a step
  OffloadSeconds offload = {};
};

struct StageTime {
  int64_t first_stage = 0;
  int64_t stage_count = 1;   // stages that are alike
  WorkSeconds layers = {};   // of a micro-batch
  WorkSeconds outside = {};  // of a micro-batch: embedding, head, loss, multi-token prediction
  WorkSeconds expert_layers = {};  // of `layers`, those with experts
  StateSeconds state = {};

  int64_t launches() const { return layers.launches + outside.launches; }
  double kernels() const { return layers.kernels() + outside.kernels(); }
};

struct StageTimeInput {
  const ComputeInput& compute;
  const OperationPricer& pricer;
  const ExchangePricer& exchanges;
  bool all_reduces_gradients = false;  // SoftwareStack
  HostRates host = {};                 // of a job that offloads
};

// Caches the times of a job's layers and ends across stages; and across jobs that trace them alike.
class WorkTable {
 public:
  // `alike_kinds`: LayerTable's.
  explicit WorkTable(absl::Span<const int> alike_kinds = {}) : layers_(alike_kinds) {}

  // One of `part`'s layers or modules. Valid until the next call.
  const WorkSeconds& Of(const WorkPart& part, const StageTimeInput& in,
                        ModelOperations& operations);

  // The parts that are known.
  size_t size() const { return layers_.size() + outside_.size(); }

 private:
  struct Outside {
    WorkPart part = {};
    WorkSeconds seconds = {};
  };

  // Allocated as they come: a search keeps thousands of tables, of few kinds each.
  LayerTable<std::unique_ptr<WorkSeconds>> layers_;
  std::vector<Outside> outside_;
};

StateSeconds StateSecondsOf(const StageTimeInput& in, ModelOperations& operations, int64_t stage);

// The time of one stage without its state, whose layers and ends may be in `known`.
StageTime StageWorkOf(const StageTimeInput& in, ModelOperations& operations, WorkTable& known,
                      int64_t stage);

// A source of kernels' times.
struct KernelTimeShare {
  KernelSource source;
  double share = 0;  // of the time of all kernels; above 0
};

// The sources of the kernels of a micro-batch on `stage`, exchanges left out, by their shares of
// its time: the largest first. Sources with one kind, citation and device are one.
std::vector<KernelTimeShare> KernelTimeSharesOf(const StageTime& stage,
                                                const OperationPricer& pricer);

// Appends the times of all stages in their order, of those that are alike once.
//
// Errors: those of `work`.
absl::Status AppendStageTimes(const StageTimeInput& in, ModelOperations& operations, CallWork& work,
                              std::vector<StageTime>& out);

// The stage whose kernels take longest. `stages` is not empty.
const StageTime& SlowestStage(absl::Span<const StageTime> stages);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_STAGE_TIME_H_
