// Checks of a micro-batch, and their errors.
#include "engine/model/trace/micro_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/engine/memory/activations/activation_cases.h"
#include "tests/engine/model/architecture/architectures.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::Status Check(const ActivationCase& c) {
  FieldViolations violations;
  CheckMicroBatch(c.batch, c.spec, c.layout, violations);
  return violations.ToStatus();
}

ActivationCase Sound() {
  ActivationCase c;
  c.spec = SmallDecoder();
  c.batch.sequence_length = 16;
  return c;
}

TEST(MicroBatch, SoundOnesPass) {
  ActivationCase c = Sound();
  EXPECT_THAT(Check(c), IsOk());
  c.layout.tensor_parallel_size = 4;
  c.batch.sequence_parallel = true;
  c.batch.context_parallel_size = 4;
  c.batch.compute_data_type = DataType::kTf32;
  c.batch.matmul_input_data_type = DataType::kFp8;
  EXPECT_THAT(Check(c), IsOk());
}

TEST(MicroBatch, FaultsAreNamedTogether) {
  ActivationCase c = Sound();
  c.batch.sequence_count = 0;
  c.batch.sequence_length = 0;
  c.batch.encoder_sequence_length = 4;
  c.batch.compute_data_type = DataType::kFp8;
  c.batch.matmul_input_data_type = DataType::kInt4;
  c.batch.loss_chunk_tokens = 4;
  c.batch.expert_load_factor = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(
      Check(c),
      NamesFields(::testing::UnorderedElementsAre(
          "layout.micro_batch_size", "training.sequence_length", "training.encoder_sequence_length",
          "training.precision.compute_data_type", "layout.kernels.matmul_input_data_type",
          "layout.kernels.loss_chunk_tokens", "layout.kernels.expert_load_factor")));
}

TEST(MicroBatch, TokensDivideByThoseWhoShareThem) {
  ActivationCase c = Sound();
  c.batch.context_parallel_size = 3;
  EXPECT_THAT(Check(c), NamesFields(ElementsAre("training.sequence_length")));
  EXPECT_THAT(Check(c).message(), HasSubstr("multiple of context_parallel_size (3)"));
  c.batch.context_parallel_size = 8;
  c.layout.tensor_parallel_size = 4;
  EXPECT_THAT(Check(c), IsOk());
  c.batch.sequence_parallel = true;
  EXPECT_THAT(Check(c).message(), HasSubstr("(8 x 4)"));
}

// 4 query heads and 2 of keys and values.
TEST(MicroBatch, ExchangedHeadsDivide) {
  ActivationCase c = Sound();
  c.batch.sequence_length = 48;
  c.batch.context_parallel_kind = ContextParallelKind::kAllToAll;
  for (const int64_t size : {1, 2, 4}) {
    c.batch.context_parallel_size = size;
    EXPECT_THAT(Check(c), IsOk()) << size;
  }
  for (const int64_t size : {3, 6, 8}) {
    c.batch.context_parallel_size = size;
    EXPECT_THAT(Check(c), NamesFields(ElementsAre("layout.context_parallel_size"))) << size;
    EXPECT_THAT(Check(c).message(), HasSubstr(size == 3 ? "write 2" : "write 4")) << size;
  }
  c.layout.tensor_parallel_size = 2;
  c.batch.context_parallel_size = 4;
  EXPECT_THAT(Check(c).message(), HasSubstr("the 2 query heads"));
  c.batch.context_parallel_kind = ContextParallelKind::kRing;
  EXPECT_THAT(Check(c), IsOk());
  // 6 heads, 4 of keys and values: neither divides the other.
  c = Sound();
  c.spec.layer_kinds[0].attention->head_count = 12;
  c.spec.layer_kinds[0].attention->key_value_head_count = 4;
  c.batch.sequence_length = 48;
  c.batch.context_parallel_kind = ContextParallelKind::kAllToAll;
  c.batch.context_parallel_size = 6;
  EXPECT_THAT(Check(c).message(), HasSubstr("write 4"));
}

