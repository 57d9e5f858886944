#include "engine/time/operation_prediction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/hardware/catalogue.h"
#include "engine/hardware/kernels/attention_shape.h"
#include "engine/operation/analysis.h"
#include "engine/operation/operation.h"
#include "tests/support/note_matchers.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
const PlacedDevice kH100[] = {PlacedProduct(*AcceleratorNamed("h100-sxm"))};

absl::optional<OperationPrediction> On(absl::Span<const PlacedDevice> devices,
                                       const Operation& operation,
                                       DeviceJoin join = DeviceJoin::kSlowest) {
  return *PredictOperation(operation, {.input = DataType::kBf16}, devices, join);
}

TEST(PredictOperation, ALinearLayerIsItsProduct) {
  const auto matmul = On(kH100, Matmul{.m = 4096, .n = 11008, .k = 2048});
  const auto linear = On(kH100, Linear{.rows = 4096, .input_size = 2048, .output_size = 11008});
  ASSERT_TRUE(matmul.has_value() && linear.has_value());
  EXPECT_EQ(matmul->forward.expected, linear->forward.expected);
  ASSERT_THAT(matmul->nearest, SizeIs(3));
  EXPECT_TRUE(std::holds_alternative<MatmulShape>(matmul->nearest[0].work));
  // Two products of as many FLOPs each.
  EXPECT_GT(linear->backward.expected, linear->forward.expected * 1.5);
  EXPECT_LT(linear->backward.expected, linear->forward.expected * 3);
  EXPECT_EQ(linear->backward.basis, KernelBasis::kOtherPass);
}

// 32 heads' scores as one batch, an einsum that says the same, and a chain.
TEST(PredictOperation, AnEinsumIsItsProducts) {
  const auto batch = On(kH100, BatchedMatmul{.batch = 32, .m = 2048, .n = 2048, .k = 128});
  const auto scores = On(kH100, Einsum{.expression = "a q d, a k d -> a q k",
                                       .operands = {{32, 2048, 128}, {32, 2048, 128}}});
  ASSERT_TRUE(batch.has_value() && scores.has_value());
  EXPECT_EQ(scores->forward.expected, batch->forward.expected);
  EXPECT_EQ(scores->backward.expected, batch->backward.expected);
  EXPECT_EQ(batch->forward.basis, KernelBasis::kOtherPass);
  EXPECT_THAT(batch->nearest, SizeIs(3));
  const auto first = On(kH100, Matmul{.m = 4096, .n = 512, .k = 4096});
  const auto second = On(kH100, Matmul{.m = 4096, .n = 4096, .k = 512});
  const auto chain = On(kH100, Einsum{.expression = "t i, i r, r o -> t o",
                                      .operands = {{4096, 4096}, {4096, 512}, {512, 4096}}});
  ASSERT_TRUE(chain.has_value());
  EXPECT_NEAR(chain->forward.expected.value(),
              (first->forward.expected + second->forward.expected).value(), 1e-12);
  EXPECT_FALSE(On(kH100, Einsum{.expression = "a b -> a", .operands = {{64, 64}}}).has_value());
}

TEST(PredictOperation, AsksBeforeEachDevicesModelsAreFitted) {
  const PlacedDevice devices[] = {kH100[0], kH100[0]};
  int asked = 0;
  const auto stop = [&] { return ++asked < 2 ? absl::OkStatus() : absl::CancelledError("gone"); };
  CallWork work(stop);
  const auto out = PredictOperation(Matmul{.m = 64, .n = 64, .k = 64}, {.input = DataType::kBf16},
                                    devices, DeviceJoin::kSlowest, &work);
  EXPECT_EQ(out.status().code(), absl::StatusCode::kCancelled);
}

TEST(PredictOperation, IsOfProductsAndOfAttention) {
  Attention attention = {.batch = 2,
                         .heads = 16,
                         .kv_heads = 16,
                         .query_length = 4096,
                         .key_length = 4096,
                         .head_size = 128,
                         .causal = true};
  EXPECT_EQ(On(kH100, attention)->source.form, PredictionForm::kTerms);
  attention.fused = false;
  EXPECT_EQ(On(kH100, attention)->source.form, PredictionForm::kTiles);
  EXPECT_FALSE(On(kH100, Elementwise{.count = 1'000'000}).has_value());
  EXPECT_FALSE(On({}, Matmul{.m = 1, .n = 1, .k = 1}).has_value());
}

