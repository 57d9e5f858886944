#include "engine/time/stage_compute.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "engine/base/status_macros.h"
#include "engine/memory/activations/activations.h"
#include "engine/memory/state/state_rules.h"
#include "engine/model/trace/end_trace.h"
#include "engine/model/trace/layer_trace.h"
#include "engine/time/expert_bias.h"

namespace sextant {
namespace {

constexpr double kFp32Bytes = 4;
constexpr double kHidden = 0.4;
// To trace and to price a stage, in CallWork's steps: up to 25 us.
constexpr int64_t kStepsAStage = 2000;
// The operations of a usual stage; more are allocated as they come.
constexpr size_t kOperations = 64;
constexpr size_t kStepOperations = 4;

// The operations of one stage, priced.
class StageOperations {
 public:
  StageOperations(const ComputeInput& in, const OperationPricer& pricer)
      : in_(in),
        job_(in.model.job()),
        weights_(in.model.weights()),
        pricer_(pricer),
        trace_{.spec = in.spec,
               .layout = job_.layout,
               .batch = job_.batch,
               .flow = in.model.flow(),
               .fused_projections = in.fused_projections,
               .narrow_products = in.types.narrow != DataType::kUnspecified} {}

  StageCompute Of(int64_t stage) {
    out_ = {.first_stage = stage};
    out_.operations.reserve(kOperations);
    out_.step_operations.reserve(kStepOperations);
    traced_.tensors.reserve(kOperations);
    traced_.ops.reserve(kOperations);
    traced_.backward.reserve(kOperations);
    AddEmbeddings(stage);
    AddLayers(stage);
    AddOutput(stage);
    AddStep(stage);
    SumUp();
    return std::move(out_);
  }

 private:
  // Where operations of a trace are.
  struct Place {
    ModelPart part = ModelPart::kInput;
    int layer_kind = -1;
    int64_t layers = 1;
  };

  bool has_encoder() const { return !in_.spec.encoder.layers.empty(); }
  bool has_decoder() const { return !in_.spec.decoder.layers.empty(); }
  TraceWeights AllWeights() const { return {weights_.model().tensors(), weights_.shards()}; }

  // The tensors of one kind of layer are adjacent.
  TraceWeights WeightsOf(ModelPart part, int kind, bool frozen) const {
    const absl::Span<const WeightTensor> tensors = weights_.model().tensors();
    const auto is_of = [&](const WeightTensor& t) {
      return t.part == part && t.layer_kind == kind;
    };
    const auto first = std::find_if(tensors.begin(), tensors.end(), is_of);
    const auto end = std::find_if_not(first, tensors.end(), is_of);
    const auto from = static_cast<size_t>(first - tensors.begin());
    const auto size = static_cast<size_t>(end - first);
    return {tensors.subspan(from, size), weights_.shards().subspan(from, size), frozen};
  }

  void AddEmbeddings(int64_t stage) {
    const LayerPlacement& placement = weights_.placement();
    if (stage == 0 && has_encoder()) AddEmbedding(ModelPart::kEncoder);
    if (stage == placement.decoder_first_stage() && has_decoder()) {
      AddEmbedding(ModelPart::kDecoder);
    }
  }

  void AddEmbedding(ModelPart part) {
    traced_.Clear();
    AppendEmbeddingTrace(trace_, AllWeights(), part, traced_);
    Price({.part = part});
  }

  void AddLayers(int64_t stage) {
    const ActivationContext activations = {in_.spec, job_.layout, job_.batch, in_.model.flow()};
    const LayerPlacement& placement = weights_.placement();
    ChunkLayers(activations, placement, {.stage = stage})
        .ForEachAlike([this](const ActivationPlace& place) {
          AddLayer({place.part, place.layer_kind, place.layers}, place.state);
        });
    if (has_encoder() && has_decoder() && stage == placement.encoder_last_stage()) {
      AddFinalNorm(ModelPart::kEncoder, in_.spec.encoder);
    }
  }

  void AddLayer(const Place& place, const LayerGradientState& state) {
    for (const TimedOperation& each : PricedLayer(place, state)) {
      TimedOperation& added = out_.operations.emplace_back(each);
      added.layers = place.layers;
      added.time = each.time * static_cast<double>(place.layers);
    }
  }

