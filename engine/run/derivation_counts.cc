// The derivation of a plan's parameters, FLOPs, memory and rates. Term::Is() takes the plan's exact
// integers where a sum in doubles could round.
#include <cmath>
#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "engine/run/planned_run.h"

namespace sextant {
namespace {

constexpr absl::string_view kRequest = "the request";
constexpr absl::string_view kMemory = "docs/memory.md";

using Tensor = WeightTensor;
using Factors = std::initializer_list<int64_t Tensor::*>;

// The product of the factors that are not 1.
Term ProductOf(const Tensor& tensor, Factors factors) {
  absl::optional<Term> out;
  for (const auto factor : factors) {
    const Term one("", tensor.*factor);
    if (tensor.*factor != 1) out = out.has_value() ? *out * one : one;
  }
  return out.value_or(Term(1));
}

// One method for each part of a plan.
class CountDerivation : private DerivationSteps {
 public:
  CountDerivation(const RunSpec& run, const Plan& plan) : run_(run), plan_(plan) {}

  std::vector<DerivationStep> Take() {
    AddInputs();
    AddParameters();
    AddFlops();
    AddState();
    AddFit();
    AddRates();
    return std::move(steps_);
  }

 private:
  void AddInputs() {
    const EconomicsSpec& economics = run_.economics;
    Begin("", kRequest);
    const auto add_default = [&](absl::string_view symbol, const auto& value, auto otherwise,
                                 absl::string_view unit) {
      Add(symbol, {"given", value.value_or(otherwise)}, unit,
          value.has_value() ? kRequest : "default");
    };
    Add("device_count", {"given", static_cast<double>(plan_.device_count)}, "device");
    Add("token_count", {"given", static_cast<double>(plan_.token_count)}, "token");
    if (plan_.activations.has_value()) {
      const auto bytes = static_cast<double>(plan_.activations->value());
      Add("memory.state.activation_bytes", {"given", bytes}, "byte");
    }
    add_default("reserved_memory_bytes", run_.cluster.reserved_memory_bytes, int64_t{0}, "byte");
    AddGiven("device_hour_price_usd", economics.device_hour_price_usd, "USD/(device hour)");
    add_default("host_power_watts_per_device", economics.host_power_watts_per_device, 0.0, "W");
    add_default("power_usage_effectiveness", economics.power_usage_effectiveness, 1.0, "ratio");
  }

  // Adds the sum of the products of `factors` over the tensors that `counts` is true of.
  void AddCount(absl::string_view symbol, absl::string_view formula, Factors factors, int64_t value,
                const auto& counts) {
    TermSum all(formula);
    for (const Tensor& t : plan_.tensors()) {
      if (counts(t)) all.Add(ProductOf(t, factors));
    }
    Add(symbol, all.sum().Is(value), "parameter");
  }

  void AddOverComponents(absl::string_view symbol, absl::string_view formula,
                         int64_t WeightCount::*part) {
    TermSum all(formula);
    for (const WeightCount& count : plan_.parameters.by_component) {
      if (count.*part != 0) all.Add({"", count.*part});
    }
    Add(symbol, all.sum().Is(plan_.parameters.all.*part), "parameter");
  }

