#include <gtest/gtest.h>

#include <vector>

#include "engine/operation/analysis.h"
#include "engine/operation/initialization.h"
#include "engine/operation/operation.h"
#include "engine/operation/roofline.h"
#include "tests/golden/textbook_questions.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using nlohmann::json;

OperationAnalysis Analyze(const Operation& operation, DataType type = DataType::kFp32) {
  const auto analysis = AnalyzeOperation({operation, {.input = type}}, "");
  EXPECT_THAT(analysis, IsOk());
  return analysis.value_or(OperationAnalysis());
}

double ForwardFlops(const Operation& operation) {
  return Analyze(operation).forward.sum.flops().value();
}

Matmul ProductIn(const json& in) { return {.m = in["B"], .n = in["K"], .k = in["D"]}; }

double AddMatrices(const json& in) {
  const int64_t count = in["m"].get<int64_t>() * in["n"].get<int64_t>();
  return ForwardFlops(
      Elementwise{.count = count, .input_count = 2, .function = ElementwiseFunction::kAdd});
}

// The mean of the squares of h (B, K).
double SquaredLoss(const json& in) {
  const int64_t count = in["B"].get<int64_t>() * in["K"].get<int64_t>();
  return ForwardFlops(Elementwise{.count = count, .function = ElementwiseFunction::kSquare}) +
         ForwardFlops(Reduction{.outer = 1, .reduced = count, .function = ReductionKind::kMean});
}

double Intensity(const Operation& operation, DataType type) {
  return Analyze(operation, type).forward.sum.intensity().value_or(0);
}

double FusedShare(const json& in) {
  const FusedChain chain = {.count = 4096, .steps = std::vector<ChainStep>(in["ops"])};
  const OperationAnalysis analysis = Analyze(chain, DataType::kBf16);
  return static_cast<double>(analysis.forward.sum.moved().value()) /
         static_cast<double>(analysis.unfused->sum.moved().value());
}

double ModelFlopsUtilisation(const json& in) {
  const auto utilisation = UtilisationOf({.flops = Flops(ForwardFlops(ProductIn(in))),
                                          .time = Seconds(in["seconds"]),
                                          .peak = FlopsPerSecond(in["peak_flops"])});
  EXPECT_THAT(utilisation, IsOk());
  return utilisation.value_or(Utilisation()).ratio;
}

double CopySeconds(const json& in) {
  HostCopy copy = {.bytes = in["bytes"], .link = BytesPerSecond(in["link_bytes_per_second"])};
  if (in.contains("staging_bytes_per_second")) {
    copy.pinned = false;
    copy.staging = BytesPerSecond(in["staging_bytes_per_second"]);
  }
  return TimeOf(copy).no_overlap.value();
}

double MeanAttended(const json& in, CausalConvention convention) {
  const Attention attention = {.query_length = in["s"],
                               .key_length = in["s"],
                               .causal = true,
                               .convention = convention,
                               .window = in.value("w", int64_t{0})};
  return AttendedPairs(attention) / in["s"].get<double>();
}

// Both products a token, of all layers; heads are summed up as one of their whole width.
double FullMaskFlops(const json& in) {
  const OperationAnalysis analysis = Analyze(Attention{.batch = 1,
                                                       .heads = 1,
                                                       .kv_heads = 1,
                                                       .query_length = in["n_ctx"],
                                                       .key_length = in["n_ctx"],
                                                       .head_size = in["d_attn"]});
  return analysis.forward.sum.matrix_flops.value() * in["n_layer"].get<double>() /
         in["n_ctx"].get<double>();
}

// FLOPs a token of one matrix of each layer, or of one alone: Kaplan's table, row by row.
double MatrixFlopsPerToken(const json& in, int64_t columns, int64_t layers) {
  return static_cast<double>(layers) *
         ForwardFlops(Linear{.rows = 1, .input_size = in["d_model"], .output_size = columns});
}