  // One layer like that of `place`: stages share them.
  const std::vector<TimedOperation>& PricedLayer(const Place& place,
                                                 const LayerGradientState& state) {
    for (const LayerOperations& each : layers_) {
      if (each.part == place.part && each.layer_kind == place.layer_kind &&
          each.state.frozen == state.frozen &&
          each.state.input_needs_gradient == state.input_needs_gradient) {
        return each.operations;
      }
    }
    LayerOperations& out = layers_.emplace_back();
    out = {place.part, place.layer_kind, state};
    out.operations.reserve(kOperations);
    traced_.Clear();
    AppendLayerTrace(trace_, WeightsOf(place.part, place.layer_kind, state.frozen),
                     {place.part, place.layer_kind, state}, traced_);
    Price({place.part, place.layer_kind}, out.operations);
    return out.operations;
  }

  void AddFinalNorm(ModelPart part, const StackSpec& stack) {
    if (!stack.final_norm) return;
    traced_.Clear();
    AppendFinalNormTrace(trace_, AllWeights(), part, traced_);
    Price({.part = part});
  }

  void AddOutput(int64_t stage) {
    if (stage != weights_.stage_count() - 1) return;
    const bool decoder = has_decoder();
    AddFinalNorm(decoder ? ModelPart::kDecoder : ModelPart::kEncoder,
                 decoder ? in_.spec.decoder : in_.spec.encoder);
    traced_.Clear();
    AppendOutputTrace(trace_, AllWeights(), traced_);
    Price({.part = ModelPart::kOutput});
    if (!in_.spec.multi_token_prediction.has_value()) return;
    const MultiTokenPredictionSpec& modules = *in_.spec.multi_token_prediction;
    Place place = {.part = ModelPart::kMultiTokenPrediction, .layers = modules.module_count};
    traced_.Clear();
    AppendModuleTrace(trace_, AllWeights(), traced_);
    Price(place);
    place.layer_kind = modules.layer_kind;
    const bool needs = in_.model.flow() == nullptr || in_.model.flow()->modules().layer_input;
    AddLayer(place, {.input_needs_gradient = needs});
  }

  void Price(const Place& place) { Price(place, out_.operations); }
  void Price(const Place& place, std::vector<TimedOperation>& to) {
    PassWork work;
    for (const TraceOp& op : traced_.ops) {
      if (op.frozen_elements > 0 && place.layer_kind >= 0) AddDequantisation(place, op, to);
      AddTimed(place, op, to, pricer_.PassRatioOf(op));
      AddExpertBias(place, op, to);
      if (op.gradient_elements == 0) continue;
      const PassWork added = AccumulationOf(op);
      work.read_bytes += added.read_bytes;
      work.written_bytes += added.written_bytes;
    }
    if (work.read_bytes + work.written_bytes <= 0) return;
    const TraceOp op = {.module = "gradients",
                        .name = "accumulate",
                        .pass = TracePass::kWeightGradient,
                        .work = work};
    AddTimed(place, op, to);
  }

  // A quantised weight becomes one of the compute type before each product: e elements are read in
  // b bits, with their scales, and written in c bytes. Source: Dettmers et al. 2023
  // (arXiv 2305.14314) section 3, equation 5.
  void AddDequantisation(const Place& place, const TraceOp& product,
                         std::vector<TimedOperation>& to) {
    const FrozenWeightFormat& format = job_.state.frozen;
    if (format.data_type == DataType::kUnspecified) return;
    const double bytes = QuantizedBytesAnElement(format);
    AddTimed(place,
             {.module = product.module,
              .name = "dequantise",
              .pass = product.pass,
              .work = PassWork{.read_bytes = product.frozen_elements * bytes,
                               .written_bytes = product.frozen_elements * compute_bytes()}},
             to);
  }

  // Captured graphs can't add them expert by expert: the host doesn't know their rows.
  void AddExpertBias(const Place& place, const TraceOp& op, std::vector<TimedOperation>& to) {
    if (!job_.buffers.transformer_engine || in_.captured_graphs) return;
    const auto bias = ExpertBias(op, in_.spec, place.layer_kind, compute_bytes());
    if (bias.has_value()) AddTimed(place, *bias, to, pricer_.ratios().memory_pass);
  }

