#include "engine/time/operation_products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/operation/analysis.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;

Einsum EinsumOf(const char* expression, std::vector<Shape> operands) {
  return {.expression = expression, .operands = std::move(operands)};
}

double FlopsOfProducts(const std::vector<BatchedGemm>& products) {
  double sum = 0;
  for (const BatchedGemm& product : products) {
    sum += static_cast<double>(product.batch) * GemmFlops(product.each).value();
  }
  return sum;
}

// The gradients of y [m, n] over k: [m, k] over n, and [n, k] over m.
TEST(ProductsOf, ProductsAndTheirGradients) {
  const auto linear = ProductsOf(Linear{.rows = 2, .input_size = 3, .output_size = 4});
  ASSERT_TRUE(linear.has_value());
  EXPECT_THAT(linear->forward, ElementsAre(BatchedGemm{1, {2, 4, 3}}));
  EXPECT_THAT(linear->backward, ElementsAre(BatchedGemm{1, {2, 3, 4, GemmPass::kInputGradient}},
                                            BatchedGemm{1, {4, 3, 2, GemmPass::kWeightGradient}}));
  const auto batch = ProductsOf(BatchedMatmul{.batch = 7, .m = 2, .n = 4, .k = 3});
  ASSERT_TRUE(batch.has_value());
  EXPECT_THAT(batch->forward, ElementsAre(BatchedGemm{7, {2, 4, 3}}));
  EXPECT_THAT(batch->backward, ElementsAre(BatchedGemm{7, {2, 3, 4, GemmPass::kInputGradient}},
                                           BatchedGemm{7, {4, 3, 2, GemmPass::kWeightGradient}}));
}

// Axes of all three are the batch, of both operands alone the sum, of one and the result m and n.
TEST(ProductsOf, AnEinsumThatIsOneProduct) {
  const auto scores =
      ProductsOf(EinsumOf("b q a d, b k a d -> b a q k", {{2, 5, 3, 4}, {2, 6, 3, 4}}));
  ASSERT_TRUE(scores.has_value());
  EXPECT_THAT(scores->forward, ElementsAre(BatchedGemm{6, {5, 6, 4}}));
  EXPECT_THAT(scores->backward, ElementsAre(BatchedGemm{6, {5, 4, 6, GemmPass::kOtherLayout}},
                                            BatchedGemm{6, {6, 4, 5, GemmPass::kOtherLayout}}));
  const auto layer = ProductsOf(EinsumOf("b s i, i o -> b s o", {{2, 5, 3}, {3, 7}}));
  ASSERT_TRUE(layer.has_value());
  EXPECT_THAT(layer->forward, ElementsAre(BatchedGemm{1, {10, 7, 3}}));
}

// The cheaper order: 50 x 1 by the last two first.
TEST(ProductsOf, AnEinsumOfManyOperandsIsAChain) {
  const auto chain = ProductsOf(EinsumOf("a b, b c, c d -> a d", {{10, 2}, {2, 50}, {50, 3}}));
  ASSERT_TRUE(chain.has_value());
  EXPECT_THAT(chain->forward, ElementsAre(BatchedGemm{1, {2, 3, 50}}, BatchedGemm{1, {10, 3, 2}}));
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
  // A sum of one operand, an outer product, a diagonal, a sum beside a product, what does not fit.
  EXPECT_FALSE(ProductsOf(EinsumOf("a b -> a", {{2, 3}})).has_value());
  EXPECT_FALSE(ProductsOf(EinsumOf("a, b -> a b", {{2}, {3}})).has_value());
  EXPECT_FALSE(ProductsOf(EinsumOf("ii,ij->j", {{3, 3}, {3, 4}})).has_value());
  EXPECT_FALSE(ProductsOf(EinsumOf("a b c, c d -> a d", {{2, 3, 4}, {4, 5}})).has_value());
  EXPECT_FALSE(ProductsOf(EinsumOf("a b, b c -> a c", {{2, 3}, {4, 5}})).has_value());
}

}  // namespace
}  // namespace sextant
