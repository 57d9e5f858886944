// Whole small models, each one call of AnalyzeGraph.
#include "absl/strings/str_cat.h"
#include "tests/server/textbook/questions.h"

namespace sextant::server {
namespace {

using nlohmann::json;

// x w1 (D, D), then w2 (D, K).
json TwoLayers(const json& in, bool input_gradient) {
  json x = {{"name", "x"}, {"shape", {in["B"], in["D"]}}};
  if (input_gradient) x["requires_gradient"] = true;
  return {
      {"data_type", "DATA_TYPE_FP32"},
      {"tensors",
       {x,
        {{"name", "w1"}, {"shape", {in["D"], in["D"]}}, {"parameter", true}},
        {{"name", "w2"}, {"shape", {in["D"], in["K"]}}, {"parameter", true}}}},
      {"operations",
       {{{"name", "h1"}, {"operation", {{"linear", json::object()}}}, {"inputs", {"x", "w1"}}},
        {{"name", "h2"}, {"operation", {{"linear", json::object()}}}, {"inputs", {"h1", "w2"}}}}}};
}

// L layers D by D, and a head D by 1.
json DeepLinear(const json& in) {
  const int64_t layers = in["L"];
  const json input = {{"name", "h0"}, {"shape", {in.value("B", 1), in["D"]}}};
  json graph = {{"data_type", "DATA_TYPE_FP32"},
                {"optimizer", "UPDATE_RULE_ADAGRAD"},
                {"tensors", json::array({input})},
                {"operations", json::array()}};
  for (int64_t i = 1; i <= layers + 1; ++i) {
    const json columns = i <= layers ? in["D"] : json(1);
    graph["tensors"].push_back(
        {{"name", absl::StrCat("w", i)}, {"shape", {in["D"], columns}}, {"parameter", true}});
    graph["operations"].push_back({{"name", absl::StrCat("h", i)},
                                   {"operation", {{"linear", json::object()}}},
                                   {"inputs", {absl::StrCat("h", i - 1), absl::StrCat("w", i)}}});
  }
  return graph;
}

json AnalyzeGraphs(const TestServer& server, const json& graph) {
  return Ask(server, "AccountingService/AnalyzeGraph", {{"graph", graph}});
}

double Forward(const json& answer) { return NumberAt(answer, "/totals/forward/matrix_flops"); }
double Backward(const json& answer) { return NumberAt(answer, "/totals/backward/matrix_flops"); }

// The bytes kept between the layers: everything saved except the batch itself.
double Activations(const json& answer) {
  double bytes = 0;
  for (const json& saved : answer["memory"]["saved"]) {
    if (saved["storage"]["kind"] == "STORAGE_KIND_ACTIVATION") {
      bytes += NumberAt(saved, "/storage/size_bytes");
    }
  }
  return bytes;
}

json DeepLinearBytes(const TestServer& server, const json& in) {
  const json answer = AnalyzeGraphs(server, DeepLinear(in));
  const json& totals = answer["totals"];
  return NumberAt(totals, "/parameter_bytes") + NumberAt(totals, "/gradient_bytes") +
         NumberAt(totals, "/optimizer_bytes") + Activations(answer);
}

// 6 B x parameters, including the first layer's input gradient.
json DeepLinearStep(const TestServer& server, const json& in) {
  json graph = DeepLinear(in);
  graph["tensors"][0]["requires_gradient"] = true;
  const json answer = AnalyzeGraphs(server, graph);
  return Forward(answer) + Backward(answer);
}

}  // namespace

AskedQuestions AskedOfGraphs() {
  return {
      {"two-layer-forward",
       [](const TestServer& s, const json& in) -> json {
         return Forward(AnalyzeGraphs(s, TwoLayers(in, false)));
       }},
      {"two-layer-backward-no-input-grad",
       [](const TestServer& s, const json& in) -> json {
         return Backward(AnalyzeGraphs(s, TwoLayers(in, false)));
       }},
      {"two-layer-backward-with-input-grad",
       [](const TestServer& s, const json& in) -> json {
         return Backward(AnalyzeGraphs(s, TwoLayers(in, true)));
       }},
      {"two-layer-step",
       [](const TestServer& s, const json& in) -> json {
         const json answer = AnalyzeGraphs(s, TwoLayers(in, true));
         return Forward(answer) + Backward(answer);
       }},
      {"deep-linear-params",
       [](const TestServer& s, const json& in) -> json {
         return NumberAt(AnalyzeGraphs(s, DeepLinear(in)), "/totals/trainable_parameters");
       }},
      {"deep-linear-activations",
       [](const TestServer& s, const json& in) -> json {
         return Activations(AnalyzeGraphs(s, DeepLinear(in))) / 4;
       }},
      {"deep-linear-memory-fp32-adagrad", DeepLinearBytes},
      {"deep-linear-step-flops", DeepLinearStep},
  };
}

}  // namespace sextant::server
