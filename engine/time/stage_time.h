// What one GPU of a pipeline stage does in a step, summed up by what it waits for: kernels by kind,
// exchanges by the links that they cross. Nothing overlaps here.
#ifndef SEXTANT_ENGINE_TIME_STAGE_TIME_H_
#define SEXTANT_ENGINE_TIME_STAGE_TIME_H_

#include <array>
#include <cstdint>

#include "engine/framework/software_stack.h"
#include "engine/memory/ledger/memory_model.h"
#include "engine/time/exchange_pricer.h"
#include "engine/time/operation_pricer.h"
#include "engine/time/stage_compute.h"

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
  double outside_layers = 0;  // of kernels: embedding, head, loss

  double of(KernelKind kind) const { return kernels[static_cast<size_t>(kind)]; }
};

// Distances of an interval's ends from the expected time, in seconds.
struct KindEnds {
  double below = 0;
  double above = 0;
};

struct StageTime {
  int64_t first_stage = 0;
  int64_t stage_count = 1;
  PassSeconds forward = {};
  PassSeconds input_gradient = {};  // with what it recomputes
  PassSeconds weight_gradient = {};
  // Of kernels in all passes that only a datasheet tells of: the others' errors are StepClass's.
  std::array<KindEnds, kKernelKindCount> ends = {};
  int64_t layers = 0;
  int64_t expert_layers = 0;
  double expert_layer_seconds = 0;  // of the kernels of layers with experts, all passes
  int64_t launches = 0;             // of a micro-batch; 0: captured graphs
  // Of a micro-batch, ZeRO stage 3: weights gathered once, and gradients reduced once.
  LinkSeconds gather = {};
  LinkSeconds reduce = {};
  LinkSeconds data = {};  // of a step: gradients and weights among data parallel ranks
  double optimizer = 0;
};

struct StageTimeInput {
  const ArchitectureSpec& spec;
  const MemoryModel& model;
  const ExchangePricer& exchanges;
  absl::Span<const KernelSource> sources = {};  // OperationPricer::sources()
  bool all_reduces_gradients = false;           // SoftwareStack
};

StageTime StageTimeOf(const StageTimeInput& in, const StageCompute& compute);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_STAGE_TIME_H_