// The published tables of fp8 by block answer where that is asked for.
TEST(PredictOperation, OfFp8IsScaledAsAsked) {
  const Matmul matmul = {.m = 4096, .n = 4096, .k = 7168};
  const auto scaled = [&](absl::optional<MatmulScaling> scaling) {
    return *PredictOperation(matmul, {.input = DataType::kFp8, .scaling = scaling}, kH100,
                             DeviceJoin::kSlowest);
  };
  EXPECT_THAT(scaled(MatmulScaling::kBlock)->source.citation, HasSubstr("fp8_block"));
  EXPECT_THAT(scaled({})->source.citation, Not(HasSubstr("fp8_block")));
  EXPECT_EQ(scaled(MatmulScaling::kTensor)->forward.expected, scaled({})->forward.expected);
  EXPECT_NE(scaled(MatmulScaling::kBlock)->forward.expected, scaled({})->forward.expected);
}

TEST(PredictOperation, SaysWhereSizesSlowAProductDown) {
  const auto off = On(kH100, Matmul{.m = 4096, .n = 4096, .k = 5400});
  ASSERT_THAT(off->notes, SizeIs(1));
  EXPECT_THAT(off->notes[0], IsNote(NoteKind::kProductUnaligned, HasSubstr("1.3 times")));
  const auto even = On(kH100, Matmul{.m = 4096, .n = 4096, .k = 5376});
  EXPECT_THAT(even->notes, SizeIs(0));
  EXPECT_GT(off->forward.expected, even->forward.expected * 1.2);
  EXPECT_LT(off->forward.low, even->forward.high);
}

constexpr Attention kWholeSequence = {.batch = 1,
                                      .heads = 32,
                                      .kv_heads = 8,
                                      .query_length = 65536,
                                      .key_length = 65536,
                                      .head_size = 128,
                                      .causal = true};

// The whole's time is within the interval of its parts' times, and near their sum.
void ExpectSum(const KernelTime& parts, const KernelTime& whole, const char* product) {
  EXPECT_LT(parts.low, whole.expected) << product;
  EXPECT_GT(parts.high, whole.expected) << product;
  EXPECT_NEAR(parts.expected.value() / whole.expected.value(), 1, 0.15) << product;
}

KernelTime Times(const KernelTime& time, double count) {
  return {.expected = time.expected * count, .low = time.low * count, .high = time.high * count};
}

// A causal sequence on 8 devices in a ring: of 8 x 8 blocks of 8192 tokens 28 have no mask, each in
// two steps of half the keys, and 8 are causal.
TEST(PredictOperation, BlocksOfASequenceAddUpToItsTime) {
  for (const char* product : {"a100-sxm-80", "h100-sxm", "h200-sxm", "b200-sxm", "mi300x"}) {
    const PlacedDevice device[] = {PlacedProduct(*AcceleratorNamed(product))};
    const auto whole = On(device, kWholeSequence);
    Attention part = kWholeSequence;
    part.query_length = part.key_length = 8192;
    const auto causal = On(device, part);
    part.causal = false;
    part.key_length = 4096;
    const auto step = On(device, part);
    ASSERT_TRUE(whole.has_value() && causal.has_value() && step.has_value());
    EXPECT_GE(step->forward.basis, KernelBasis::kOtherPass);
    EXPECT_EQ(step->source.source, whole->source.source);
    ExpectSum(SumOf(Times(causal->forward, 8), Times(step->forward, 56)), whole->forward, product);
    ExpectSum(SumOf(Times(causal->backward, 8), Times(step->backward, 56)), whole->backward,
              product);
  }
}

// 8 chunks of queries, each to all keys up to its own end.
TEST(PredictOperation, ChunksOfASequenceAddUpToItsTime) {
  for (const char* product : {"a100-sxm-80", "h100-sxm", "h200-sxm", "b200-sxm", "mi300x"}) {
    const PlacedDevice device[] = {PlacedProduct(*AcceleratorNamed(product))};
    Attention chunk = kWholeSequence;
    chunk.query_length = 8192;
    KernelTime sum = {};
    for (chunk.key_length = 8192; chunk.key_length <= 65536; chunk.key_length += 8192) {
      sum = SumOf(sum, On(device, chunk)->forward);
    }
    ExpectSum(sum, On(device, kWholeSequence)->forward, product);
  }
}

