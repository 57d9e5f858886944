// Activations that wait for the second half of a backward pass: inputs of matrices and gradients of
// their outputs, by hand.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "engine/model/presets/presets.h"
#include "tests/engine/memory/activations/activation_cases.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

StageParts AwaitingOf(const ActivationCase& c, const StageChunk& where,
                      ActivationTensors* rows = nullptr) {
  const LayerPlacement placement(c.spec, c.layout);
  const auto parts = AwaitingActivations(c.context(), placement, where, rows);
  EXPECT_THAT(parts, IsOk());
  return parts.value_or(StageParts());
}

// Bytes of all layers of rows by "module.name".
std::map<std::string, int64_t> RowsOf(const ActivationCase& c, int64_t stage = 0) {
  ActivationTensors rows;
  AwaitingOf(c, {.stage = stage}, &rows);
  std::map<std::string, int64_t> out;
  for (const ActivationTensor& row : rows) {
    out[std::string(row.module) + "." + std::string(row.name)] += row.size.value() * row.layers;
  }
  return out;
}

// arXiv 2401.10241, section 2, table 1: M_W = 32 sbh a layer, whatever its core attention keeps.
// Inputs 2 + 2 + 2 + 8, gradients of outputs 6 + 2 + 8 + 2; tensor parallelism cuts 24 of them,
// sequence parallelism the rest.
TEST(AwaitingActivations, OfAGptLayerIsThePapers) {
  constexpr int64_t kLength = 512;
  constexpr int64_t kHidden = 1024;
  ActivationCase c = PublishedGpt(kHidden, 16, kLength);
  c.batch.sequence_count = 3;
  const int64_t sbh = kLength * kHidden * 3;
  const auto layers = [&] { return AwaitingOf(c, {.stage = 0}).layers.value(); };
  EXPECT_EQ(layers(), 2 * 32 * sbh);  // two layers
  for (const RecomputePolicy policy : {RecomputePolicy::kSelective, RecomputePolicy::kFull}) {
    c.batch.recomputation = {.policy = policy};
    EXPECT_EQ(layers(), 2 * 32 * sbh);
  }
  c.batch.attention = AttentionKernel::kFlash;
  c.batch.dropout = false;
  EXPECT_EQ(layers(), 2 * 32 * sbh);
  c.layout.tensor_parallel_size = 4;
  EXPECT_EQ(layers(), 2 * (24 * sbh / 4 + 8 * sbh));
  c.batch.sequence_parallel = true;
  EXPECT_EQ(layers(), 2 * 32 * sbh / 4);
}

// Llama-3-8B, 32 layers: h 4096, 32 query heads and 8 of keys and values of 128, f 14336.
TEST(AwaitingActivations, OfGroupedHeadsAndAGate) {
  ActivationCase c = {.spec = FindModelPreset("llama-3-8b").value()->architecture,
                      .layout = {.pipeline_parallel_size = 2}};
  c.batch = {.sequence_length = 10};
  std::map<std::string, int64_t> rows = RowsOf(c);
  constexpr int64_t kNumbers = 2 * 10 * 16;  // bytes, tokens, layers
  EXPECT_EQ(rows["attention.input"], kNumbers * 4096);
  EXPECT_EQ(rows["attention.query.output_gradient"], kNumbers * 4096);
  EXPECT_EQ(rows["attention.key.output_gradient"], kNumbers * 1024);
  EXPECT_EQ(rows["attention.value.output_gradient"], kNumbers * 1024);
  EXPECT_EQ(rows["attention.heads"], kNumbers * 4096);
  EXPECT_EQ(rows["attention.output.output_gradient"], kNumbers * 4096);
  EXPECT_EQ(rows["feed_forward.input"], kNumbers * 4096);
  EXPECT_EQ(rows["feed_forward.gate.output_gradient"], kNumbers * 14336);
  EXPECT_EQ(rows["feed_forward.up.output_gradient"], kNumbers * 14336);
  EXPECT_EQ(rows["feed_forward.down_input"], kNumbers * 14336);
  EXPECT_EQ(rows["feed_forward.down.output_gradient"], kNumbers * 4096);
  EXPECT_EQ(rows.size(), 11u);
}

