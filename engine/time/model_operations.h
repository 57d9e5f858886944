// The operations of one GPU of a model under a layout, part by part: of one layer, of the
// embedding, of what follows the layers, of the optimizer. Exchanges between GPUs are listed, not
// timed.
#ifndef SEXTANT_ENGINE_TIME_MODEL_OPERATIONS_H_
#define SEXTANT_ENGINE_TIME_MODEL_OPERATIONS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/memory/ledger/memory_job.h"
#include "engine/memory/ledger/memory_model.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/sharding/sharded_weights.h"
#include "engine/model/trace/trace.h"
#include "engine/model/trace/trace_builder.h"
#include "engine/time/operation_pricer.h"

namespace sextant {

// An operation of a stage, in all layers that are alike.
struct TimedOperation {
  ModelPart part = ModelPart::kDecoder;
  int layer_kind = -1;  // index into ArchitectureSpec::layer_kinds; -1: outside the layers
  int64_t layers = 1;   // that run it
  TraceOp op;           // of one layer
  // The sum of all launches in all layers, for one micro-batch (of a step operation: for one step).
  // Of a collective 0, or its time alone, which no sum includes.
  KernelTime time;
  size_t source = 0;  // index into OperationPricer::sources(); of no use for collectives
};

// Bytes that a product's epilogue moves to add `elements` gradients of `computed` bytes to `kept`
// ones, beyond those it would write, without those that its arithmetic hides:
//   (1 - overlap work_share) (2 kept - computed)
// What is bound by memory hides nothing. Source: StackConstant::kGradientAdditionOverlap.
struct Accumulation {
  double elements = 0;
  double computed = 0;
  double kept = 0;
  double work_share = 0;  // OperationPricer::WorkShareOf() of the product
  double overlap = 0;     // share of the bytes that a product bound by arithmetic hides
};
PassWork FusedAccumulation(const Accumulation& of);

struct ComputeInput {
  const ArchitectureSpec& spec;
  const MemoryModel& model;  // of `spec`, whose activations were counted
  PricedTypes types = {};
  bool fused_projections = true;
  bool captured_graphs = false;
  double launch_seconds = 8e-6;  // StackConstant::kKernelLaunchSeconds
};

// A part of a model that a stage runs as a whole.
struct WorkPart {
  enum class Kind { kEmbedding, kLayer, kFinalNorm, kOutput, kModule, kModuleLayer };
  Kind kind = Kind::kLayer;
  ModelPart part = ModelPart::kDecoder;
  int layer_kind = -1;            // of layers
  int64_t count = 1;              // layers or modules that are alike
  LayerGradientState state = {};  // of layers

  bool is_outside() const { return kind != Kind::kLayer; }
};

// True where the operations of a micro-batch depend on their number: gradients that are the first
// micro-batch's own are not added to others there.
bool WorkDependsOnCount(const MemoryJob& job);

class ModelOperations {
 public:
  // `in` and `priced` outlive this.
  ModelOperations(const ComputeInput& in, PricedOperations& priced);

  // Calls `visit` for the parts of `stage` in the order of the forward pass.
  void ForEachPart(int64_t stage, absl::FunctionRef<void(const WorkPart&)> visit) const;

  // Calls `visit` for the operations of one of `part`'s layers or modules, in their order, with
  // their times for one micro-batch and the indices of their sources.
  using Visitor = absl::FunctionRef<void(const TraceOp& op, const KernelTime& time, size_t source)>;
  void ForEach(const WorkPart& part, Visitor visit);

  // Likewise once a step: norm, clip and optimizer of those of a stage's parameters that a rank
  // updates.
  void ForEachOfStep(const StageWeights& weights, Visitor visit);

 private:
  bool has_encoder() const { return !in_.spec.encoder.layers.empty(); }
  bool has_decoder() const { return !in_.spec.decoder.layers.empty(); }
  void VisitOutput(absl::FunctionRef<void(const WorkPart&)> visit) const;
  void TracePart(const WorkPart& part);
  void VisitDequantisation(const TraceOp& product, Visitor visit);
  void VisitExpertBias(const WorkPart& part, const TraceOp& op, Visitor visit);
  void VisitTimed(const TraceOp& op, double ratio, Visitor visit);
  double compute_bytes() const;
  double gradient_bytes() const;
  PassWork AccumulationOf(const TraceOp& op) const;
  // `ratio`: of the time.
  void VisitStepPass(absl::string_view name, const PassWork& work, Visitor visit, double ratio = 1);

  const ComputeInput& in_;
  const MemoryJob& job_;
  const ShardedWeights& weights_;
  PricedOperations& priced_;
  const OperationPricer& pricer_;
  const TraceContext trace_;
  Trace traced_;
};

// The pass over memory that adds the output biases of `product`, or takes their gradients; absent
// where it is not a product of biased experts' outputs. `layer_kind`: that of its layer in `spec`;
// negative: of none.
//
// Megatron-LM multiplies each expert's bias by its rows' probabilities, in fp32, adds the outputs,
// joins all experts' rows and narrows them to e bytes, a kernel for each:
//   forward   writes 4, reads e + 4, writes 4, reads and writes 4, reads 4, writes e
//   backward  widens e to 4; narrows 4 to e, and joins the experts' e; for the bias multiplies 4 to
//             4 and sums 4; and for the probabilities the same
// bytes an element. Source: NVIDIA/Megatron-LM core_v0.15.0, megatron/core/transformer/moe/
// experts.py, TEGroupedMLP._apply_bias().
absl::optional<TraceOp> ExpertBias(const TraceOp& product, const ArchitectureSpec& spec,
                                   int layer_kind, double element_bytes);

// Trainable parameters of `weights`, those of a stage, on one rank.
struct RankParameters {
  double held = 0;     // whose gradients it keeps
  double updated = 0;  // whose step it does
};
RankParameters RankParametersOf(const MemoryJob& job, const StageWeights& weights);

// Reads gradients, reads and writes master weights and the optimizer's numbers, and writes weights.
// Source: docs/step_time.md, "Once a step".
PassWork OptimizerPass(const StateSpec& state, double parameters);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_MODEL_OPERATIONS_H_
