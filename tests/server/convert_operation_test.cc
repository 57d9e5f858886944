#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <variant>
#include <vector>

#include "server/convert/operation.h"
#include "tests/server/enum_names.h"
#include "tests/server/wire_values.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;

template <typename Kind>
Kind ReadAs(const std::string& text) {
  const v1::Operation wire = MessageOf<v1::Operation>(text);
  FieldViolations violations;
  const absl::optional<ReadOperation> read = OperationFrom(wire, "operation", violations);
  EXPECT_TRUE(violations.empty()) << text << violations.ToStatus();
  if (!read.has_value() || !std::holds_alternative<Kind>(read->operation)) {
    ADD_FAILURE() << text;
    return {};
  }
  return std::get<Kind>(read->operation);
}

template <typename... Numbers>
std::vector<double> List(Numbers... numbers) {
  return {static_cast<double>(numbers)...};
}

// Every field has a different value, so that a dropped or swapped one is detected.
TEST(OperationFrom, CarriesEveryField) {
  const auto matmul = ReadAs<Matmul>(R"({"matmul": {"m": 1, "n": 2, "k": 3}})");
  EXPECT_THAT(List(matmul.m, matmul.n, matmul.k), ElementsAre(1, 2, 3));
  const auto batch =
      ReadAs<BatchedMatmul>(R"({"batched_matmul": {"batch": 4, "m": 1, "n": 2, "k": 3}})");
  EXPECT_THAT(List(batch.batch, batch.m, batch.n, batch.k), ElementsAre(4, 1, 2, 3));
  const auto linear =
      ReadAs<Linear>(R"({"linear": {"rows": 2, "input_size": 3, "output_size": 4, "bias": true}})");
  EXPECT_THAT(List(linear.rows, linear.input_size, linear.output_size, linear.bias),
              ElementsAre(2, 3, 4, 1));
  const auto add = ReadAs<Elementwise>(
      R"({"elementwise": {"count": 2, "input_count": 3, "function": "ELEMENTWISE_FUNCTION_ADD"}})");
  EXPECT_THAT(List(add.count, add.input_count), ElementsAre(2, 3));
  EXPECT_EQ(add.function, ElementwiseFunction::kAdd);
  const auto own =
      ReadAs<Elementwise>(R"({"elementwise": {"count": 2, "flops_per_element": 2.5}})");
  EXPECT_EQ(own.flops_per_element, 2.5);
  const auto mean = ReadAs<Reduction>(
      R"({"reduction": {"outer": 2, "reduced": 3, "function": "REDUCTION_FUNCTION_MEAN"}})");
  EXPECT_THAT(List(mean.outer, mean.reduced), ElementsAre(2, 3));
  EXPECT_EQ(mean.function, ReductionKind::kMean);
  const auto softmax = ReadAs<Softmax>(R"({"softmax": {"rows": 2, "columns": 3}})");
  EXPECT_THAT(List(softmax.rows, softmax.columns), ElementsAre(2, 3));
  const auto layer_norm = ReadAs<LayerNorm>(R"({"layer_norm": {"rows": 4, "columns": 5}})");
  EXPECT_THAT(List(layer_norm.rows, layer_norm.columns), ElementsAre(4, 5));
  const auto rms_norm = ReadAs<RmsNorm>(R"({"rms_norm": {"rows": 6, "columns": 7}})");
  EXPECT_THAT(List(rms_norm.rows, rms_norm.columns), ElementsAre(6, 7));
  const auto swiglu = ReadAs<SwiGlu>(R"({"swiglu": {"rows": 8, "columns": 9}})");
  EXPECT_THAT(List(swiglu.rows, swiglu.columns), ElementsAre(8, 9));
  const auto silu =
      ReadAs<Activation>(R"({"activation": {"count": 2, "function": "ACTIVATION_FUNCTION_SILU"}})");
  EXPECT_EQ(silu.count, 2);
  EXPECT_EQ(silu.function, ActivationFunction::kSilu);
  const auto rotary = ReadAs<Rotary>(R"({"rotary": {"tokens": 2, "heads": 3, "head_size": 4}})");
  EXPECT_THAT(List(rotary.tokens, rotary.heads, rotary.head_size), ElementsAre(2, 3, 4));
  EXPECT_EQ(ReadAs<Dropout>(R"({"dropout": {"count": 2}})").count, 2);
  const auto table =
      ReadAs<EmbeddingLookup>(R"({"embedding": {"tokens": 2, "vocabulary": 3, "width": 4}})");
  EXPECT_THAT(List(table.tokens, table.vocabulary, table.width), ElementsAre(2, 3, 4));
  const auto loss = ReadAs<CrossEntropy>(R"({"cross_entropy": {"tokens": 2, "vocabulary": 3}})");
  EXPECT_THAT(List(loss.tokens, loss.vocabulary), ElementsAre(2, 3));
  const auto update = ReadAs<OptimizerUpdate>(
      R"({"optimizer_update": {"parameters": 2, "rule": "UPDATE_RULE_LION",
                               "master_weights": true}})");
  EXPECT_THAT(List(update.parameters, update.master_weights), ElementsAre(2, 1));
  EXPECT_EQ(update.rule, UpdateRule::kLion);
  const auto copy = ReadAs<HostCopy>(
      R"({"host_copy": {"bytes": 2, "pageable": true, "link_bytes_per_second": 3,
                        "staging_bytes_per_second": 4, "node_type": "dgx-h100"}})");
  EXPECT_THAT(List(copy.bytes, copy.pinned, copy.link.value(), copy.staging.value()),
              ElementsAre(2, 0, 3, 4));
}