  // Layers have many passes of the same size.
  KernelTime TimeOf(const TraceOp& op) {
    const auto* pass = std::get_if<PassWork>(&op.work);
    if (pass == nullptr) return pricer_.TimeOf(op);
    for (const PricedPass& priced : passes_) {
      if (priced.work == *pass) return priced.time;
    }
    PricedPass& next = passes_[next_pass_++ % passes_.size()];
    next = {*pass, pricer_.TimeOf(op)};
    return next.time;
  }

  // `ratio`: of the time.
  void AddTimed(const Place& place, const TraceOp& op, std::vector<TimedOperation>& to,
                double ratio = 1) {
    const KernelTime time = TimeOf(op) * (static_cast<double>(place.layers) * ratio);
    to.push_back({.part = place.part,
                  .layer_kind = place.layer_kind,
                  .layers = place.layers,
                  .op = op,
                  .time = time,
                  .source = pricer_.SourceOf(op)});
  }

  double compute_bytes() const { return static_cast<double>(ComputeBytesOf(job_.batch)); }
  double gradient_bytes() const {
    return static_cast<double>(StorageBytes(job_.state.precision.gradient_data_type));
  }

  // Bytes that adding a micro-batch's gradients moves beyond the product that writes them once, of
  // c bytes computed and g bytes kept:
  //   fused into the product's epilogue        FusedAccumulation()
  //   added to another tensor                  reads c and g, writes g: c + 2 g, in all
  //     micro-batches but the first where both are of one type, whose tensor is the first's
  //   divided among ranks (ZeRO stage 3)       none: they are reduced instead
  // Source: docs/step_time.md, "Weight gradients".
  PassWork AccumulationOf(const TraceOp& op) const {
    const BufferSpec& buffers = job_.buffers;
    const double c = compute_bytes();
    const double g = gradient_bytes();
    if (DividesParameters(job_.state.sharding)) return {};
    if (buffers.fused_weight_gradient) {
      return FusedAccumulation({op.gradient_elements, c, g, pricer_.WorkShareOf(op)});
    }
    const bool own = buffers.gradient_lifetime == GradientLifetime::kFromBackward && c == g;
    const auto count = static_cast<double>(job_.pipeline.micro_batch_count);
    const double share = own ? (count - 1) / count : 1;
    const double elements = op.gradient_elements * share;
    return {.read_bytes = elements * (c + g), .written_bytes = elements * g};
  }

  // Norm, clip and optimizer of the parameters that this rank updates, and clearing the gradients
  // that stay. Source: docs/step_time.md, "Once a step".
  void AddStep(int64_t stage) {
    const StateSharding& sharding = job_.state.sharding;
    const StateRanks ranks = StateRanksOf(job_.layout, sharding, job_.batch.context_parallel_size);
    const StageWeights weights = weights_.Stage(stage);
    double held = 0;
    double updated = 0;
    for (const ShardGroup group : {ShardGroup::kDense, ShardGroup::kExpert}) {
      const auto trainable = static_cast<double>(weights.of(group).trainable);
      const auto divided = static_cast<double>(ranks.of(group));
      held += DividesGradients(sharding) ? trainable / divided : trainable;
      updated += DividesOptimizer(sharding) ? trainable / divided : trainable;
    }
    if (updated == 0) return;
    const double gradients = updated * gradient_bytes();
    AddStepPass("gradient_norm", {.read_bytes = gradients, .sums_rows = true});
    AddStepPass("clip", {.read_bytes = gradients, .written_bytes = gradients});
    AddOptimizer(updated);
    if (job_.buffers.gradient_lifetime == GradientLifetime::kAlways) {
      AddStepPass("clear_gradients", {.written_bytes = held * gradient_bytes()});
    }
  }