// Published latent attention is of another library than published attention of equal heads.
TEST(PredictOperation, OfNarrowerValuesIsLatentAttention) {
  Attention attention = {.batch = 1,
                         .heads = 64,
                         .kv_heads = 64,
                         .query_length = 4096,
                         .key_length = 4096,
                         .head_size = 192,
                         .value_head_size = 128,
                         .causal = true};
  const auto latent = On(kH100, attention);
  ASSERT_TRUE(latent.has_value());
  EXPECT_EQ(latent->forward.basis, KernelBasis::kWithinGrid);
  EXPECT_THAT(latent->source.citation, HasSubstr("trtllm"));
  attention.value_head_size = 0;
  EXPECT_THAT(On(kH100, attention)->source.citation, HasSubstr("sglang"));
}

TEST(PredictOperation, OfSeveralDevicesOneDecides) {
  const PlacedDevice a100 = PlacedProduct(*AcceleratorNamed("a100-sxm-80"));
  const PlacedDevice b200 = PlacedProduct(*AcceleratorNamed("b200-sxm"));
  const PlacedDevice all[] = {b200, a100, kH100[0]};
  const Matmul matmul = {.m = 8192, .n = 8192, .k = 8192};
  EXPECT_EQ(On(all, matmul)->source.device, "a100-sxm-80");
  EXPECT_EQ(On(all, matmul, DeviceJoin::kMedian)->source.device, "h100-sxm");
}

// A kernel's shape and an operation count the same pairs, each in its own way.
TEST(AttentionShapes, CountThePairsThatOperationsDo) {
  for (const bool causal : {false, true}) {
    for (const int64_t window : {0, 1, 7, 64, 100}) {
      for (const int64_t keys : {64, 65, 100, 640}) {
        const Attention operation = {.batch = 1,
                                     .heads = 1,
                                     .kv_heads = 1,
                                     .query_length = 64,
                                     .key_length = keys,
                                     .head_size = 1,
                                     .causal = causal,
                                     .window = window};
        const AttentionShape kernel = {
            .sequence = 64, .key_sequence = keys, .causal = causal, .window = window};
        EXPECT_EQ(AttendedPairs(kernel, WindowForm::kSliding), AttendedPairs(operation))
            << causal << " " << window << " " << keys;
        EXPECT_EQ(AttendedKeys(kernel), AttendedKeys(operation)) << causal << " " << window;
      }
    }
  }
}

TEST(DecidingDevice, IsTheSlowestOrTheLowerMiddle) {
  const std::vector<double> seconds = {3, 1, 4, 2};
  EXPECT_EQ(DecidingDevice(seconds, DeviceJoin::kSlowest), 2U);
  EXPECT_EQ(DecidingDevice(seconds, DeviceJoin::kMedian), 3U);
  EXPECT_EQ(DecidingDevice({7}, DeviceJoin::kMedian), 0U);
}

// Two that measured nothing of the kind don't outvote the one that did; of a gang all count.
TEST(DecidingDevice, OfAProductIsOneOfTheBestSource) {
  const std::vector<double> seconds = {1, 5, 1};
  const std::vector<RateSource> sources = {RateSource::kReference, RateSource::kMeasuredModel,
                                           RateSource::kReference};
  EXPECT_EQ(DecidingDevice(seconds, DeviceJoin::kMedian, sources), 1U);
  EXPECT_EQ(DecidingDevice({1, 5, 9}, DeviceJoin::kSlowest, sources), 2U);
}

using ::testing::ElementsAre;

Einsum EinsumOf(const char* expression, std::vector<Shape> operands) {
  return {.expression = expression, .operands = std::move(operands)};
}

double FlopsOfProducts(const std::vector<MatmulBatch>& products) {
  double sum = 0;
  for (const MatmulBatch& product : products) {
    sum += static_cast<double>(product.batch) * MatmulFlops(product.each).value();
  }
  return sum;
}

// The gradients of y [m, n] over k: [m, k] over n, and [n, k] over m.
TEST(ProductsOf, ProductsAndTheirGradients) {
  const auto linear = ProductsOf(Linear{.rows = 2, .input_size = 3, .output_size = 4});
  ASSERT_TRUE(linear.has_value());
  EXPECT_THAT(linear->forward, ElementsAre(MatmulBatch{1, {2, 4, 3}}));
  EXPECT_THAT(linear->backward,
              ElementsAre(MatmulBatch{1, {2, 3, 4, MatmulPass::kInputGradient}},
                          MatmulBatch{1, {4, 3, 2, MatmulPass::kWeightGradient}}));
  const auto batch = ProductsOf(BatchedMatmul{.batch = 7, .m = 2, .n = 4, .k = 3});
  ASSERT_TRUE(batch.has_value());
  EXPECT_THAT(batch->forward, ElementsAre(MatmulBatch{7, {2, 4, 3}}));
  EXPECT_THAT(batch->backward, ElementsAre(MatmulBatch{7, {2, 3, 4, MatmulPass::kInputGradient}},
                                           MatmulBatch{7, {4, 3, 2, MatmulPass::kWeightGradient}}));
}