TEST(OperationFrom, CarriesEveryFieldOfLayers) {
  const auto a = ReadAs<Attention>(
      R"({"attention": {"batch": 1, "heads": 2, "kv_heads": 3, "query_length": 4, "key_length": 5,
                        "head_size": 6, "value_head_size": 7, "causal": true,
                        "convention": "CAUSAL_CONVENTION_PUBLISHED", "window": 8,
                        "unfused": true}})");
  EXPECT_THAT(List(a.batch, a.heads, a.kv_heads, a.query_length, a.key_length, a.head_size,
                   a.value_head_size, a.causal, a.window, a.fused),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 1, 8, 0));
  EXPECT_EQ(a.convention, CausalConvention::kPublished);
  const auto e = ReadAs<Experts>(
      R"({"experts": {"tokens": 1, "hidden_size": 2, "feed_forward_size": 3, "expert_count": 4,
                      "experts_per_token": 5, "expert_parallel_size": 6, "ungated": true}})");
  EXPECT_THAT(List(e.tokens, e.hidden_size, e.feed_forward_size, e.expert_count,
                   e.experts_per_token, e.expert_parallel_size, e.gated),
              ElementsAre(1, 2, 3, 4, 5, 6, 0));
  const auto chain = ReadAs<FusedChain>(
      R"({"fused_chain": {"count": 1, "steps": [
           {"function": "ELEMENTWISE_FUNCTION_ADD", "extra_input_count": 2},
           {"flops_per_element": 3}]}})");
  ASSERT_EQ(chain.steps.size(), 2u);
  EXPECT_THAT(List(chain.count, chain.steps[0].extra_input_count, chain.steps[1].flops_per_element),
              ElementsAre(1, 2, 3));
  EXPECT_EQ(chain.steps[0].function, ElementwiseFunction::kAdd);
  const auto einsum = ReadAs<Einsum>(
      R"({"einsum": {"expression": "a b, b c -> a c", "left_to_right": true,
                     "operands": [{"shape": [2, 3]}, {"shape": [3, 4]}]}})");
  EXPECT_EQ(einsum.expression, "a b, b c -> a c");
  EXPECT_TRUE(einsum.left_to_right);
  ASSERT_EQ(einsum.operands.size(), 2u);
  EXPECT_THAT(einsum.operands[1], ElementsAre(3, 4));
}

