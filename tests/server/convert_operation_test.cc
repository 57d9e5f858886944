// Operations from the wire, and predictions of their times to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <variant>

#include "server/convert/kernel.h"
#include "server/convert/operation.h"
#include "tests/server/message_matchers.h"
#include "tests/server/wire_values.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

// Every field has a different value, so that a dropped or swapped one is detected.
TEST(OperationFrom, CarriesEveryField) {
  const auto matmul = ReadAs<Matmul>(R"({"matmul": {"m": 1, "n": 2, "k": 3}})");
  EXPECT_THAT(Numbers(matmul.m, matmul.n, matmul.k), ElementsAre(1, 2, 3));
  const auto batch =
      ReadAs<BatchedMatmul>(R"({"batched_matmul": {"batch": 4, "m": 1, "n": 2, "k": 3}})");
  EXPECT_THAT(Numbers(batch.batch, batch.m, batch.n, batch.k), ElementsAre(4, 1, 2, 3));
  const auto linear =
      ReadAs<Linear>(R"({"linear": {"rows": 2, "input_size": 3, "output_size": 4, "bias": true}})");
  EXPECT_THAT(Numbers(linear.rows, linear.input_size, linear.output_size, linear.bias),
              ElementsAre(2, 3, 4, 1));
  const auto add = ReadAs<Elementwise>(
      R"({"elementwise": {"count": 2, "input_count": 3, "function": "ELEMENTWISE_FUNCTION_ADD"}})");
  EXPECT_THAT(Numbers(add.count, add.input_count), ElementsAre(2, 3));
  EXPECT_EQ(add.function, ElementwiseFunction::kAdd);
  const auto own =
      ReadAs<Elementwise>(R"({"elementwise": {"count": 2, "flops_per_element": 2.5}})");
  EXPECT_EQ(own.flops_per_element, 2.5);
  const auto mean = ReadAs<Reduction>(
      R"({"reduction": {"outer": 2, "reduced": 3, "function": "REDUCTION_FUNCTION_MEAN"}})");
  EXPECT_THAT(Numbers(mean.outer, mean.reduced), ElementsAre(2, 3));
  EXPECT_EQ(mean.function, ReductionKind::kMean);
  const auto softmax = ReadAs<Softmax>(R"({"softmax": {"rows": 2, "columns": 3}})");
  EXPECT_THAT(Numbers(softmax.rows, softmax.columns), ElementsAre(2, 3));
  const auto layer_norm = ReadAs<LayerNorm>(R"({"layer_norm": {"rows": 4, "columns": 5}})");
  EXPECT_THAT(Numbers(layer_norm.rows, layer_norm.columns), ElementsAre(4, 5));
  const auto rms_norm = ReadAs<RmsNorm>(R"({"rms_norm": {"rows": 6, "columns": 7}})");
  EXPECT_THAT(Numbers(rms_norm.rows, rms_norm.columns), ElementsAre(6, 7));
  const auto swiglu = ReadAs<SwiGlu>(R"({"swiglu": {"rows": 8, "columns": 9}})");
  EXPECT_THAT(Numbers(swiglu.rows, swiglu.columns), ElementsAre(8, 9));
  const auto silu =
      ReadAs<Activation>(R"({"activation": {"count": 2, "function": "ACTIVATION_FUNCTION_SILU"}})");
  EXPECT_EQ(silu.count, 2);
  EXPECT_EQ(silu.function, ActivationFunction::kSilu);
  const auto rotary = ReadAs<Rotary>(R"({"rotary": {"tokens": 2, "heads": 3, "head_size": 4}})");
  EXPECT_THAT(Numbers(rotary.tokens, rotary.heads, rotary.head_size), ElementsAre(2, 3, 4));
  EXPECT_EQ(ReadAs<Dropout>(R"({"dropout": {"count": 2}})").count, 2);
  const auto table =
      ReadAs<EmbeddingLookup>(R"({"embedding": {"tokens": 2, "vocabulary": 3, "width": 4}})");
  EXPECT_THAT(Numbers(table.tokens, table.vocabulary, table.width), ElementsAre(2, 3, 4));
  const auto loss = ReadAs<CrossEntropy>(R"({"cross_entropy": {"tokens": 2, "vocabulary": 3}})");
  EXPECT_THAT(Numbers(loss.tokens, loss.vocabulary), ElementsAre(2, 3));
  const auto update = ReadAs<OptimizerUpdate>(
      R"({"optimizer_update": {"parameters": 2, "rule": "UPDATE_RULE_LION",
                               "master_weights": true}})");
  EXPECT_THAT(Numbers(update.parameters, update.master_weights), ElementsAre(2, 1));
  EXPECT_EQ(update.rule, UpdateRule::kLion);
  const auto copy = ReadAs<HostCopy>(
      R"({"host_copy": {"bytes": 2, "pageable": true, "link_bytes_per_second": 3,
                        "staging_bytes_per_second": 4, "node_type": "dgx-h100"}})");
  EXPECT_THAT(Numbers(copy.bytes, copy.pinned, copy.link.value(), copy.staging.value()),
              ElementsAre(2, 0, 3, 4));
}

