#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "engine/operation/graph.h"
#include "tests/golden/textbook_questions.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using nlohmann::json;

// x [rows, sizes[0]] through linear layers to sizes[1], sizes[2], ..., in fp32.
struct Layers {
  int64_t rows = 1;
  std::vector<int64_t> sizes;
  bool input_gradient = true;
};

GraphAnalysis Analyze(const Layers& layers) {
  GraphSpec spec = {.data_type = DataType::kFp32, .rule = UpdateRule::kAdagrad};
  spec.tensors.push_back({.name = "h0",
                          .shape = {layers.rows, layers.sizes[0]},
                          .requires_gradient = layers.input_gradient});
  for (size_t i = 1; i < layers.sizes.size(); ++i) {
    const std::string weight = absl::StrCat("w", i);
    const std::string output = absl::StrCat("h", i);
    spec.tensors.push_back(
        {.name = weight, .shape = {layers.sizes[i - 1], layers.sizes[i]}, .parameter = true});
    spec.operations.push_back({.name = output,
                               .work = Linear{},
                               .inputs = {absl::StrCat("h", i - 1), weight},
                               .output = output});
  }
  const auto analysis = AnalyzeGraph(spec);
  EXPECT_THAT(analysis, IsOk()) << analysis.status();
  return analysis.ok() ? *analysis : GraphAnalysis();
}

// x w1 (D, D), then w2 (D, K).
GraphTotals TwoLayers(const json& in, bool input_gradient) {
  return Analyze({.rows = in["B"],
                  .sizes = {in["D"], in["D"], in["K"]},
                  .input_gradient = input_gradient})
      .totals;
}

// L layers D by D, and a head D by 1.
GraphAnalysis DeepLinear(const json& in) {
  Layers layers = {.rows = in.value("B", int64_t{1}),
                   .sizes = std::vector<int64_t>(in["L"].get<size_t>() + 1, in["D"])};
  layers.sizes.push_back(1);
  return Analyze(layers);
}

double FlopsOfStep(const GraphTotals& totals) {
  return (totals.forward.flops() + totals.backward.flops()).value();
}

// Bytes that the layers save for the backward pass, without the batch itself, which the first
// saves.
int64_t ActivationBytes(const GraphAnalysis& analysis) {
  int64_t sum = 0;
  for (const SavedStorage& saved : analysis.memory.saved) {
    if (saved.storage.kind == StorageKind::kActivation) sum += saved.storage.size.value();
  }
  return sum;
}

double DeepLinearMemory(const json& in) {
  const GraphAnalysis a = DeepLinear(in);
  const Bytes held = a.totals.parameter_bytes + a.totals.gradient_bytes + a.totals.optimizer_bytes;
  return static_cast<double>(held.value() + ActivationBytes(a));
}

}  // namespace

TextbookQuestions GraphQuestions() {
  return {
      {"two-layer-forward",
       [](const json& in) { return TwoLayers(in, false).forward.flops().value(); }},
      {"two-layer-backward-no-input-grad",
       [](const json& in) { return TwoLayers(in, false).backward.flops().value(); }},
      {"two-layer-backward-with-input-grad",
       [](const json& in) { return TwoLayers(in, true).backward.flops().value(); }},
      {"two-layer-step", [](const json& in) { return FlopsOfStep(TwoLayers(in, true)); }},
      {"deep-linear-params",
       [](const json& in) {
         return static_cast<double>(DeepLinear(in).totals.trainable_parameters);
       }},
      {"deep-linear-activations",
       [](const json& in) { return static_cast<double>(ActivationBytes(DeepLinear(in)) / 4); }},
      {"deep-linear-memory-fp32-adagrad", DeepLinearMemory},
      {"deep-linear-step-flops", [](const json& in) { return FlopsOfStep(DeepLinear(in).totals); }},
  };
}

}  // namespace sextant