  void AddParameters() {
    const ArchitectureCount& p = plan_.parameters;
    Begin("parameters.", "the model's tensors, one by one: docs/architecture.md");
    if (!plan_.has_shapes()) {
      return Add("total", {"given", p.all.total}, "parameter",
                 "model.parameter_count of the request");
    }
    TermSum embedding("sum of the components marked embedding");
    for (int i = 0; i < kWeightComponentCount; ++i) {
      const auto component = static_cast<WeightComponent>(i);
      const WeightCount& count = p.of(component);
      if (count.total == 0) continue;
      AddComponent(component, count);
      if (IsEmbedding(component)) embedding.Add({"", count.total});
    }
    AddOverComponents("total", "sum of the components", &WeightCount::total);
    AddOverComponents("active", "sum over the components", &WeightCount::active);
    AddOverComponents("trainable", "sum over the components", &WeightCount::trainable);
    AddCount("padding", "sum of padding rows x columns", {&Tensor::padding_rows, &Tensor::columns},
             p.padding, [](const Tensor& t) { return t.padding_rows > 0; });
    if (const int64_t count = p.of(ModelPart::kMultiTokenPrediction).total; count != 0) {
      AddCount("multi_token_prediction",
               "sum of rows x columns x copies x layers over the tensors of its modules",
               {&Tensor::rows, &Tensor::columns, &Tensor::copies, &Tensor::layers}, count,
               [](const Tensor& t) { return t.part == ModelPart::kMultiTokenPrediction; });
    }
    Add("embedding", embedding.sum().Is(p.embedding), "parameter");
    Add("non_embedding",
        (Term("total", p.all.total) - Term("embedding", p.embedding)).Is(p.non_embedding()),
        "parameter");
  }

  void AddComponent(WeightComponent component, const WeightCount& count) {
    const std::string prefix = absl::StrCat("components.", WeightComponentName(component), ".");
    const auto is_here = [component](const Tensor& t) { return t.component == component; };
    AddCount(prefix + "parameter_count",
             "sum of rows x columns x copies x layers over its tensors, ones left out",
             {&Tensor::rows, &Tensor::columns, &Tensor::copies, &Tensor::layers}, count.total,
             is_here);
    AddCount(prefix + "active_parameter_count", "the same with the copies that one token meets",
             {&Tensor::rows, &Tensor::columns, &Tensor::active_copies, &Tensor::layers},
             count.active, is_here);
    AddCount(prefix + "trainable_parameter_count", "the same with the layers that are trained",
             {&Tensor::rows, &Tensor::columns, &Tensor::copies, &Tensor::trainable_layers},
             count.trainable, is_here);
  }

  void AddFlops() {
    // The exact count first: the others are derived as differences from it.
    for (const bool exact : {true, false}) {
      for (const FlopsCount& count : plan_.flops.counts) {
        if ((count.convention == FlopsConvention::kExactCausal) == exact) AddFlopsOf(count);
      }
    }
    if (!plan_.flops.hardware.has_value()) return;
    const HardwareShare& share = *plan_.flops.hardware;
    Begin("flops.", "docs/transformer.md");
    Add("hardware_flops_ratio",
        Term("FLOPs computed, recomputation included", share.hardware_per_token.value()) /
            Term("FLOPs of the model", share.model_per_token.value()),
        "ratio");
  }

  void AddFlopsOf(const FlopsCount& count) {
    const ConventionFacts& facts = FactsOf(count.convention);
    Begin(absl::StrCat("flops.counts.", facts.name, "."), facts.source);
    Add("flops_per_token", FlopsPerToken(count, facts), "FLOP/token");
    Add("flops",
        Term("flops_per_token", count.per_token.value()) * Term("token_count", plan_.token_count),
        "FLOP");
  }

  Term FlopsPerToken(const FlopsCount& count, const ConventionFacts& facts) const {
    using enum FlopsConvention;
    const ArchitectureCount& p = plan_.parameters;
    if (count.convention == kSixNTotal) return 6 * Term("active parameters", p.all.active);
    if (count.convention == kSixNNonEmbedding) {
      return 6 * Term("active parameters without embeddings", p.active_non_embedding());
    }
    if (count.convention == kExactCausal) {
      TermSum all("sum of the model's matrix products, forward and backward, by component");
      for (const Flops product : plan_.flops.products) all.Add(product.value());
      return all.sum().Is(count.per_token);
    }
    Term out = plan_.flops.exact_causal().value();
    for (const TermDifference& difference : count.differences) {
      const double value = difference.per_token.value();
      out = value < 0 ? out - std::abs(value) : out + value;
    }
    return out.As(facts.definition).Is(count.per_token);
  }