// Axes of all three are the batch, of both operands alone the sum, of one and the result m and n.
TEST(ProductsOf, AnEinsumThatIsOneProduct) {
  const auto scores =
      ProductsOf(EinsumOf("b q a d, b k a d -> b a q k", {{2, 5, 3, 4}, {2, 6, 3, 4}}));
  ASSERT_TRUE(scores.has_value());
  EXPECT_THAT(scores->forward, ElementsAre(MatmulBatch{6, {5, 6, 4}}));
  EXPECT_THAT(scores->backward, ElementsAre(MatmulBatch{6, {5, 4, 6, MatmulPass::kOtherLayout}},
                                            MatmulBatch{6, {6, 4, 5, MatmulPass::kOtherLayout}}));
  const auto layer = ProductsOf(EinsumOf("b s i, i o -> b s o", {{2, 5, 3}, {3, 7}}));
  ASSERT_TRUE(layer.has_value());
  EXPECT_THAT(layer->forward, ElementsAre(MatmulBatch{1, {10, 7, 3}}));
}

// The cheaper order: 50 x 1 by the last two first.
TEST(ProductsOf, AnEinsumOfManyOperandsIsAChain) {
  const auto chain = ProductsOf(EinsumOf("a b, b c, c d -> a d", {{10, 2}, {2, 50}, {50, 3}}));
  ASSERT_TRUE(chain.has_value());
  EXPECT_THAT(chain->forward, ElementsAre(MatmulBatch{1, {2, 3, 50}}, MatmulBatch{1, {10, 3, 2}}));
  EXPECT_EQ(chain->backward.size(), 4u);
}

TEST(ProductsOf, HaveTheFlopsOfTheOperation) {
  for (const Einsum& einsum :
       {EinsumOf("a b, b c, c d -> a d", {{10, 2}, {2, 50}, {50, 3}}),
        EinsumOf("b q a d, b k a d -> b a q k", {{2, 5, 3, 4}, {2, 6, 3, 4}}),
        EinsumOf("b i, b i -> b", {{4, 9}, {4, 9}}),
        EinsumOf("b s i, i o -> b s o", {{2, 5, 1}, {1, 7}}),
        EinsumOf("a b c, c d, b d e -> a e", {{3, 4, 5}, {5, 6}, {4, 6, 7}})}) {
    const auto products = ProductsOf(einsum);
    const auto analysis = AnalyzeOperation({einsum, {.input = DataType::kBf16}}, "");
    ASSERT_TRUE(products.has_value()) << einsum.expression;
    ASSERT_THAT(analysis, IsOk());
    EXPECT_EQ(FlopsOfProducts(products->forward), analysis->forward.sum.flops().value())
        << einsum.expression;
  }
}

TEST(ProductsOf, OnlyProducts) {
  EXPECT_FALSE(ProductsOf(Softmax{2, 3}).has_value());
  EXPECT_FALSE(ProductsOf(Attention{}).has_value());
  // A sum of one operand, an outer product, a diagonal, a sum and a product, mismatched sizes.
  EXPECT_FALSE(ProductsOf(EinsumOf("a b -> a", {{2, 3}})).has_value());
  EXPECT_FALSE(ProductsOf(EinsumOf("a, b -> a b", {{2}, {3}})).has_value());
  EXPECT_FALSE(ProductsOf(EinsumOf("ii,ij->j", {{3, 3}, {3, 4}})).has_value());
  EXPECT_FALSE(ProductsOf(EinsumOf("a b c, c d -> a d", {{2, 3, 4}, {4, 5}})).has_value());
  EXPECT_FALSE(ProductsOf(EinsumOf("a b, b c -> a c", {{2, 3}, {4, 5}})).has_value());
}

absl::optional<OperationPrediction> Layer(absl::string_view product, const Experts& experts,
                                          DataType type = DataType::kBf16) {
  const PlacedDevice devices[] = {PlacedProduct(*AcceleratorNamed(product))};
  return *PredictOperation(experts, {.input = type}, devices, DeviceJoin::kSlowest);
}

constexpr Experts kMixtral = {.tokens = 16384,
                              .hidden_size = 4096,
                              .feed_forward_size = 14336,
                              .expert_count = 8,
                              .experts_per_token = 2,
                              .expert_parallel_size = 8};