// The head's input, 2 h, and the logits' gradient, 2 V: far less than the fp32 softmax that it
// kept. Gradients of a chunked loss are all computed in the forward pass.
TEST(AwaitingActivations, OfAHead) {
  ActivationCase c = {.spec = FindModelPreset("llama-3-8b").value()->architecture,
                      .layout = {.pipeline_parallel_size = 2}};
  c.batch = {.sequence_length = 10};
  const auto output = [&] { return AwaitingOf(c, {.stage = 1}).output.value(); };
  for (const LossKind loss : {LossKind::kPlain, LossKind::kVocabularyParallel, LossKind::kFused}) {
    c.batch.loss = loss;
    EXPECT_EQ(output(), 10 * (2 * 4096 + 2 * 128256));
  }
  c.batch.loss = LossKind::kChunked;
  c.batch.loss_chunk_tokens = 5;
  EXPECT_EQ(output(), 0);
}

// DeepSeek-V3's last layer kind, a token: 128 heads of 192 and 128, latents of 1536 and 512 + 64,
// 8 of 256 experts of 2048 and a shared one.
TEST(AwaitingActivations, OfLatentsAndExperts) {
  ActivationCase c = {.spec = FindModelPreset("deepseek-v3").value()->architecture,
                      .layout = {.pipeline_parallel_size = 61}};
  c.batch = {.sequence_length = 4};
  std::map<std::string, int64_t> rows = RowsOf(c, 30);
  constexpr int64_t kNumbers = 2 * 4;
  EXPECT_EQ(rows["attention.query_down.output_gradient"], kNumbers * 1536);
  EXPECT_EQ(rows["attention.query.output_gradient"], kNumbers * 128 * 192);
  EXPECT_EQ(rows["attention.key_value_down.output_gradient"], kNumbers * (512 + 64));
  EXPECT_EQ(rows["attention.key_value_up.output_gradient"], kNumbers * 128 * (128 + 128));
  EXPECT_EQ(rows["attention.query_latent_normed"], kNumbers * 1536);
  EXPECT_EQ(rows["attention.key_value_latent_normed"], kNumbers * 512);
  EXPECT_EQ(rows.count("attention.query_latent"), 0u);  // the norm's
  EXPECT_EQ(rows["router.output_gradient"], 4 * 4 * 256);
  EXPECT_EQ(rows["experts.input"], kNumbers * 8 * 7168);
  EXPECT_EQ(rows["experts.gate.output_gradient"], kNumbers * 8 * 2048);
  EXPECT_EQ(rows["experts.up.output_gradient"], kNumbers * 8 * 2048);
  EXPECT_EQ(rows["experts.down_input"], kNumbers * 8 * 2048);
  EXPECT_EQ(rows["experts.down.output_gradient"], kNumbers * 8 * 7168);
  EXPECT_EQ(rows["shared_experts.down.output_gradient"], kNumbers * 7168);
}

// Frozen matrices have no weight gradient; their adapters, of rank r, do: x, the inner tensor, its
// gradient, and the gradient of the output that they add to.
TEST(AwaitingActivations, OfAdaptersAlone) {
  ActivationCase c = {.spec = FindModelPreset("llama-3-8b").value()->architecture};
  c.batch = {.sequence_length = 10};
  c.spec.base_frozen = true;
  c.spec.adapters = AdapterSpec{.rank = 8, .targets = {{"feed_forward", "down"}}};
  const GradientFlow flow(c.spec);
  const LayerPlacement placement(c.spec, c.layout);
  const ActivationContext context = {c.spec, c.layout, c.batch, &flow};
  const auto parts = AwaitingActivations(context, placement, {.stage = 0});
  ASSERT_THAT(parts, IsOk());
  EXPECT_EQ(parts->layers.value(), 32 * 10 * 2 * (14336 + 4096 + 2 * 8));
  EXPECT_EQ(parts->output.value(), 0);
}

// Parallel branches end in one sum, whose gradient both of their last matrices read.
TEST(AwaitingActivations, OfParallelBranchesHaveOneGradientOfTheSum) {
  ActivationCase c = PublishedGpt(64, 4, 8);
  c.batch.dropout = false;
  const Bytes in_turn = AwaitingOf(c, {.stage = 0}).layers;
  c.spec.layer_kinds[0].norms.before_feed_forward = false;
  const Bytes parallel = AwaitingOf(c, {.stage = 0}).layers;
  // One input and one gradient fewer, in two layers.
  EXPECT_EQ((in_turn - parallel).value(), 2 * 2 * (2 * 8 * 64));
}

}  // namespace
}  // namespace sextant