TEST(MicroBatch, HostileSizesOfExchangesAreReported) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  ActivationCase c = Sound();
  c.batch.context_parallel_kind = ContextParallelKind::kAllToAll;
  for (const int64_t size : {-kMax - 1, int64_t{-1}, int64_t{0}, int64_t{65'537}, kMax}) {
    c.batch.context_parallel_size = size;
    EXPECT_THAT(Check(c).message(), HasSubstr("context_parallel_size")) << size;
  }
  c.batch.context_parallel_size = 2;
  c.layout.tensor_parallel_size = 65'536;  // more than heads
  EXPECT_THAT(Check(c), IsOk());           // CheckLayout()'s to report
}

TEST(MicroBatch, LatentsOfExchangedHeadsAreKept) {
  ActivationCase c = Sound();
  AttentionSpec& attention = *c.spec.layer_kinds[0].attention;
  attention.key_value_head_count = 4;
  attention.latent = LatentSpec{.key_value_rank = 4, .rotary_size = 1};
  c.batch.recomputation.latent_up_projections = true;
  c.batch.context_parallel_size = 2;
  EXPECT_THAT(Check(c), IsOk());
  c.batch.context_parallel_kind = ContextParallelKind::kAllToAll;
  EXPECT_THAT(Check(c), NamesFields(ElementsAre("layout.kernels.recompute_latent_up_projections")));
}

TEST(MicroBatch, LengthsEndWithThePositions) {
  ActivationCase c = Sound();
  c.spec.decoder.learned_position_count = 15;
  EXPECT_THAT(Check(c), NamesFields(ElementsAre("training.sequence_length")));
  c.spec = SmallEncoderDecoder();
  c.spec.encoder.learned_position_count = c.spec.decoder.learned_position_count = 0;
  EXPECT_THAT(Check(c), NamesFields(ElementsAre("training.encoder_sequence_length")));
}

TEST(MicroBatch, OptionsThatWouldBeIgnoredAreRefused) {
  ActivationCase c = Sound();
  c.batch.expert_load_factor = 2;
  c.batch.expert_scaling = ExpertScaling::kAfterDown;
  c.batch.fused_expert_activation = false;
  c.batch.expert_dispatch = ExpertDispatch::kAllGather;
  c.batch.attention = AttentionKernel::kUnfused;
  c.batch.attention_output_copied = true;
  EXPECT_THAT(Check(c),
              NamesFields(ElementsAre(
                  "layout.kernels.attention_output_copied", "layout.kernels.expert_load_factor",
                  "layout.kernels.expert_scaling", "layout.kernels.fused_expert_activation",
                  "layout.kernels.expert_dispatch")));
  c.batch.attention_output_copied = false;
  c.spec = SmallMixture();
  EXPECT_THAT(Check(c), NamesFields(ElementsAre("layout.kernels.expert_dispatch")));
  c.batch.expert_dispatch = ExpertDispatch::kAllToAll;
  EXPECT_THAT(Check(c), IsOk());
  for (const double factor : {0.0, 0.99, -1.0, 2e6, std::numeric_limits<double>::quiet_NaN()}) {
    c.batch.expert_load_factor = factor;
    EXPECT_THAT(Check(c), NamesFields(ElementsAre("layout.kernels.expert_load_factor"))) << factor;
  }
  c = Sound();
  c.batch.recomputation.layers_per_block = 2;
  EXPECT_THAT(Check(c), NamesFields(ElementsAre("layout.kernels.recomputed_layers_per_block")));
  c.batch.recomputation.policy = RecomputePolicy::kFull;
  EXPECT_THAT(Check(c), IsOk());
  c.batch.recomputation.norm_outputs = true;
  EXPECT_THAT(Check(c), NamesFields(ElementsAre("layout.kernels.recompute_norm_outputs")));
  c = Sound();
  c.batch.loss = LossKind::kChunked;
  EXPECT_THAT(Check(c), NamesFields(ElementsAre("layout.kernels.loss_chunk_tokens")));
  c = Sound();
  c.batch.matmul_input_data_type = DataType::kFp32;
  EXPECT_THAT(Check(c).message(), HasSubstr("must not be wider than compute_data_type (bf16)"));
}

TEST(MicroBatch, TooManyBytesAreAnError) {
  ActivationCase c = Sound();
  c.batch.sequence_count = c.batch.sequence_length = 1'000'000'000;
  EXPECT_THAT(Check(c), IsOk());
  EXPECT_THAT(LayerActivations(c.context(), ModelPart::kDecoder, 0),
              NamesFields(ElementsAre("layout.micro_batch_size")));
  const LayerPlacement placement(c.spec, c.layout);
  EXPECT_THAT(ChunkActivations(c.context(), placement, {}),
              NamesFields(ElementsAre("layout.micro_batch_size")));
  // Also where a load factor alone goes too far.
  c = Sound();
  c.spec = SmallMixture();
  c.batch.sequence_length = 1'000'000'000;
  c.batch.sequence_count = 1000;
  EXPECT_THAT(LayerActivations(c.context(), ModelPart::kDecoder, 0), IsOk());
  c.batch.expert_load_factor = 1e6;
  EXPECT_THAT(LayerActivations(c.context(), ModelPart::kDecoder, 0),
              NamesFields(ElementsAre("layout.micro_batch_size")));
}

}  // namespace
}  // namespace sextant