// 4096 rows of 6 x 4096 x 14336 FLOPs: 1.44e12, at between 30 and 90 % of 989.4e12 FLOP/s.
TEST(PredictExperts, OfAMeasuredProductStandsOnPublishedLayers) {
  for (const char* product : {"h100-sxm", "h200-sxm"}) {
    const auto layer = Layer(product, kMixtral);
    ASSERT_TRUE(layer.has_value());
    EXPECT_EQ(layer->source.source, RateSource::kReference);
    EXPECT_THAT(layer->source.citation, HasSubstr("layers of experts"));
    const double least = 6.0 * 4096 * 4096 * 14336 / 989.4e12;
    EXPECT_GT(layer->forward.expected.value(), least / 0.9) << product;
    EXPECT_LT(layer->forward.expected.value(), least / 0.3) << product;
    EXPECT_LT(layer->forward.low, layer->forward.expected);
    EXPECT_LT(layer->forward.expected, layer->forward.high);
  }
}

TEST(PredictExperts, BackwardIsTwoGradientsAProduct) {
  const auto layer = Layer("h100-sxm", kMixtral);
  ASSERT_TRUE(layer.has_value());
  EXPECT_EQ(layer->backward.expected, layer->forward.expected * 2.0);
  EXPECT_EQ(layer->backward.basis, KernelBasis::kOtherPass);
  EXPECT_EQ(layer->backward.low, layer->forward.low * (2 * kExpertsBackward.low));
  EXPECT_EQ(layer->backward.high, layer->forward.high * (2 * kExpertsBackward.high));
}

// Twice the tokens, twice the experts' width, and the tokens of fewer devices each take longer.
TEST(PredictExperts, GrowsWithItsWork) {
  for (const char* product : {"a100-sxm-80", "h100-sxm", "b200-sxm", "mi300x"}) {
    const Seconds time = Layer(product, kMixtral)->forward.expected;
    for (int64_t Experts::*size :
         {&Experts::tokens, &Experts::hidden_size, &Experts::feed_forward_size}) {
      Experts larger = kMixtral;
      larger.*size *= 2;
      EXPECT_GT(Layer(product, larger)->forward.expected, time) << product;
    }
    Experts fewer_devices = kMixtral;
    fewer_devices.expert_parallel_size = 4;
    EXPECT_GT(Layer(product, fewer_devices)->forward.expected, time) << product;
  }
}

TEST(PredictExperts, WithoutAGateAreFewerProducts) {
  Experts ungated = kMixtral;
  ungated.gated = false;
  const auto layer = Layer("h200-sxm", ungated);
  ASSERT_TRUE(layer.has_value());
  EXPECT_THAT(layer->source.citation, HasSubstr("nongated"));
}

TEST(PredictExperts, OfFp8HaveAScalePerTensorUnlessAskedForBlocks) {
  const auto in = [](absl::optional<MatmulScaling> scaling) {
    return (*PredictExperts(kMixtral, DataType::kFp8E4m3, kH100[0], scaling))->forward.expected;
  };
  EXPECT_EQ(in(MatmulScaling::kTensor), in({}));
  EXPECT_NE(in(MatmulScaling::kBlock), in({}));
}

TEST(PredictExperts, AreAbsentWhereNothingIsKnown) {
  EXPECT_FALSE(Layer("v100-sxm-16", kMixtral, DataType::kFp8E4m3).has_value());
  const auto none = PredictExperts(kMixtral, DataType::kBf16, {});
  ASSERT_THAT(none, IsOk());
  EXPECT_FALSE(none->has_value());
}

// A shape of the hardware's and an operation count the same rows, weights and FLOPs.
TEST(ExpertsShapes, CountTheRowsThatOperationsDo) {
  for (const int64_t devices : {1, 2, 8}) {
    for (const bool gated : {true, false}) {
      Experts experts = kMixtral;
      experts.expert_parallel_size = devices;
      experts.gated = gated;
      const GroupedMatmulShape shape = LayerShapeOf(experts);
      const auto analysis = AnalyzeOperation({experts, {.input = DataType::kBf16}}, "");
      ASSERT_THAT(analysis, IsOk());
      EXPECT_EQ(GroupedMatmulFlops(shape), analysis->forward.sum.matrix_flops.value());
      EXPECT_EQ(ExpertRows(shape), static_cast<double>(DeviceRows(experts)));
    }
  }
}

}  // namespace
}  // namespace sextant