  void AddState() {
    Begin("memory.state.", kMemory);
    TermSum all("sum of the terms' size_bytes");
    for (const StateTerm& term : plan_.state.terms) {
      const std::string prefix = absl::StrCat("terms.", term.name);
      const Term elements = Term("elements", term.elements);
      const Term size = elements * Term("element_bytes", term.element_bytes) +
                        Term("scale_bytes", term.scale_bytes);
      Add(prefix + ".size_bytes", size.Is(term.size), "byte", term.source);
      Add(prefix + ".bytes_per_parameter",
          Term("size_bytes", term.size) / Term("parameters.total", plan_.parameters.all.total),
          "byte/parameter", "by definition");
      all.Add({"", term.size.value()});
    }
    Add("state_bytes", all.sum().Is(plan_.state.total), "byte");
  }

  // FitOf() computes in integers of 128 bits.
  void AddFit() {
    const Fit& fit = plan_.fit;
    const Term usable("usable_bytes", plan_.capacity.usable());
    const Term activations("activation_bytes", plan_.activations.value_or(Bytes(0)));
    const Term state("state_bytes", plan_.state.total);
    const Term total("total_bytes", fit.total);
    const Term devices("device_count", plan_.device_count);
    Begin("memory.", kMemory);
    Add("state.total_bytes", (state + activations).Is(fit.total), "byte");
    AddCapacity(plan_.capacity);
    // Under a layout the ledger adds up to the peak.
    if (!plan_.memory_estimate.has_value()) {
      Add("peak_bytes.expected", ceil(total / devices).Is(fit.per_device), "byte");
      Add("headroom_bytes.expected", (usable - Term("peak_bytes", fit.per_device)).Is(fit.headroom),
          "byte");
    }
    Add("state.minimum_device_count", ceil(total / usable).Is(fit.minimum_device_count), "device");
    if (fit.largest_parameter_count == 0) return;  // activations alone fill the devices
    const Term parameters("parameters", plan_.parameters.all.total);
    Add("state.largest_parameter_count",
        floor((devices * usable - activations) * parameters / state)
            .Is(fit.largest_parameter_count),
        "parameter");
  }

  void AddCapacity(const DeviceCapacity& capacity) {
    AddGiven("capacity.reported_bytes", capacity.reported, "byte",
             "as its driver or host reports it");
    AddGiven("capacity.nominal_bytes", capacity.nominal, "byte", "the datasheet");
    const Term all("capacity_bytes", capacity.capacity);
    const Term of_driver("driver_reserved_bytes", capacity.driver_reserved);
    const Term reserved("reserved_bytes", capacity.reserved);
    Add("capacity.capacity_bytes", all.As("memory_bytes"), "byte");
    Add("capacity.driver_reserved_bytes", of_driver.As("given"), "byte");
    Add("capacity.reserved_bytes", reserved.As("reserved_memory_bytes"), "byte");
    Add("capacity.usable_bytes", (all - of_driver - reserved).Is(capacity.usable()), "byte");
  }

  void AddRates() {
    for (const Rate& rate : plan_.rates) {
      Begin(absl::StrCat("rates.", rate.quantity, "."), rate.citation);
      Add("value", {"given", rate.value}, rate.unit);
      if (!rate.measured.has_value()) continue;
      const Measurement& measured = *rate.measured;
      AddGiven("relative_spread", measured.relative_spread, "ratio");
      Add("measured_time.seconds", {"given", measured.unix_seconds}, "s since 1970-01-01T00:00:00Z",
          absl::StrCat("calibration ", measured.calibration_fingerprint));
    }
  }

  const RunSpec& run_;
  const Plan& plan_;
};

}  // namespace

std::vector<DerivationStep> CountSteps(const RunSpec& run, const Plan& plan) {
  return CountDerivation(run, plan).Take();
}

}  // namespace sextant