TEST(OperationFrom, CarriesEveryFieldOfLayers) {
  const auto a = ReadAs<Attention>(
      R"({"attention": {"batch": 1, "heads": 2, "kv_heads": 3, "query_length": 4, "key_length": 5,
                        "head_size": 6, "value_head_size": 7, "causal": true,
                        "convention": "CAUSAL_CONVENTION_PUBLISHED", "window": 8,
                        "unfused": true}})");
  EXPECT_THAT(Numbers(a.batch, a.heads, a.kv_heads, a.query_length, a.key_length, a.head_size,
                      a.value_head_size, a.causal, a.window, a.fused),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 1, 8, 0));
  EXPECT_EQ(a.convention, CausalConvention::kPublished);
  const auto e = ReadAs<Experts>(
      R"({"experts": {"tokens": 1, "hidden_size": 2, "feed_forward_size": 3, "expert_count": 4,
                      "experts_per_token": 5, "expert_parallel_size": 6, "ungated": true}})");
  EXPECT_THAT(Numbers(e.tokens, e.hidden_size, e.feed_forward_size, e.expert_count,
                      e.experts_per_token, e.expert_parallel_size, e.gated),
              ElementsAre(1, 2, 3, 4, 5, 6, 0));
  const auto chain = ReadAs<FusedChain>(
      R"({"fused_chain": {"count": 1, "steps": [
           {"function": "ELEMENTWISE_FUNCTION_ADD", "extra_input_count": 2},
           {"flops_per_element": 3}]}})");
  ASSERT_EQ(chain.steps.size(), 2u);
  EXPECT_THAT(
      Numbers(chain.count, chain.steps[0].extra_input_count, chain.steps[1].flops_per_element),
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

// A different value in every field.
KernelTime SampleTime() {
  return {.expected = Seconds(2),
          .low = Seconds(1),
          .high = Seconds(4),
          .basis = KernelBasis::kOtherPass};
}

KernelSource SampleSource() {
  KernelSource out;
  out.source = RateSource::kMeasuredSupplied;
  out.citation = "a probe";
  out.device = "h100-sxm";
  out.form = PredictionForm::kTerms;
  out.error = {.p10 = 0.5,
               .median = 0.6,
               .p90 = 0.7,
               .median_absolute = 0.08,
               .p90_absolute = 0.09,
               .shape_count = 10};
  out.device_uuid = "GPU-1";
  out.measured_unix_seconds = 11;
  return out;
}

TEST(KernelPredictionTo, CarriesEveryField) {
  OperationPrediction prediction;
  prediction.source = SampleSource();
  prediction.regime = KernelRegime::kSustained;
  prediction.nearest = {{.work = MatmulShape{.m = 12, .n = 13, .k = 14}, .time = Seconds(15)},
                        {.work = StreamWork{16, 17, 18}, .time = Seconds(19)}};
  SourceNumbers::List list;
  SourceNumbers sources(&list);
  v1::KernelPrediction wire;
  const PredictedWork work = {
      .flops = Flops(40), .matrix_flops = Flops(32), .peak = FlopsPerSecond(80)};
  KernelPredictionTo(prediction, SampleTime(), work, sources, &wire);
  EXPECT_THAT(wire, EqualsText(R"(
      duration_seconds { low: 1 expected: 2 high: 4 } flops_per_second: 20 datasheet_mfu: 0.2
      basis: KERNEL_BASIS_OTHER_PASS source: RATE_SOURCE_MEASURED_SUPPLIED source_number: 1
      device: "h100-sxm" form: PREDICTION_FORM_TERMS
      error { shape_count: 10 p10_ratio: 0.5 median_ratio: 0.6 p90_ratio: 0.7
              median_absolute_error_ratio: 0.08 p90_absolute_error_ratio: 0.09 }
      nearest { matmul { m: 12 n: 13 k: 14 batch_count: 1 } seconds: 15 }
      nearest { memory_pass { size_bytes: 33 flops: 18 } seconds: 19 }
      measured_time { seconds: 11 } device_uuid: "GPU-1" regime: KERNEL_REGIME_SUSTAINED)"));
  EXPECT_THAT(list, ElementsAre("a probe"));
  EXPECT_THAT(UnsetFields(wire), IsEmpty());
}

TEST(KernelPredictionTo, OfPublishedTimesHasNoDeviceOfItsOwn) {
  OperationPrediction prediction;
  prediction.source = SampleSource();
  prediction.source.measured_unix_seconds = 0;
  SourceNumbers sources(nullptr);
  v1::KernelPrediction wire;
  KernelPredictionTo(prediction, SampleTime(), {.flops = Flops(40)}, sources, &wire);
  EXPECT_FALSE(wire.has_measured_time() || wire.has_device_uuid() || wire.has_datasheet_mfu());
  EXPECT_EQ(wire.regime(), v1::KERNEL_REGIME_BURST);
}

TEST(KernelCurveTo, CarriesEveryField) {
  KernelCurve curve = {.kind = CurveKind::kTokenMatmul,
                       .data_type = DataType::kBf16,
                       .source = SampleSource(),
                       .peak = FlopsPerSecond(80),
                       .points = {{.size = 5, .time = SampleTime(), .flops = Flops(40)}}};
  SourceNumbers::List list;
  SourceNumbers sources(&list);
  v1::KernelCurve wire;
  KernelCurveTo(curve, sources, &wire);
  EXPECT_THAT(wire, EqualsText(R"(
      kind: KERNEL_KIND_TOKEN_MATMUL data_type: DATA_TYPE_BF16
      source: RATE_SOURCE_MEASURED_SUPPLIED source_number: 1 form: PREDICTION_FORM_TERMS
      error { shape_count: 10 p10_ratio: 0.5 median_ratio: 0.6 p90_ratio: 0.7
              median_absolute_error_ratio: 0.08 p90_absolute_error_ratio: 0.09 }
      peak_flops_per_second: 80
      points { size: 5 duration_seconds { low: 1 expected: 2 high: 4 } flops_per_second: 20
               datasheet_mfu: 0.25 basis: KERNEL_BASIS_OTHER_PASS })"));
  EXPECT_THAT(UnsetFields(wire), IsEmpty());
}

TEST(KernelRegime, IsABurstUnlessSaid) {
  FieldViolations violations;
  EXPECT_EQ(KernelRegimePair::From(v1::KERNEL_REGIME_UNSPECIFIED, "f", violations),
            KernelRegime::kBurst);
  EXPECT_EQ(KernelRegimePair::From(v1::KERNEL_REGIME_SUSTAINED, "f", violations),
            KernelRegime::kSustained);
  EXPECT_TRUE(violations.empty());
  KernelRegimePair::From(static_cast<v1::KernelRegime>(7), "f", violations);
  EXPECT_FALSE(violations.empty());
}

TEST(PredictionForm, KeepsNames) {
  ExpectSameNames(
      {v1::PredictionForm_descriptor(), "engine/hardware/predict/kernel_source.h",
       "PredictionForm"},
      [](int form) { return PredictionFormPair::To(static_cast<PredictionForm>(form)); });
}

}  // namespace
}  // namespace sextant::server
