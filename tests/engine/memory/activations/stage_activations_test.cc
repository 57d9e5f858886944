// Activations outside the layers, and the stages and chunks that keep them, computed by hand.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/engine/memory/activations/activation_cases.h"
#include "tests/engine/model/architecture/architectures.h"
#include "tests/engine/model/sharding/random_sharding.h"

namespace sextant {
namespace {

// Hidden size 8, vocabulary 100 padded to 128, 2 layers, 6 tokens.
ActivationCase SmallCase() {
  ActivationCase c;
  c.spec = SmallDecoder();
  c.spec.embedding.padded_vocabulary_size = 128;
  c.batch.sequence_length = 6;
  return c;
}

using BytesByName = std::map<std::string, int64_t>;

// Rows that belong to no layer, by "module.name"; the ends of a module of multi-token prediction
// are summed.
BytesByName Ends(const ActivationCase& c, int64_t stage = 0) {
  ActivationTensors rows;
  StageBytes(c, stage, &rows);
  BytesByName out;
  for (const ActivationTensor& row : rows) {
    if (row.layer_kind >= 0 || row.module == "layer") continue;
    const bool module = row.part == ModelPart::kMultiTokenPrediction;
    const std::string name = absl::StrCat(row.module, ".", row.name);
    out[module ? "multi_token_prediction" : name] += row.size.value() * row.layers;
  }
  return out;
}

constexpr int64_t kNorm = 6 * 8 * 2;
constexpr int64_t kIds = 6 * 8;

TEST(EndActivations, OfEachLoss) {
  ActivationCase c = SmallCase();
  EXPECT_EQ(Ends(c), (BytesByName{{"token_embedding.ids", kIds},
                                  {"norm.final", kNorm},
                                  {"output_head.input", kNorm},
                                  {"loss.softmax", 6 * 128 * 4}}));
  c.batch.loss = LossKind::kPlain;
  EXPECT_EQ(Ends(c)["loss.logits"], 6 * 128 * 2);
  EXPECT_EQ(Ends(c)["loss.softmax"], 6 * 128 * 4);
  c.batch.loss = LossKind::kFused;
  EXPECT_EQ(Ends(c)["loss.logits"], 6 * 128 * 2);
  EXPECT_EQ(Ends(c)["loss.softmax_statistics"], 6 * 4);
  EXPECT_EQ(Ends(c).count("loss.softmax"), 0u);
  c.batch.loss = LossKind::kChunked;
  c.batch.loss_chunk_tokens = 4;
  EXPECT_EQ(Ends(c), (BytesByName{{"token_embedding.ids", kIds},
                                  {"norm.final", kNorm},
                                  {"output_head.input_gradient", kNorm},
                                  {"loss.chunk_logits", 4 * 128 * 2}}));
  c.batch.loss_chunk_tokens = 1000;  // no more than there are tokens
  EXPECT_EQ(Ends(c)["loss.chunk_logits"], 6 * 128 * 2);
}

TEST(EndActivations, OfNarrowEmbeddings) {
  ActivationCase c = SmallCase();
  c.spec.embedding.embedding_size = 4;
  c.spec.decoder.embedding_norm = true;
  c.batch.dropout = true;
  const BytesByName ends = Ends(c);
  EXPECT_EQ(ends.at("embedding_projection.input"), 6 * 4 * 2 + 6 * 8 * 2);  // into and out of
  EXPECT_EQ(ends.at("norm.embedding"), kNorm);
  EXPECT_EQ(ends.at("token_embedding.dropout_mask"), 6 * 8);
  EXPECT_EQ(ends.at("output_head.input"), 6 * 4 * 2);
}

// The projection of narrow embeddings is whole on every rank, and so is what it reads.
TEST(EndActivations, UnderSequenceParallelism) {
  ActivationCase c = SmallCase();
  c.spec.embedding.embedding_size = 4;
  c.layout.tensor_parallel_size = 2;
  c.batch.sequence_parallel = true;
  const BytesByName ends = Ends(c);
  EXPECT_EQ(ends.at("embedding_projection.input"), 6 * 4 * 2 + 6 * 8 * 2 / 2);
  EXPECT_EQ(ends.at("token_embedding.ids"), kIds);
  EXPECT_EQ(ends.at("output_head.input"), 6 * 4 * 2 / 2);
}

TEST(EndActivations, InOtherDataTypes) {
  ActivationCase c = SmallCase();
  c.batch.matmul_input_data_type = DataType::kFp8;
  EXPECT_EQ(Ends(c)["output_head.input"], kNorm / 2);
  EXPECT_EQ(Ends(c)["norm.final"], kNorm);
  c.batch.matmul_input_data_type = DataType::kUnspecified;
  c.batch.compute_data_type = DataType::kTf32;  // a mode of the units: fp32 in memory
  EXPECT_EQ(Ends(c)["output_head.input"], 2 * kNorm);
  EXPECT_EQ(Ends(c)["loss.softmax"], 6 * 128 * 4);
}

TEST(EndActivations, OfAnEncodersOutput) {
  ActivationCase c = SmallCase();
  c.spec.output.transform = c.spec.output.pooler = true;
  c.batch.sequence_count = 2;
  const BytesByName ends = Ends(c);
  EXPECT_EQ(ends.at("pooler.input"), 2 * 8 * 2);
  EXPECT_EQ(ends.at("pooler.output"), 2 * 8 * 2);
  EXPECT_EQ(ends.at("output_transform.input"), 2 * kNorm);
  EXPECT_EQ(ends.at("output_transform.activation_input"), 2 * kNorm);
  EXPECT_EQ(ends.at("output_transform.norm_input"), 2 * kNorm);
  c.spec.output = {.head = OutputHeadKind::kNone};
  EXPECT_EQ(Ends(c), (BytesByName{{"token_embedding.ids", 2 * kIds}, {"norm.final", 2 * kNorm}}));
}

// A module's ids, two norms, projection of 2h, final norm, head and loss: 13h and more.
TEST(EndActivations, OfMultiTokenPrediction) {
  ActivationCase c = SmallCase();
  const int64_t without = StageBytes(c);
  c.spec.multi_token_prediction = MultiTokenPredictionSpec{.module_count = 3, .layer_kind = 0};
  const int64_t module = kIds + 2 * kNorm + 2 * kNorm + kNorm + kNorm + 6 * 128 * 4;
  EXPECT_EQ(Ends(c)["multi_token_prediction"], 3 * module);
  EXPECT_EQ(StageBytes(c), without + 3 * (module + LayerBytes(c)));
}

// First, middle and last of 4 stages; logits are cut among 2 ranks, ids are not.
TEST(StageActivations, StandWhereTheirModulesDo) {
  ActivationCase c = SmallCase();
  c.spec.decoder.layers = {{.layer_kind = 0, .count = 4}};
  c.layout.pipeline_parallel_size = 4;
  c.layout.tensor_parallel_size = 2;
  c.batch.sequence_parallel = true;
  const int64_t layer = LayerBytes(c);
  EXPECT_EQ(StageBytes(c, 0), layer + kIds);
  EXPECT_EQ(StageBytes(c, 1), layer);
  EXPECT_EQ(StageBytes(c, 2), layer);
  EXPECT_EQ(StageBytes(c, 3), layer + kNorm / 2 + kNorm / 2 + 6 * 64 * 4);
  c.layout.layers_per_chunk = {3, 1, 0, 0};
  EXPECT_EQ(StageBytes(c, 0), 3 * layer + kIds);
  EXPECT_EQ(StageBytes(c, 2), 0);
}

TEST(StageActivations, OfTwoStacks) {
  ActivationCase c;
  c.spec = SmallEncoderDecoder();
  c.batch.sequence_length = 5;
  c.batch.encoder_sequence_length = 7;
  c.layout.pipeline_parallel_size = 2;
  const BytesByName first = Ends(c, 0);
  const BytesByName second = Ends(c, 1);
  EXPECT_EQ(first.at("token_embedding.ids"), 7 * 8);
  EXPECT_EQ(first.at("norm.final"), 7 * 8 * 2);
  EXPECT_EQ(first.count("encoder_output.input"), 0u);
  EXPECT_EQ(second.at("token_embedding.ids"), 5 * 8);
  EXPECT_EQ(second.at("norm.final"), 5 * 8 * 2);
  EXPECT_EQ(second.at("encoder_output.input"), 7 * 8 * 2);
}

// An encoder's layer on each of two stages, a decoder's on each of two more.
TEST(StageActivations, OfLongerStacks) {
  ActivationCase c;
  c.spec = SmallEncoderDecoder();
  c.spec.encoder.layers[0].count = c.spec.decoder.layers[0].count = 2;
  c.batch.sequence_length = 5;
  c.batch.encoder_sequence_length = 7;
  c.layout.pipeline_parallel_size = 4;
  EXPECT_EQ(Ends(c, 0), (BytesByName{{"token_embedding.ids", 7 * 8}}));
  EXPECT_EQ(Ends(c, 1), (BytesByName{{"norm.final", 7 * 8 * 2}}));
  EXPECT_EQ(Ends(c, 2),
            (BytesByName{{"token_embedding.ids", 5 * 8}, {"encoder_output.input", 7 * 8 * 2}}));
  c.batch.recomputation.policy = RecomputePolicy::kFull;
  EXPECT_EQ(StageBytes(c, 1), 7 * 8 * 2 + 7 * 8 * 2);
  EXPECT_EQ(StageBytes(c, 2), 5 * 8 * 2 + 5 * 8 + 7 * 8 * 2);
  EXPECT_EQ(StageBytes(c, 3) - StageBytes(c, 2),
            5 * 8 * 2 + 5 * 8 * 2 + 5 * c.spec.embedding.vocabulary_size * 4 - 5 * 8);
}

// Blocks of 3 layers: 5 and 2 layers of a stage's two chunks keep 2 and 1 inputs.
TEST(StageActivations, OfBlocksOfLayers) {
  ActivationCase c = SmallCase();
  c.spec.decoder.layers = {{.layer_kind = 0, .count = 9}};
  c.layout.pipeline_parallel_size = 2;
  c.layout.virtual_stage_count = 2;
  c.layout.layers_per_chunk = {5, 1, 2, 1};
  c.batch.recomputation = {.policy = RecomputePolicy::kFull, .layers_per_block = 3};
  EXPECT_EQ(StageBytes(c, 0), 3 * kNorm + kIds);
  c.batch.recomputation.layers_per_block = 1;
  EXPECT_EQ(StageBytes(c, 0), 7 * kNorm + kIds);
  // The layer's backward pass recomputes all that it would have kept, except its input.
  const int64_t again = RecomputedBytes(c);
  c.batch.recomputation = {};
  EXPECT_EQ(again, LayerBytes(c) - kNorm);
}

// A block never reaches from the encoder into the decoder: an input of each.
TEST(StageActivations, OfBlocksOfTwoStacks) {
  ActivationCase c;
  c.spec = SmallEncoderDecoder();
  c.batch.sequence_length = 5;
  c.batch.encoder_sequence_length = 7;
  const int64_t ends = EndBytes(c);
  c.batch.recomputation = {.policy = RecomputePolicy::kFull, .layers_per_block = 4};
  EXPECT_EQ(StageBytes(c), ends + (5 + 7) * 8 * 2);
}

StageParts PartsOf(const ActivationCase& c, int64_t stage, int64_t chunk = kAllChunks) {
  const LayerPlacement placement(c.spec, c.layout);
  return *ChunkActivations(c.context(), placement, {.stage = stage, .chunk = chunk});
}

// 9 layers of two kinds in chunks of 5, 1, 2, 1 on two stages.
ActivationCase ChunksOfTwoKinds() {
  ActivationCase c;
  c.spec = SmallDecoder();
  c.spec.layer_kinds.push_back(DenseLayer(Heads(4, 2, 2), Gated(100)));
  c.spec.decoder.layers = {
      {.layer_kind = 0, .count = 4}, {.layer_kind = 1, .count = 2}, {.layer_kind = 0, .count = 3}};
  c.layout.pipeline_parallel_size = c.layout.virtual_stage_count = 2;
  c.layout.layers_per_chunk = {5, 1, 2, 1};
  c.batch.sequence_length = 6;
  return c;
}

TEST(ChunkActivations, HaveTheirOwnLayers) {
  const ActivationCase c = ChunksOfTwoKinds();
  const int64_t plain = LayerBytes(c);
  const int64_t wide = LayerActivations(c.context(), ModelPart::kDecoder, 1)->value();
  EXPECT_EQ(PartsOf(c, 0, 0).layers.value(), 4 * plain + wide);
  EXPECT_EQ(PartsOf(c, 0, 1).layers.value(), 2 * plain);
  EXPECT_EQ(PartsOf(c, 1, 0).layers.value(), wide);
  EXPECT_EQ(PartsOf(c, 1, 1).layers.value(), plain);
  EXPECT_EQ(PartsOf(c, 0, 0).embedding.value(), 6 * 8);
  EXPECT_EQ(PartsOf(c, 0, 1).embedding.value(), 0);
  EXPECT_EQ(PartsOf(c, 1, 0).output.value(), 0);
  EXPECT_EQ(PartsOf(c, 1, 1).output.value(), 2 * 6 * 8 * 2 + 6 * 100 * 4);
}

TEST(ChunkActivations, AddUpToTheirStage) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const RandomSharding drawn = DrawSharding(seed);
    ActivationCase c = {.spec = drawn.spec, .layout = drawn.layout};
    c.batch.sequence_length = c.batch.encoder_sequence_length = 8;
    const GradientFlow flow(c.spec);
    const LayerPlacement placement(c.spec, c.layout);
    for (const auto policy : {RecomputePolicy::kNone, RecomputePolicy::kFull}) {
      c.batch.recomputation = {.policy = policy};
      if (policy == RecomputePolicy::kFull) c.batch.recomputation.layers_per_block = 2;
      for (const GradientFlow* f : {static_cast<const GradientFlow*>(nullptr), &flow}) {
        const ActivationContext context = {c.spec, c.layout, c.batch, f};
        for (int64_t stage = 0; stage < c.layout.pipeline_parallel_size; ++stage) {
          Bytes sum(0);
          for (int64_t i = 0; i < c.layout.virtual_stage_count; ++i) {
            sum = sum + ChunkActivations(context, placement, {stage, i})->total();
          }
          EXPECT_EQ(sum, ChunkActivations(context, placement, {.stage = stage})->total());
        }
      }
    }
  }
}

}  // namespace
}  // namespace sextant
