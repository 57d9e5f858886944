#include "engine/time/model_operations.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "engine/memory/activations/activations.h"
#include "engine/memory/state/state_rules.h"
#include "engine/memory/training_policy.h"
#include "engine/model/trace/end_trace.h"
#include "engine/model/trace/layer_trace.h"

namespace sextant {
namespace {

// The operations of a usual layer; more are allocated as they come.
constexpr size_t kOperations = 128;

// The tensors of one kind of layer, which are adjacent.
TraceWeights LayerWeightsOf(const ShardedWeights& weights, const WorkPart& part) {
  const absl::Span<const WeightTensor> tensors = weights.model().tensors();
  const auto is_of = [&](const WeightTensor& t) {
    return t.part == part.part && t.layer_kind == part.layer_kind;
  };
  const auto first = std::find_if(tensors.begin(), tensors.end(), is_of);
  const auto end = std::find_if_not(first, tensors.end(), is_of);
  const auto from = static_cast<size_t>(first - tensors.begin());
  const auto size = static_cast<size_t>(end - first);
  return {tensors.subspan(from, size), weights.shards().subspan(from, size), part.state.frozen};
}

constexpr double kFp32Bytes = 4;

bool HasBias(const ArchitectureSpec& spec, int layer_kind) {
  if (layer_kind < 0) return false;
  const LayerSpec& layer = spec.layer_kinds[static_cast<size_t>(layer_kind)];
  return layer.experts.has_value() && layer.experts->expert.output_bias;
}

// Numbers of the optimizer a parameter; of Adafactor its rows and columns, which are few.
double NumbersOf(const OptimizerSpec& optimizer) {
  switch (optimizer.kind) {
    case OptimizerKind::kSgd:
      return 0;
    case OptimizerKind::kAdafactor:
      return optimizer.adafactor_momentum ? 1 : 0;
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamw:
      return 2;
    case OptimizerKind::kAdam8bit:
      return 0.5;  // two bytes, in numbers of four
    default:
      return 1;
  }
}

}  // namespace

PassWork FusedAccumulation(const Accumulation& of) {
  const double elements = of.elements * (1 - of.overlap * of.work_share);
  return {.read_bytes = elements * of.kept,
          .written_bytes = elements * std::max(of.kept - of.computed, 0.0)};
}

ModelOperations::ModelOperations(const ComputeInput& in, PricedOperations& priced)
    : in_(in),
      job_(in.model.job()),
      weights_(in.model.weights()),
      priced_(priced),
      pricer_(priced.pricer()),
      trace_{.spec = in.spec,
             .layout = job_.layout,
             .batch = job_.batch,
             .flow = in.model.flow(),
             .fused_projections = in.fused_projections,
             .narrow_products = in.types.narrow != DataType::kUnspecified} {}

void ModelOperations::ForEachPart(int64_t stage,
                                  absl::FunctionRef<void(const WorkPart&)> visit) const {
  using Kind = WorkPart::Kind;
  const LayerPlacement& placement = weights_.placement();
  if (stage == 0 && has_encoder()) visit({.kind = Kind::kEmbedding, .part = ModelPart::kEncoder});
  if (stage == placement.decoder_first_stage() && has_decoder()) {
    visit({.kind = Kind::kEmbedding, .part = ModelPart::kDecoder});
  }
  const ActivationContext activations = {in_.spec, job_.layout, job_.batch, in_.model.flow()};
  ChunkLayers(activations, placement, {.stage = stage})
      .ForEachAlike([&visit](const ActivationPlace& place) {
        visit({.part = place.part,
               .layer_kind = place.layer_kind,
               .count = place.layers,
               .state = place.state});
      });
  if (has_encoder() && has_decoder() && stage == placement.encoder_last_stage() &&
      in_.spec.encoder.final_norm) {
    visit({.kind = Kind::kFinalNorm, .part = ModelPart::kEncoder});
  }
  if (stage == weights_.stage_count() - 1) VisitOutput(visit);
}

void ModelOperations::VisitOutput(absl::FunctionRef<void(const WorkPart&)> visit) const {
  using Kind = WorkPart::Kind;
  const ModelPart last = has_decoder() ? ModelPart::kDecoder : ModelPart::kEncoder;
  const StackSpec& stack = has_decoder() ? in_.spec.decoder : in_.spec.encoder;
  if (stack.final_norm) visit({.kind = Kind::kFinalNorm, .part = last});
  visit({.kind = Kind::kOutput, .part = ModelPart::kOutput});
  if (!in_.spec.multi_token_prediction.has_value()) return;
  const MultiTokenPredictionSpec& modules = *in_.spec.multi_token_prediction;
  WorkPart part = {.kind = Kind::kModule,
                   .part = ModelPart::kMultiTokenPrediction,
                   .count = modules.module_count};
  visit(part);
  part.kind = Kind::kModuleLayer;
  part.layer_kind = modules.layer_kind;
  const GradientFlow* const flow = in_.model.flow();
  part.state = {.input_needs_gradient = flow == nullptr || flow->modules().layer_input};
  visit(part);
}

void ModelOperations::ForEach(const WorkPart& part, Visitor visit) {
  traced_.Clear();
  if (traced_.ops.capacity() == 0) {
    traced_.tensors.reserve(kOperations);
    traced_.ops.reserve(kOperations);
    traced_.backward.reserve(kOperations);
  }
  TracePart(part);
  PassWork work;
  const bool sends_tokens = job_.layout.expert_parallel_size > 1;
  // Captured graphs can't add them expert by expert: the host doesn't know their rows.
  const bool adds_bias = job_.buffers.transformer_engine && !in_.captured_graphs;
  for (const TraceOp& op : traced_.ops) {
    if (op.frozen_elements > 0 && part.layer_kind >= 0) VisitDequantisation(op, visit);
    VisitTimed(op, pricer_.PassRatioOf(op, sends_tokens), visit);
    if (adds_bias && std::holds_alternative<GroupedMatmulWork>(op.work)) {
      VisitExpertBias(part, op, visit);
    }
    if (op.gradient_elements == 0) continue;
    const PassWork added = AccumulationOf(op);
    work.read_bytes += added.read_bytes;
    work.written_bytes += added.written_bytes;
  }
  if (work.read_bytes + work.written_bytes <= 0) return;
  VisitTimed({.module = "gradients",
              .name = "accumulate",
              .pass = TracePass::kWeightGradient,
              .work = work},
             1, visit);
}

void ModelOperations::TracePart(const WorkPart& part) {
  const TraceWeights all = {weights_.model().tensors(), weights_.shards()};
  switch (part.kind) {
    case WorkPart::Kind::kEmbedding:
      return AppendEmbeddingTrace(trace_, all, part.part, traced_);
    case WorkPart::Kind::kFinalNorm:
      return AppendFinalNormTrace(trace_, all, part.part, traced_);
    case WorkPart::Kind::kOutput:
      return AppendOutputTrace(trace_, all, traced_);
    case WorkPart::Kind::kModule:
      return AppendModuleTrace(trace_, all, traced_);
    case WorkPart::Kind::kLayer:
    case WorkPart::Kind::kModuleLayer:
      return AppendLayerTrace(trace_, LayerWeightsOf(weights_, part),
                              {part.part, part.layer_kind, part.state}, traced_);
  }
}

// A quantised weight becomes one of the compute type before each product: e elements are read in
// b bits, with their scales, and written in c bytes. Source: Dettmers et al. 2023
// (arXiv 2305.14314) section 3, equation 5.
void ModelOperations::VisitDequantisation(const TraceOp& product, Visitor visit) {
  const FrozenWeightFormat& format = job_.state.frozen;
  if (format.data_type == DataType::kUnspecified) return;
  const double bytes = QuantizedBytesAnElement(format);
  VisitTimed({.module = product.module,
              .name = "dequantise",
              .pass = product.pass,
              .work = PassWork{.read_bytes = product.frozen_elements * bytes,
                               .written_bytes = product.frozen_elements * compute_bytes()}},
             1, visit);
}

void ModelOperations::VisitExpertBias(const WorkPart& part, const TraceOp& op, Visitor visit) {
  const auto bias = ExpertBias(op, in_.spec, part.layer_kind, compute_bytes());
  if (bias.has_value()) VisitTimed(*bias, pricer_.ratios().memory_pass, visit);
}

// `ratio`: of the time.
void ModelOperations::VisitTimed(const TraceOp& op, double ratio, Visitor visit) {
  visit(op, priced_.TimeOf(op) * ratio, pricer_.SourceOf(op));
}

bool WorkDependsOnCount(const MemoryJob& job) {
  return !job.buffers.fused_weight_gradient &&
         job.buffers.gradient_lifetime == GradientLifetime::kFromBackward &&
         ComputeBytesOf(job.batch) == StorageBytes(job.state.precision.gradient_data_type);
}

double ModelOperations::compute_bytes() const {
  return static_cast<double>(ComputeBytesOf(job_.batch));
}

double ModelOperations::gradient_bytes() const {
  return static_cast<double>(StorageBytes(job_.state.precision.gradient_data_type));
}

// Bytes that adding a micro-batch's gradients moves beyond the product that writes them once, of
// c bytes computed and g bytes kept:
//   fused into the product's epilogue        FusedAccumulation()
//   added to another tensor                  reads c and g, writes g: c + 2 g, in all
//     micro-batches but the first where both are of one type, whose tensor is the first's
//   divided among ranks (ZeRO stage 3)       none: they are reduced instead
// Source: docs/step_time.md, "Weight gradients".
PassWork ModelOperations::AccumulationOf(const TraceOp& op) const {
  const BufferSpec& buffers = job_.buffers;
  const double c = compute_bytes();
  const double g = gradient_bytes();
  const StateSharding& sharding = job_.state.sharding;
  const StateRanks ranks = StateRanksOf(job_.layout, sharding, job_.batch.context_parallel_size);
  const auto group = op.module == "experts" ? ShardGroup::kExpert : ShardGroup::kDense;
  if (DividesParameters(sharding) && ranks.of(group) > 1) return {};
  if (buffers.fused_weight_gradient) {
    return FusedAccumulation(
        {op.gradient_elements, c, g, pricer_.WorkShareOf(op), pricer_.ratios().gradient_overlap});
  }
  const bool own = WorkDependsOnCount(job_);
  const auto count = static_cast<double>(job_.pipeline.micro_batch_count);
  const double share = own ? (count - 1) / count : 1;
  const double elements = op.gradient_elements * share;
  return {.read_bytes = elements * (c + g), .written_bytes = elements * g};
}

// Norm, clip and optimizer of the parameters that this rank updates, and clearing the gradients
// that stay. Source: docs/step_time.md, "Once a step".
void ModelOperations::ForEachOfStep(const StageWeights& weights, Visitor visit) {
  const auto [held, updated] = RankParametersOf(job_, weights);
  if (updated == 0) return;
  const double gradients = updated * gradient_bytes();
  const bool offloaded = job_.state.sharding.offload_optimizer;
  const GradientOffload way = offloaded ? job_.state.gradient_offload : GradientOffload::kAtStep;
  const bool clips = !job_.state.optimizer.in_backward;
  if (clips && way != GradientOffload::kAddedOnHost) {
    VisitStepPass("gradient_norm", {.read_bytes = gradients, .sums_rows = true}, visit);
  }
  if (way != GradientOffload::kAtStep) return;
  if (clips) VisitStepPass("clip", {.read_bytes = gradients, .written_bytes = gradients}, visit);
  // In host memory, the host does it: offload_time.h.
  if (!offloaded) {
    VisitStepPass("optimizer", OptimizerPass(job_.state, updated), visit,
                  pricer_.ratios().optimizer);
  }
  if (job_.buffers.gradient_lifetime == GradientLifetime::kAlways) {
    VisitStepPass("clear_gradients", {.written_bytes = held * gradient_bytes()}, visit);
  }
}

void ModelOperations::VisitStepPass(absl::string_view name, const PassWork& work, Visitor visit,
                                    double ratio) {
  VisitTimed({.module = "step", .name = name, .pass = TracePass::kForward, .work = work}, ratio,
             visit);
}

absl::optional<TraceOp> ExpertBias(const TraceOp& product, const ArchitectureSpec& spec,
                                   int layer_kind, double element_bytes) {
  const auto* const work = std::get_if<GroupedMatmulWork>(&product.work);
  const bool forward = product.pass == TracePass::kForward;
  if (work == nullptr || product.name != "down" || !HasBias(spec, layer_kind)) return absl::nullopt;
  if (!forward && product.pass != TracePass::kInputGradient) return absl::nullopt;
  const double rows = static_cast<double>(work->experts) * work->rows_per_expert;
  const double elements = rows * static_cast<double>(forward ? work->n : work->k);
  const double e = element_bytes;
  TraceOp out = {.module = product.module, .name = "bias", .pass = product.pass};
  out.work = forward ? PassWork{.read_bytes = elements * (e + 3 * kFp32Bytes),
                                .written_bytes = elements * (e + 3 * kFp32Bytes)}
                     : PassWork{.read_bytes = elements * (2 * e + 5 * kFp32Bytes),
                                .written_bytes = elements * (2 * e + 3 * kFp32Bytes)};
  return out;
}

RankParameters RankParametersOf(const MemoryJob& job, const StageWeights& weights) {
  const StateSharding& sharding = job.state.sharding;
  const StateRanks ranks = StateRanksOf(job.layout, sharding, job.batch.context_parallel_size);
  RankParameters out;
  for (const ShardGroup group : {ShardGroup::kDense, ShardGroup::kExpert}) {
    const auto trainable = static_cast<double>(weights.of(group).trainable);
    const auto divided = static_cast<double>(ranks.of(group));
    out.held += DividesGradients(sharding) ? trainable / divided : trainable;
    out.updated += DividesOptimizer(sharding) ? trainable / divided : trainable;
  }
  return out;
}

PassWork OptimizerPass(const StateSpec& state, double parameters) {
  const PrecisionPolicy& precision = state.precision;
  const bool master = precision.master_weights.value_or(true);
  const auto gradient = static_cast<double>(StorageBytes(precision.gradient_data_type));
  const auto weight = static_cast<double>(StorageBytes(precision.weight_data_type));
  const double kept = NumbersOf(state.optimizer) *
                          static_cast<double>(StorageBytes(precision.optimizer_data_type)) +
                      (master ? kFp32Bytes : 0);
  return {.read_bytes = parameters * (gradient + kept + (master ? 0 : weight)),
          .written_bytes = parameters * (kept + weight)};
}

}  // namespace sextant
