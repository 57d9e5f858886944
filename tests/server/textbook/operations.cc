#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tests/server/textbook/questions.h"

namespace sextant::server {
namespace {

using nlohmann::json;

// `operation` as the API spells it, in `type`.
json Analyze(const TestServer& server, const json& operation, const char* type = "FP32",
             const json& more = json::object()) {
  json request = {{"operation", operation},
                  {"data_types", {{"input", absl::StrCat("DATA_TYPE_", type)}}}};
  request.update(more);
  return Ask(server, "AccountingService/AnalyzeOperation", request);
}

double Flops(const json& answer) {
  return NumberAt(answer, "/forward/sum/matrix_flops") +
         NumberAt(answer, "/forward/sum/other_flops");
}

double MatrixFlopsPerToken(const TestServer& server, int64_t rows, int64_t columns) {
  return Flops(
      Analyze(server, {{"linear", {{"rows", 1}, {"input_size", rows}, {"output_size", columns}}}}));
}

json Product(const json& in) {
  return {{"matmul", {{"m", in["B"]}, {"n", in["K"]}, {"k", in["D"]}}}};
}

json Sum(const json& in) {
  const int64_t count =
      in.contains("m") ? in["m"].get<int64_t>() * in["n"].get<int64_t>() : int64_t{4096};
  return {{"elementwise", {{"count", count}, {"function", "ELEMENTWISE_FUNCTION_ADD"}}}};
}

json SquaredLoss(const TestServer& server, const json& in) {
  const int64_t count = in["B"].get<int64_t>() * in["K"].get<int64_t>();
  return Flops(Analyze(
             server,
             {{"elementwise", {{"count", count}, {"function", "ELEMENTWISE_FUNCTION_SQUARE"}}}})) +
         Flops(Analyze(
             server,
             {{"reduction",
               {{"outer", 1}, {"reduced", count}, {"function", "REDUCTION_FUNCTION_MEAN"}}}}));
}

json Scores(const TestServer& server, const json& in) {
  json einsum = {{"expression", "batch seq1 hidden, batch seq2 hidden -> batch seq1 seq2"},
                 {"operands", json::array()}};
  for (const json& shape : in["shapes"]) einsum["operands"].push_back({{"shape", shape}});
  return Analyze(server, {{"einsum", einsum}});
}

json ScoresShape(const TestServer& server, const json& in) {
  json out = json::array();
  const json answer = Scores(server, in);
  for (const json& size : answer["einsum"]["shape"]) {
    out.push_back(std::stoll(size.get<std::string>()));
  }
  return out;
}

AskedQuestion Intensity(json (*operation)(const json&), const char* type) {
  return [operation, type](const TestServer& server, const json& in) -> json {
    return NumberAt(Analyze(server, operation(in), type), "/forward/sum/arithmetic_intensity");
  };
}

json Square(const json& in) {
  return {{"matmul", {{"m", in["n"]}, {"n", in["n"]}, {"k", in["n"]}}}};
}

json Relu(const json&) { return {{"activation", {{"count", 4096}}}}; }

double MovedBytes(const json& cost) {
  return NumberAt(cost, "/sum/read_bytes") + NumberAt(cost, "/sum/written_bytes");
}

json FusedShare(const TestServer& server, const json& in) {
  const json steps(in["ops"].get<size_t>(), json::object());
  const json answer =
      Analyze(server, {{"fused_chain", {{"count", 4096}, {"steps", steps}}}}, "BF16");
  return MovedBytes(answer["forward"]) / MovedBytes(answer["unfused"]);
}

json Utilisation(const TestServer& server, const json& in) {
  const json device = {{"matrix_flops_per_second", in["peak_flops"]},
                       {"memory_bytes_per_second", 3.35e12}};
  return NumberAt(Analyze(server, Product(in), "FP32",
                          {{"device", device}, {"achieved_seconds", in["seconds"]}}),
                  "/time/utilisation/ratio");
}

json CopySeconds(const TestServer& server, const json& in) {
  json copy = in;
  copy["pageable"] = in.contains("staging_bytes_per_second");
  return NumberAt(
      Ask(server, "AccountingService/AnalyzeOperation", {{"operation", {{"host_copy", copy}}}}),
      "/host_copy/no_overlap_seconds");
}

json Attention(const json& length, const json& head_size) {
  return {{"batch", 1}, {"heads", 1}, {"query_length", length}, {"head_size", head_size}};
}

AskedQuestion MeanAttended(const char* convention) {
  return [convention](const TestServer& server, const json& in) -> json {
    json attention = Attention(in["s"], 64);
    attention["causal"] = true;
    attention["convention"] = absl::StrCat("CAUSAL_CONVENTION_", convention);
    attention["window"] = in.value("w", 0);
    return NumberAt(Analyze(server, {{"attention", attention}}), "/attended_pairs") /
           in["s"].get<double>();
  };
}

// Both products for each token, over all layers; heads are counted as one of their total width.
double MaskFlops(const TestServer& server, const json& in, bool half) {
  json attention = Attention(in["n_ctx"], in["d_attn"]);
  if (half) {
    attention["causal"] = true;
    attention["convention"] = "CAUSAL_CONVENTION_PUBLISHED";
  }
  return NumberAt(Analyze(server, {{"attention", attention}}), "/forward/sum/matrix_flops") *
         in["n_layer"].get<double>() / in["n_ctx"].get<double>();
}

AskedQuestion Deviation(const char* name) {
  return [pointer = absl::StrCat("/initialization/", name)](const TestServer& server,
                                                            const json& in) -> json {
    const json linear = {{"rows", 1}, {"input_size", in["fan_in"]}, {"output_size", 1}};
    return NumberAt(Analyze(server, {{"linear", linear}}), pointer);
  };
}

// The number of state tensors of a parameter's size.
AskedQuestion Buffers(const std::string& rule) {
  return [rule](const TestServer& server, const json&) -> json {
    const json update = {{"parameters", 1000},
                         {"rule", absl::StrCat("UPDATE_RULE_", absl::AsciiStrToUpper(rule))}};
    int buffers = 0;
    const json answer = Analyze(server, {{"optimizer_update", update}});
    for (const json& operand : answer["operands"]) {
      buffers += operand["role"] == "ARRAY_ROLE_STATE" ? 1 : 0;
    }
    return buffers;
  };
}

AskedQuestions KaplansTable() {
  return {
      {"kaplan-gpt3-qkv-flops",
       [](const TestServer& s, const json& in) -> json {
         return in["n_layer"].get<double>() *
                MatrixFlopsPerToken(s, in["d_model"], 3 * in["d_model"].get<int64_t>());
       }},
      {"kaplan-gpt3-mask-flops",
       [](const TestServer& s, const json& in) -> json { return MaskFlops(s, in, true); }},
      {"kaplan-gpt3-project-flops",
       [](const TestServer& s, const json& in) -> json {
         return in["n_layer"].get<double>() * MatrixFlopsPerToken(s, in["d_model"], in["d_model"]);
       }},
      {"kaplan-gpt3-ffn-flops",
       [](const TestServer& s, const json& in) -> json {
         return in["n_layer"].get<double>() * (MatrixFlopsPerToken(s, in["d_model"], in["d_ff"]) +
                                               MatrixFlopsPerToken(s, in["d_ff"], in["d_model"]));
       }},
      {"kaplan-gpt3-deembed-flops",
       [](const TestServer& s, const json& in) -> json {
         return MatrixFlopsPerToken(s, in["d_model"], in["n_vocab"]);
       }},
      {"kaplan-gpt3-forward-flops",
       [](const TestServer& s, const json& in) -> json {
         return MatrixFlopsPerToken(s, in["N"], 1) + MaskFlops(s, in, true);
       }},
      {"exact-gpt3-mask-flops",
       [](const TestServer& s, const json& in) -> json { return MaskFlops(s, in, false); }},
  };
}

}  // namespace

AskedQuestions AskedOfOperations() {
  AskedQuestions out = {
      {"matmul-linear-forward",
       [](const TestServer& s, const json& in) -> json { return Flops(Analyze(s, Product(in))); }},
      {"add-mxn",
       [](const TestServer& s, const json& in) -> json { return Flops(Analyze(s, Sum(in))); }},
      {"two-layer-loss-elementwise", SquaredLoss},
      {"einsum-scores-shape", ScoresShape},
      {"einsum-scores-flops",
       [](const TestServer& s, const json& in) -> json { return Flops(Scores(s, in)); }},
      {"intensity-square-matmul-bf16", Intensity(Square, "BF16")},
      {"intensity-relu-bf16", Intensity(Relu, "BF16")},
      {"intensity-add-fp32", Intensity(Sum, "FP32")},
      {"fusion-3-unary-bf16", FusedShare},
      {"mfu-timed-matmul", Utilisation},
      {"mfu-sparse-peak-mistake", Utilisation},
      {"pinned-copy-1gib", CopySeconds},
      {"pageable-copy-1gib", CopySeconds},
      {"attention-mean-causal-exact", MeanAttended("WITH_DIAGONAL")},
      {"attention-mean-window-exact", MeanAttended("WITH_DIAGONAL")},
      {"attention-mean-window-published", MeanAttended("PUBLISHED")},
      {"init-unscaled-output-std", Deviation("output_deviation_of_unit_weights")},
      {"init-scaled-output-std", Deviation("output_deviation_of_scaled_weights")},
      {"init-truncated-output-std", Deviation("output_deviation_of_truncated_weights")},
  };
  for (const char* rule : {"sgd", "sgd_momentum", "adagrad", "rmsprop", "adam", "adamw", "lion"}) {
    out[absl::StrCat("optimizer-buffers-", rule)] = Buffers(rule);
  }
  out.merge(KaplansTable());
  return out;
}

}  // namespace sextant::server