// The requests above have every field of every operation: a new one fails here.
TEST(OperationFrom, TheTestKnowsEveryField) {
  EXPECT_EQ(v1::Operation::descriptor()->field_count(), 20);
  int fields = 0;
  std::set<const google::protobuf::Descriptor*> seen;
  for (int i = 0; i < v1::Operation::descriptor()->field_count(); ++i) {
    const auto* kind = v1::Operation::descriptor()->field(i)->message_type();
    if (seen.insert(kind).second) fields += kind->field_count();
  }
  EXPECT_EQ(fields, 62);
}

TEST(FillSizeDefaults, TakesLengthsAndHeadsFromTheQueries) {
  Operation operation = Attention{.heads = 4, .query_length = 8};
  FillSizeDefaults(operation);
  EXPECT_EQ(std::get<Attention>(operation).kv_heads, 4);
  EXPECT_EQ(std::get<Attention>(operation).key_length, 8);
  operation = Elementwise{.input_count = 0, .function = ElementwiseFunction::kMultiply};
  FillSizeDefaults(operation);
  EXPECT_EQ(std::get<Elementwise>(operation).input_count, 2);
  operation = Elementwise{.input_count = 0};
  FillSizeDefaults(operation);
  EXPECT_EQ(std::get<Elementwise>(operation).input_count, 1);
  operation = Experts{.expert_parallel_size = 0};
  FillSizeDefaults(operation);
  EXPECT_EQ(std::get<Experts>(operation).expert_parallel_size, 1);
}

TEST(OperationTypes, GoThereAndBack) {
  v1::OperationTypes wire;
  wire.set_input(v1::DATA_TYPE_FP8);
  wire.set_output(v1::DATA_TYPE_BF16);
  wire.set_accumulation(v1::DATA_TYPE_FP32);
  for (const auto scaling : {v1::MATMUL_SCALING_TENSOR, v1::MATMUL_SCALING_BLOCK}) {
    wire.set_scaling(scaling);
    FieldViolations violations;
    v1::OperationTypes back;
    OperationTypesTo(OperationTypesFrom(wire, "data_types", violations), &back);
    EXPECT_TRUE(violations.empty());
    EXPECT_EQ(back.SerializeAsString(), wire.SerializeAsString());
  }
}

TEST(OperationFrom, FunctionsArriveByTheirNames) {
  const std::string header = "engine/operation/operation.h";
  FieldViolations violations;
  const auto read = [&violations](const v1::Operation& wire) {
    return OperationFrom(wire, "operation", violations)->operation;
  };
  ExpectArrives({v1::ElementwiseFunction_descriptor(), header, "ElementwiseFunction"}, "General",
                [&](int number) -> absl::optional<int> {
                  v1::Operation wire;
                  wire.mutable_elementwise()->set_function(v1::ElementwiseFunction(number));
                  return static_cast<int>(std::get<Elementwise>(read(wire)).function);
                });
  ExpectArrives({v1::ActivationFunction_descriptor(), header, "ActivationFunction"}, "Relu",
                [&](int number) -> absl::optional<int> {
                  v1::Operation wire;
                  wire.mutable_activation()->set_function(v1::ActivationFunction(number));
                  return static_cast<int>(std::get<Activation>(read(wire)).function);
                });
  ExpectArrives({v1::CausalConvention_descriptor(), header, "CausalConvention"}, "WithDiagonal",
                [&](int number) -> absl::optional<int> {
                  v1::Operation wire;
                  wire.mutable_attention()->set_causal(true);
                  wire.mutable_attention()->set_convention(v1::CausalConvention(number));
                  return static_cast<int>(std::get<Attention>(read(wire)).convention);
                });
  EXPECT_TRUE(violations.empty());
}

}  // namespace
}  // namespace sextant::server
