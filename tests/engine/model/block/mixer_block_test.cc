// Mixers against what knows nothing of their programs: closed formulas of their modules, published
// FLOPs, and the tensors that the published forward code saves, line by line.
#include "engine/model/block/mixer_block.h"

#include <cstdint>
#include <string>

#include "engine/memory/activations/activations.h"
#include "engine/memory/transients/layer_transients.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/architecture/model_weights.h"
#include "engine/model/flops/count_flops.h"
#include "gtest/gtest.h"

namespace sextant {
namespace {

constexpr int64_t kHidden = 2048;

MixerSpec GatedDeltaNet() {
  return {.kind = MixerKind::kGatedDeltaNet,
          .head_count = 32,
          .head_size = 128,
          .group_count = 16,
          .state_size = 128,
          .convolution_size = 4};
}

MixerSpec KimiDelta() {
  return {.kind = MixerKind::kKimiDelta,
          .head_count = 32,
          .head_size = 128,
          .group_count = 32,
          .state_size = 128,
          .convolution_size = 4,
          .decay_rank = 128,
          .gate_rank = 128};
}

MixerSpec Mamba2() {
  return {.kind = MixerKind::kMamba2,
          .head_count = 64,
          .head_size = 64,
          .group_count = 8,
          .state_size = 128,
          .convolution_size = 4,
          .convolution_bias = true,
          .output_norm = true};
}

MixerSpec Mamba1() {
  return {.kind = MixerKind::kMamba1,
          .head_count = 4096,
          .head_size = 1,
          .group_count = 1,
          .state_size = 16,
          .convolution_size = 4,
          .convolution_bias = true,
          .decay_rank = 128,
          .inner_norms = true};
}

MixerSpec ShortConvolution() {
  return {.kind = MixerKind::kShortConvolution, .convolution_size = 3};
}

// A model of one layer that is the mixer with the norm before it, and nothing else.
ArchitectureSpec ModelOf(const MixerSpec& mixer, int64_t hidden_size = kHidden) {
  LayerSpec layer = {.name = "mixer", .norm = NormVariant::kRmsNorm};
  layer.norms = {.before_attention = true, .before_feed_forward = false};
  layer.mixer = mixer;
  ArchitectureSpec spec;
  spec.hidden_size = hidden_size;
  spec.norm = NormVariant::kRmsNorm;
  spec.embedding = {.vocabulary_size = 128};
  spec.layer_kinds = {layer};
  spec.decoder.layers = {{0, 1}};
  spec.output.head = OutputHeadKind::kTied;
  return spec;
}

int64_t LayerParameters(const MixerSpec& mixer) {
  const auto count = CountArchitecture(ModelOf(mixer), "model");
  EXPECT_TRUE(count.ok()) << count.status();
  if (!count.ok()) return 0;
  return count->by_layer_kind.at(0).total_per_layer - kHidden;  // the norm before it
}

// Source: the published modules, huggingface/transformers, models/qwen3_next, kimi_linear,
// mamba2, jamba and lfm2.
TEST(MixerBlockTest, ParametersAreThoseOfThePublishedModules) {
  const int64_t h = kHidden;
  EXPECT_EQ(LayerParameters(GatedDeltaNet()),
            h * (2 * 2048 + 2 * 4096) + h * 64 + 4 * (2 * 2048 + 4096) + 2 * 32 + 128 + 4096 * h);
  EXPECT_EQ(LayerParameters(KimiDelta()), 3 * h * 4096 + 3 * 4 * 4096 + 2 * (h * 128 + 128 * 4096) +
                                              h * 32 + 32 + 4096 + 128 + 4096 * h);
  EXPECT_EQ(LayerParameters(Mamba2()), h * (2 * 4096 + 2 * 8 * 128 + 64) +
                                           5 * (4096 + 2 * 8 * 128) + 3 * 64 + 4096 + 4096 * h);
  EXPECT_EQ(LayerParameters(Mamba1()), 2 * h * 4096 + 5 * 4096 + 4096 * (128 + 32) + 128 * 4096 +
                                           4096 + 4096 * 16 + 4096 + 4096 * h + 128 + 32);
  EXPECT_EQ(LayerParameters(ShortConvolution()), 3 * h * h + 3 * h + h * h);
  MixerSpec whole = KimiDelta();
  whole.decay_rank = whole.gate_rank = 0;
  EXPECT_EQ(LayerParameters(whole) - LayerParameters(KimiDelta()),
            2 * (h * 4096 - h * 128 - 128 * 4096));
}

PassFlops FlopsOf(const MixerSpec& mixer, FlopsComponent component) {
  const ArchitectureSpec spec = ModelOf(mixer);
  const StepFlops flops =
      CountFlops(spec, WeightsOf(spec), {.sequences = {{1, 4096, 0}}}, FlopsDetail::kComponents);
  PassFlops out;
  for (const ComponentFlops& row : flops.components) {
    if (row.component == component) out = out + row.per_token[0];
  }
  return out;
}

// Published for Qwen3.5-35B-A3B (30 such layers): convolutions 1,966,080 and recurrences
// 94,371,840 FLOPs a token forward; for Kimi-Linear-48B-A3B (20): 1,966,080 and 62,914,560.
// Backward: one product of the size for the gradient of each factor.
TEST(MixerBlockTest, FlopsAreTheRecurrences) {
  const PassFlops delta = FlopsOf(GatedDeltaNet(), FlopsComponent::kMixerCore);
  EXPECT_EQ(delta.forward.value() * 30, 94'371'840);
  EXPECT_EQ(delta.input_gradient.value(), 2 * delta.forward.value());
  EXPECT_EQ(delta.weight_gradient.value(), 0);
  EXPECT_EQ(FlopsOf(KimiDelta(), FlopsComponent::kMixerCore).forward.value() * 20, 62'914'560);
  EXPECT_EQ(FlopsOf(Mamba2(), FlopsComponent::kMixerCore).forward.value(), 4 * 64 * 128 * 64);
  EXPECT_EQ(FlopsOf(Mamba1(), FlopsComponent::kMixerCore).forward.value(), 6 * 4096 * 16);
  EXPECT_EQ(FlopsOf(ShortConvolution(), FlopsComponent::kMixerCore).forward.value(), 0);
  const PassFlops all = FlopsOf(GatedDeltaNet(), FlopsComponent::kMixer);
  const double convolution = 2 * 4 * (2 * 2048 + 4096);
  EXPECT_EQ(convolution * 30, 1'966'080);
  EXPECT_EQ(all.forward.value(), convolution + 2.0 * kHidden * (2 * 2048 + 2 * 4096 + 64 + 4096));
  EXPECT_EQ(all.input_gradient.value(), all.forward.value());
  EXPECT_EQ(all.weight_gradient.value(), all.forward.value());
}

// The tensors that autograd saves: each once, by its bytes a token.
class Saved {
 public:
  void Bf16(int64_t elements) { bytes_ += 2 * elements; }
  void Fp32(int64_t elements) { bytes_ += 4 * elements; }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

struct Sizes {
  int64_t h;
  int64_t n;
  int64_t p;
  int64_t g;
  int64_t d;
};
constexpr Sizes kSizes[] = {
    {2048, 32, 128, 16, 128}, {5120, 48, 128, 16, 128}, {1024, 8, 64, 8, 32}};

// Source: huggingface/transformers, models/qwen3_next/modeling_qwen3_next.py,
// Qwen3NextGatedDeltaNet.forward(), with the kernels of flash-linear-attention.
int64_t SavedByGatedDeltaNet(const Sizes& z) {
  Saved saved;
  saved.Bf16(z.h);                        // RMSNorm: its input
  saved.Bf16(z.h);                        // in_proj_qkvz and in_proj_ba: the same input
  saved.Bf16(2 * z.g * z.d + z.n * z.p);  // causal_conv1d: x; silu is computed again
  saved.Fp32(z.n);                        // softplus: a + dt_bias
  saved.Fp32(z.n);                        // times exp(A_log): softplus' output
  saved.Bf16(z.n);                        // sigmoid: its output, which the kernel saves, too
  saved.Bf16(z.n * z.d);                  // the kernel: q, after l2norm, repeated
  saved.Bf16(z.n * z.d);                  // k
  saved.Fp32(z.n);                        // 1 / norm of q
  saved.Fp32(z.n);                        // of k
  saved.Bf16(z.n * z.p);                  // v
  saved.Fp32(z.n);                        // g, summed up
  saved.Bf16(z.n * 64);                   // A
  saved.Bf16(z.n * z.p);                  // gated norm: x
  saved.Bf16(z.n * z.p);                  // gated norm: z
  saved.Bf16(z.n * z.p);                  // out_proj: its input
  return saved.bytes();
}

// Source: fla/layers/kda.py, KimiDeltaAttention.forward(), and fla/ops/kda/chunk.py, whose gate is
// computed in the kernel.
int64_t SavedByKimiDelta(const Sizes& z) {
  Saved saved;
  saved.Bf16(2 * z.h);  // the norm's input; that of q_proj, k_proj, v_proj, f_proj, b_proj, g_proj
  saved.Bf16(z.n * z.d);  // q_conv1d: x
  saved.Bf16(z.n * z.d);  // k_conv1d
  saved.Bf16(z.n * z.p);  // v_conv1d
  saved.Bf16(z.d);        // f_proj: between its two matrices
  saved.Bf16(z.p);        // g_proj: the same
  saved.Bf16(z.n * z.d);  // the kernel: q, normalised
  saved.Bf16(z.n * z.d);  // k
  saved.Fp32(2 * z.n);    // 1 / norms
  saved.Bf16(z.n * z.p);  // v
  saved.Bf16(z.n * z.d);  // g before its gate
  saved.Bf16(z.n);        // beta before its sigmoid
  saved.Bf16(z.n);        // beta
  saved.Bf16(z.n * 64);   // Aqk
  saved.Bf16(z.n * 64);   // Akk
  saved.Bf16(z.n * z.p);  // o_norm: x
  saved.Bf16(z.n * z.p);  // o_norm: the gate
  saved.Bf16(z.n * z.p);  // o_proj: its input
  return saved.bytes();
}

// Source: NVIDIA/Megatron-LM, megatron/core/ssm/mamba_mixer.py, _ssm_training(), and
// MambaSplitConv1dScanCombinedFn.forward() of mamba_ssm without a norm and an output matrix.
int64_t SavedByMamba2(const Sizes& z) {
  Saved saved;
  saved.Bf16(2 * z.h);                              // the norm's and in_proj's input
  saved.Bf16(2 * z.n * z.p + 2 * z.g * z.d + z.n);  // zxbcdt
  saved.Bf16(z.n * z.p);                            // out_x
  saved.Bf16(z.n * z.p);                            // norm: its input
  saved.Bf16(z.n * z.p);                            // out_proj: its input
  return saved.bytes();
}

// Source: huggingface/transformers, models/lfm2/modeling_lfm2.py,
// Lfm2ShortConv.cuda_kernels_forward().
int64_t SavedByShortConvolution(const Sizes& z) {
  Saved saved;
  saved.Bf16(2 * z.h);  // the norm's and in_proj's input
  saved.Bf16(3 * z.h);  // B, C, x
  saved.Bf16(z.h);      // B x: the convolution's input
  saved.Bf16(z.h);      // its output
  saved.Bf16(z.h);      // out_proj: its input
  return saved.bytes();
}

struct JobOf {
  MicroBatchSpec batch = {.sequence_count = 3, .sequence_length = 1024};
  ParallelLayout layout = {};
};

int64_t KeptBytes(const ArchitectureSpec& spec, const JobOf& job = {}) {
  const ActivationContext context = {spec, job.layout, job.batch, nullptr};
  LayerWalks walks;
  return walks.Of(context, {.layer_kind = 0}).kept.value();
}

MixerSpec WithSizes(MixerSpec mixer, const Sizes& z) {
  mixer.head_count = z.n;
  mixer.head_size = z.p;
  mixer.group_count = z.g;
  mixer.state_size = z.d;
  return mixer;
}

TEST(MixerBlockTest, KeptBytesAreThoseOfThePublishedCode) {
  for (const Sizes& z : kSizes) {
    const int64_t tokens = 3 * 1024;
    EXPECT_EQ(KeptBytes(ModelOf(WithSizes(GatedDeltaNet(), z), z.h)),
              tokens * SavedByGatedDeltaNet(z));
    MixerSpec kimi = WithSizes(KimiDelta(), z);
    kimi.group_count = z.n;
    kimi.decay_rank = z.d;
    kimi.gate_rank = z.p;
    EXPECT_EQ(KeptBytes(ModelOf(kimi, z.h)), tokens * SavedByKimiDelta(z));
    EXPECT_EQ(KeptBytes(ModelOf(WithSizes(Mamba2(), z), z.h)), tokens * SavedByMamba2(z));
    EXPECT_EQ(KeptBytes(ModelOf(ShortConvolution(), z.h)), tokens * SavedByShortConvolution(z));
  }
}

// Ranks divide all but the block's input, which sequence parallelism divides; latents are whole.
TEST(MixerBlockTest, TensorParallelRanksDivideWhatTheyKeep) {
  const Sizes z = kSizes[0];
  JobOf job;
  job.layout.tensor_parallel_size = 4;
  const int64_t tokens = 3 * 1024;
  const int64_t ends = tokens * 2 * 2 * z.h;
  const int64_t all = tokens * SavedByGatedDeltaNet(z);
  EXPECT_EQ(KeptBytes(ModelOf(GatedDeltaNet()), job), ends + (all - ends) / 4);
  job.batch.sequence_parallel = true;
  EXPECT_EQ(KeptBytes(ModelOf(GatedDeltaNet()), job), all / 4);
}

// A layer that is computed again keeps its input alone.
TEST(MixerBlockTest, FullRecomputationKeepsTheInput) {
  JobOf job;
  job.batch.recomputation.policy = RecomputePolicy::kFull;
  EXPECT_EQ(KeptBytes(ModelOf(Mamba2()), job), 3 * 1024 * 2 * kHidden);
}

// At the peak of the gated delta net's backward pass, in its core: by hand from the kernels' code.
// Gradients of the residual, of the core's output and gate, of beta and decay, of what was
// convolved; 4 (N + p) numbers a head made again; two states a chunk.
TEST(MixerBlockTest, TransientsOfACoreAreCountedByHand) {
  const ArchitectureSpec spec = ModelOf(GatedDeltaNet());
  const JobOf job;
  const ActivationContext activations = {spec, job.layout, job.batch, nullptr};
  const LayerPlacement placement(spec, job.layout);
  const BufferSpec buffers = {.fused_weight_gradient = true};
  const TransientContext context = {activations, placement, buffers};
  const ActivationPlace place = {.layer_kind = 0};
  const LayerSteps steps = LayerStepsOf(activations, place);
  const int64_t tokens = 3 * 1024;
  const int64_t residual = 2 * kHidden;
  const int64_t heads = 2 * 32 * 128;
  const int64_t gradients = 2 * heads + 2 * (2 * 2048 + 4096) + 2 * 64;
  const int64_t again = 2 * 32 * 4 * (128 + 128);
  const int64_t states = 2 * 2 * 3 * (1024 / 64) * 32 * 128 * 128;
  // Freed before: the inputs of the output matrix and of the gated norm.
  const int64_t freed = tokens * 3 * heads;
  const LayerPeak peak = BackwardOf(context, place, steps);
  EXPECT_EQ(peak.added.value(), tokens * (residual + gradients + again) + states);
  EXPECT_EQ(peak.freed.value(), freed);
}

struct Fault {
  std::string field;
  void (*make)(MixerSpec&);
};

TEST(MixerBlockTest, RefusesWhatItsKindHasNot) {
  const Fault faults[] = {
      {"kind", [](MixerSpec& m) { m.kind = MixerKind::kUnspecified; }},
      {"convolution_size", [](MixerSpec& m) { m.convolution_size = 0; }},
      {"head_count", [](MixerSpec& m) { m.head_count = -1; }},
      {"head_size", [](MixerSpec& m) { m.head_size = 0; }},
      {"state_size", [](MixerSpec& m) { m.state_size = int64_t{1} << 60; }},
      {"group_count", [](MixerSpec& m) { m.group_count = 3; }},
      {"decay_rank", [](MixerSpec& m) { m.decay_rank = 8; }},
      {"gate_rank", [](MixerSpec& m) { m.gate_rank = 8; }},
      {"inner_norms", [](MixerSpec& m) { m.inner_norms = true; }},
  };
  for (const Fault& fault : faults) {
    ArchitectureSpec spec = ModelOf(Mamba2());
    fault.make(*spec.layer_kinds[0].mixer);
    FieldViolations violations;
    CheckArchitecture(spec, "model", violations);
    ASSERT_FALSE(violations.all().empty()) << fault.field;
    EXPECT_EQ(violations.all().front().field, "model.layer_kinds[0].mixer." + fault.field);
  }
}

// Heads and groups are divided; Mamba-1 is not.
TEST(MixerBlockTest, RefusesRanksThatCannotDivideIt) {
  const auto refused = [](const MixerSpec& mixer, int64_t ranks) {
    FieldViolations violations;
    CheckLayout(ModelOf(mixer), {.tensor_parallel_size = ranks}, "layout", violations);
    return !violations.all().empty();
  };
  EXPECT_FALSE(refused(Mamba2(), 8));
  EXPECT_TRUE(refused(Mamba2(), 16));  // of 8 groups
  EXPECT_FALSE(refused(Mamba1(), 1));
  EXPECT_TRUE(refused(Mamba1(), 2));
}

}  // namespace
}  // namespace sextant
