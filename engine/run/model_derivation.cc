#include "engine/run/model_derivation.h"

#include <cmath>
#include <initializer_list>
#include <utility>

#include "engine/run/plan.h"

namespace sextant {
namespace {

constexpr char kTensorSource[] = "the model's tensors, one by one: docs/architecture.md";

class ModelDerivation {
 public:
  ModelDerivation(const RunSpec& run, const Plan& plan, std::vector<DerivationStep>& steps)
      : run_(run), plan_(plan), steps_(steps) {}

  void Parameters();
  void FlopsOfRun();

 private:
  void Add(DerivationStep step) { steps_.push_back(std::move(step)); }

  void Component(WeightComponent component);
  void Padding();
  void MultiTokenPrediction();
  void Subset(absl::string_view name, int64_t count, int64_t WeightCount::*of);
  DerivationStep FlopsPerToken(const FlopsCount& count) const;

  const RunSpec& run_;
  const Plan& plan_;
  std::vector<DerivationStep>& steps_;
};

void ModelDerivation::Parameters() {
  const ArchitectureCount& p = plan_.parameters;
  const auto total = static_cast<double>(p.all.total);
  if (!plan_.has_shapes()) {
    Add({"parameters.total", "given", absl::StrCat(p.all.total), total, "parameter",
         "model.parameter_count of the request"});
    return;
  }
  std::string all;
  std::string embedding;
  for (int i = 0; i < kWeightComponentCount; ++i) {
    const auto component = static_cast<WeightComponent>(i);
    if (p.of(component).total == 0) continue;
    Component(component);
    AppendTerm(all, p.of(component).total);
    if (IsEmbedding(component)) AppendTerm(embedding, p.of(component).total);
  }
  Add({"parameters.total", "sum of the components", all, total, "parameter", kTensorSource});
  Subset("parameters.active", p.all.active, &WeightCount::active);
  Subset("parameters.trainable", p.all.trainable, &WeightCount::trainable);
  Padding();
  MultiTokenPrediction();
  Add({"parameters.embedding", "sum of the components marked embedding", embedding,
       static_cast<double>(p.embedding), "parameter", kTensorSource});
  Add({"parameters.non_embedding", "total - embedding",
       absl::StrCat(p.all.total, " - ", p.embedding), static_cast<double>(p.non_embedding()),
       "parameter", kTensorSource});
}

// The product of the factors that are not 1.
std::string Product(std::initializer_list<int64_t> factors) {
  std::string out;
  for (const int64_t factor : factors) {
    if (factor != 1) absl::StrAppend(&out, out.empty() ? "" : " * ", factor);
  }
  return out.empty() ? "1" : out;
}

void ModelDerivation::Component(WeightComponent component) {
  std::string all;
  std::string active;
  std::string trained;
  const auto add = [](std::string& sum, const std::string& term) {
    absl::StrAppend(&sum, sum.empty() ? "" : " + ", term);
  };
  for (const WeightTensor& t : plan_.tensors()) {
    if (t.component != component) continue;
    add(all, Product({t.rows, t.columns, t.copies, t.layers}));
    add(active, Product({t.rows, t.columns, t.active_copies, t.layers}));
    add(trained, Product({t.rows, t.columns, t.copies, t.trainable_layers}));
  }
  const std::string prefix =
      absl::StrCat("parameters.components.", WeightComponentName(component), ".");
  const WeightCount& count = plan_.parameters.of(component);
  const auto step = [&](absl::string_view name, absl::string_view formula, std::string sum,
                        int64_t value) {
    Add({absl::StrCat(prefix, name), formula, std::move(sum), static_cast<double>(value),
         "parameter", kTensorSource});
  };
  step("parameter_count", "sum of rows x columns x copies x layers over its tensors, ones left out",
       std::move(all), count.total);
  step("active_parameter_count", "the same with the copies that one token meets", std::move(active),
       count.active);
  step("trainable_parameter_count", "the same with the layers that are trained", std::move(trained),
       count.trainable);
}

void ModelDerivation::Subset(absl::string_view name, int64_t count, int64_t WeightCount::*of) {
  std::string sum;
  for (const WeightCount& component : plan_.parameters.by_component) {
    if (component.*of != 0) AppendTerm(sum, component.*of);
  }
  Add({std::string(name), "sum over the components", sum.empty() ? "0" : sum,
       static_cast<double>(count), "parameter", kTensorSource});
}

void ModelDerivation::MultiTokenPrediction() {
  const int64_t count = plan_.parameters.of(ModelPart::kMultiTokenPrediction).total;
  if (count == 0) return;
  std::string sum;
  for (const WeightTensor& t : plan_.tensors()) {
    if (t.part != ModelPart::kMultiTokenPrediction) continue;
    absl::StrAppend(&sum, sum.empty() ? "" : " + ",
                    Product({t.rows, t.columns, t.copies, t.layers}));
  }
  Add({"parameters.multi_token_prediction",
       "sum of rows x columns x copies x layers over the tensors of its modules", sum,
       static_cast<double>(count), "parameter", kTensorSource});
}

void ModelDerivation::Padding() {
  std::string sum;
  for (const WeightTensor& t : plan_.tensors()) {
    if (t.padding_rows > 0) {
      absl::StrAppend(&sum, sum.empty() ? "" : " + ", Product({t.padding_rows, t.columns}));
    }
  }
  Add({"parameters.padding", "sum of padding rows x columns", sum.empty() ? "0" : sum,
       static_cast<double>(plan_.parameters.padding), "parameter", kTensorSource});
}

// The derivation of one convention's FLOPs per token.
DerivationStep ModelDerivation::FlopsPerToken(const FlopsCount& count) const {
  using enum FlopsConvention;
  const ConventionFacts& facts = FactsOf(count.convention);
  DerivationStep out = {.symbol = absl::StrCat("flops.counts.", facts.name, ".flops_per_token"),
                        .formula = facts.definition,
                        .substitution = "",
                        .value = count.per_token.value(),
                        .unit = "FLOP/token",
                        .source = std::string(facts.source)};
  const ArchitectureCount& p = plan_.parameters;
  if (count.convention == kSixNTotal) {
    out.formula = "6 x active parameters";
    out.substitution = absl::StrCat("6 * ", p.all.active);
  } else if (count.convention == kSixNNonEmbedding) {
    out.formula = "6 x active parameters without embeddings";
    out.substitution = absl::StrCat("6 * ", p.active_non_embedding());
  } else if (count.convention == kExactCausal) {
    out.formula = "sum of the model's matrix products, forward and backward, by component";
    for (const Flops product : plan_.flops.products) {
      absl::StrAppend(&out.substitution, out.substitution.empty() ? "" : " + ",
                      Number(product.value()));
    }
  } else {
    out.substitution = Number(plan_.flops.exact_causal().value());
    for (const TermDifference& difference : count.differences) {
      const double value = difference.per_token.value();
      absl::StrAppend(&out.substitution, value < 0 ? " - " : " + ", Number(std::abs(value)));
    }
  }
  return out;
}

void ModelDerivation::FlopsOfRun() {
  const auto add = [this](const FlopsCount& count) {
    DerivationStep per_token = FlopsPerToken(count);
    const std::string source = per_token.source;
    Add(std::move(per_token));
    Add({absl::StrCat("flops.counts.", FactsOf(count.convention).name, ".flops"),
         "flops_per_token x token_count",
         absl::StrCat(Number(count.per_token.value()), " * ", run_.training.token_count),
         count.run.value(), "FLOP", source});
  };
  // The exact count first: the others are derived as differences from it.
  const auto exact = [](const FlopsCount& count) {
    return count.convention == FlopsConvention::kExactCausal;
  };
  for (const FlopsCount& count : plan_.flops.counts) {
    if (exact(count)) add(count);
  }
  for (const FlopsCount& count : plan_.flops.counts) {
    if (!exact(count)) add(count);
  }
  if (!plan_.flops.hardware.has_value()) return;
  const HardwareShare& share = *plan_.flops.hardware;
  Add({"flops.hardware_flops_ratio", "FLOPs computed, recomputation included / FLOPs of the model",
       absl::StrCat(Number(share.hardware_per_token.value()), " / ",
                    Number(share.model_per_token.value())),
       share.ratio(), "ratio", "docs/transformer.md"});
}

}  // namespace

void AppendModelSteps(const RunSpec& run, const Plan& plan, std::vector<DerivationStep>& steps) {
  ModelDerivation derivation(run, plan, steps);
  derivation.Parameters();
  derivation.FlopsOfRun();
}

}  // namespace sextant