// His attention row: both products, a query attending to half of the positions.
double HalfMaskFlops(const json& in) {
  const OperationAnalysis analysis = Analyze(Attention{.batch = 1,
                                                       .heads = 1,
                                                       .kv_heads = 1,
                                                       .query_length = in["n_ctx"],
                                                       .key_length = in["n_ctx"],
                                                       .head_size = in["d_attn"],
                                                       .causal = true,
                                                       .convention = CausalConvention::kPublished});
  return analysis.forward.sum.matrix_flops.value() * in["n_layer"].get<double>() /
         in["n_ctx"].get<double>();
}

// Every parameter that is not an embedding is one multiply-add a token.
double KaplanForward(const json& in) {
  return ForwardFlops(Linear{.rows = 1, .input_size = in["N"], .output_size = 1}) +
         HalfMaskFlops(in);
}

TextbookQuestions KaplansTable() {
  const auto wide = [](const json& in) { return 3 * in["d_model"].get<int64_t>(); };
  return {
      {"kaplan-gpt3-qkv-flops",
       [wide](const json& in) { return MatrixFlopsPerToken(in, wide(in), in["n_layer"]); }},
      {"kaplan-gpt3-mask-flops", HalfMaskFlops},
      {"kaplan-gpt3-project-flops",
       [](const json& in) { return MatrixFlopsPerToken(in, in["d_model"], in["n_layer"]); }},
      {"kaplan-gpt3-ffn-flops",
       [](const json& in) { return 2 * MatrixFlopsPerToken(in, in["d_ff"], in["n_layer"]); }},
      {"kaplan-gpt3-deembed-flops",
       [](const json& in) { return MatrixFlopsPerToken(in, in["n_vocab"], 1); }},
      {"kaplan-gpt3-forward-flops", KaplanForward},
  };
}

LinearInitialization Initialization(const json& in) {
  const auto init = InitializationOf(in["fan_in"], in.value("truncate_sigma", kDefaultTruncation));
  EXPECT_THAT(init, IsOk());
  return init.value_or(LinearInitialization());
}

TextbookQuestions WholeOperations() {
  return {
      {"matmul-linear-forward", [](const json& in) { return ForwardFlops(ProductIn(in)); }},
      {"add-mxn", AddMatrices},
      {"two-layer-loss-elementwise", SquaredLoss},
  };
}

TextbookQuestions Ratios() {
  return {
      {"intensity-square-matmul-bf16",
       [](const json& in) {
         return Intensity(Matmul{.m = in["n"], .n = in["n"], .k = in["n"]}, DataType::kBf16);
       }},
      {"intensity-relu-bf16",
       [](const json&) {
         return Intensity(Activation{ActivationFunction::kRelu, 4096}, DataType::kBf16);
       }},
      {"intensity-add-fp32",
       [](const json&) {
         return Intensity(
             Elementwise{.count = 4096, .input_count = 2, .function = ElementwiseFunction::kAdd},
             DataType::kFp32);
       }},
      {"fusion-3-unary-bf16", FusedShare},
      {"mfu-timed-matmul", ModelFlopsUtilisation},
      {"mfu-sparse-peak-mistake", ModelFlopsUtilisation},
      {"pinned-copy-1gib", CopySeconds},
      {"pageable-copy-1gib", CopySeconds},
  };
}

TextbookQuestions LengthsAndDeviations() {
  using C = CausalConvention;
  return {
      {"attention-mean-causal-exact",
       [](const json& in) { return MeanAttended(in, C::kWithDiagonal); }},
      {"attention-mean-window-exact",
       [](const json& in) { return MeanAttended(in, C::kWithDiagonal); }},
      {"attention-mean-window-published",
       [](const json& in) { return MeanAttended(in, C::kPublished); }},
      {"exact-gpt3-mask-flops", FullMaskFlops},
      {"init-unscaled-output-std",
       [](const json& in) { return Initialization(in).output_deviation_of_unit_weights; }},
      {"init-scaled-output-std",
       [](const json& in) { return OutputDeviation(in["fan_in"], in["weight_std"]); }},
      {"init-truncated-output-std",
       [](const json& in) { return Initialization(in).output_deviation_of_truncated_weights; }},
  };
}

}  // namespace

TextbookQuestions OperationQuestions() {
  TextbookQuestions all = WholeOperations();
  all.merge(Ratios());
  all.merge(LengthsAndDeviations());
  all.merge(KaplansTable());
  return all;
}

}  // namespace sextant