  // Reads gradients, reads and writes the master weights and the optimizer's numbers, and writes
  // the weights. In host memory, the host does it.
  void AddOptimizer(double updated) {
    const StateSpec& state = job_.state;
    if (state.sharding.offload_optimizer) return;
    const PrecisionPolicy& precision = state.precision;
    const bool master = precision.master_weights.value_or(true);
    const auto weight = static_cast<double>(StorageBytes(precision.weight_data_type));
    const double kept = NumbersOf(state.optimizer) *
                            static_cast<double>(StorageBytes(precision.optimizer_data_type)) +
                        (master ? kFp32Bytes : 0);
    AddStepPass("optimizer",
                {.read_bytes = updated * (gradient_bytes() + kept + (master ? 0 : weight)),
                 .written_bytes = updated * (kept + weight)});
  }

  // Numbers of the optimizer a parameter; of Adafactor its rows and columns, which are few.
  static double NumbersOf(const OptimizerSpec& optimizer) {
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

  void AddStepPass(absl::string_view name, const PassWork& work) {
    AddTimed({}, {.module = "step", .name = name, .pass = TracePass::kForward, .work = work},
             out_.step_operations);
  }

  void SumUp() {
    TimeSum forward;
    TimeSum backward;
    TimeSum both;
    TimeSum step;
    for (const TimedOperation& each : out_.operations) {
      const absl::optional<KernelKind> kind = KernelKindOf(each.op);
      if (!kind.has_value()) continue;
      (each.op.pass == TracePass::kForward ? forward : backward).Add(*kind, each.time);
      both.Add(*kind, each.time);
      const auto layers = static_cast<double>(each.layers);
      out_.flops += each.op.flops * layers;
      out_.host.launches += each.op.launches * each.layers;
    }
    for (const TimedOperation& each : out_.step_operations) {
      step.Add(KernelKind::kMemoryPass, each.time);
    }
    out_.forward = forward.interval();
    out_.backward = backward.interval();
    out_.micro_batch = both.interval();
    out_.step = step.interval();
    if (in_.captured_graphs) out_.host.launches = 0;
    const auto launches = static_cast<double>(out_.host.launches);
    out_.host.seconds = {Seconds(launches * HostCosts::kLowLaunchSeconds),
                         Seconds(launches * HostCosts::kLaunchSeconds),
                         Seconds(launches * HostCosts::kHighLaunchSeconds)};
    out_.host.bound = out_.host.seconds.expected > out_.micro_batch.expected;
  }

  struct PricedPass {
    PassWork work = {};
    KernelTime time = {};
  };
  struct LayerOperations {
    ModelPart part = ModelPart::kDecoder;
    int layer_kind = 0;
    LayerGradientState state = {};
    std::vector<TimedOperation> operations = {};  // of one layer
  };

  const ComputeInput& in_;
  const MemoryJob& job_;
  const ShardedWeights& weights_;
  const OperationPricer& pricer_;
  const TraceContext trace_;
  Trace traced_;
  std::array<PricedPass, 8> passes_ = {};  // the last ones
  size_t next_pass_ = 0;
  std::vector<LayerOperations> layers_;
  StageCompute out_;
};

}  // namespace

PassWork FusedAccumulation(const Accumulation& of) {
  const double elements = of.elements * (1 - kHidden * of.work_share);
  return {.read_bytes = elements * of.kept,
          .written_bytes = elements * std::max(of.kept - of.computed, 0.0)};
}

StageCompute ComputeOf(const ComputeInput& in, const OperationPricer& pricer, int64_t stage) {
  return StageOperations(in, pricer).Of(stage);
}

absl::Status ForEachStageCompute(const ComputeInput& in, const OperationPricer& pricer,
                                 CallWork& work, ComputeVisitor visit) {
  const std::vector<bool> alike =
      AlikeStages(in.spec, in.model.job(), in.model.weights().placement());
  StageOperations operations(in, pricer);
  int64_t next = 0;
  for (int64_t stage = 0; stage < in.model.stage_count(); stage = next) {
    for (++next; next < in.model.stage_count() && alike[static_cast<size_t>(next)];) ++next;
    SEXTANT_RETURN_IF_ERROR(work.Spend(kStepsAStage));
    StageCompute compute = operations.Of(stage);
    compute.stage_count = next - stage;
    SEXTANT_RETURN_IF_ERROR(visit(std::move(compute)));
  }
  return absl::OkStatus();
}

}  // namespace sextant
