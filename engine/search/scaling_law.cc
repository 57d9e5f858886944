#include "engine/search/scaling_law.h"

#include <cmath>

namespace sextant {
namespace {

// Kaplan et al. measure compute in petaflop/s-days of 1e15 x 86,400 FLOPs.
constexpr double kPetaflopDay = 1e15 * kSecondsPerDay;

// The range of the models of approaches 1 and 3 together: the abstract of Hoffmann et al.
constexpr FittedSpan kChinchillaParameters = {.low = 70e6, .high = 16e9};
constexpr FittedSpan kChinchillaTokens = {.low = 5e9, .high = 500e9};

constexpr ScalingRuleFacts kRules[] = {
    {.rule = ScalingRule::kKaplan2020,
     .name = "kaplan_2020",
     .source = "Kaplan et al. 2020, arXiv 2001.08361, appendix A, table 6: N = 1.3e9 C^0.73, C in "
               "PF-days of 8.64e19 FLOPs; range: section 3, models of 768 to 1.5e9 parameters",
     .remark = "N excludes embeddings. All compute is taken as C_min, of batches far below the "
               "critical size; at the critical size D is twice as large for twice the compute. "
               "Hoffmann et al. trace the large N to learning rates that were not decayed over "
               "each run's own length.",
     .allocation = {.anchor_flops = Flops(kPetaflopDay),
                    .anchor_parameters = 1.3e9,
                    .exponent = 0.73},
     .range = {.parameters = FittedSpan{.low = 768, .high = 1.5e9}},
     .excludes_embeddings = true},
    // ln(1e13 / 4e8) / ln(1.30e28 / 1.92e19) = 10.12663 / 20.33330
    {.rule = ScalingRule::kChinchilla1,
     .name = "chinchilla_1",
     .source = "Hoffmann et al. 2022, arXiv 2203.15556, approach 1 (training curves): the power "
               "law through the first and last row of table 3; table 2 rounds its exponent to "
               "0.50; range: section 3.1, models of 70e6 to 10e9 parameters",
     .remark = "N counts embeddings. The paper's table beyond 10e9 parameters is extrapolated, "
               "too; its appendix E finds a curvature towards smaller models.",
     .allocation = {.anchor_flops = Flops(1.92e19),
                    .anchor_parameters = 4e8,
                    .exponent = 0.4980317},
     .range = {.parameters = FittedSpan{.low = 70e6, .high = 10e9}}},
    // ln(1e13 / 4e8) / ln(1.75e28 / 1.84e19) = 10.12663 / 20.67312
    {.rule = ScalingRule::kChinchilla2,
     .name = "chinchilla_2",
     .source = "Hoffmann et al. 2022, arXiv 2203.15556, approach 2 (IsoFLOP profiles): the power "
               "law through the first and last row of table A3; table 2 rounds its exponent to "
               "0.49; range: section 3.2, 6e18 to 3e21 FLOPs",
     .remark = "N counts embeddings.",
     .allocation = {.anchor_flops = Flops(1.84e19),
                    .anchor_parameters = 4e8,
                    .exponent = 0.4898454},
     .range = {.flops = FittedSpan{.low = 6e18, .high = 3e21}}},
    {.rule = ScalingRule::kChinchilla3,
     .name = "chinchilla_3",
     .source = "Hoffmann et al. 2022, arXiv 2203.15556, approach 3 (parametric loss): equation 10, "
               "as printed; range: abstract, 70e6 to 16e9 parameters, 5e9 to 500e9 tokens",
     .remark = "N counts embeddings. Its constants are printed in two digits, which puts N 18 to "
               "30 % below the paper's own table A3: chinchilla_3_unrounded has more digits.",
     .loss = LossLaw{.irreducible = 1.69,
                     .parameter_coefficient = 406.4,
                     .parameter_exponent = 0.34,
                     .token_coefficient = 410.7,
                     .token_exponent = 0.28},
     .range = {.parameters = kChinchillaParameters, .tokens = kChinchillaTokens}},
    {.rule = ScalingRule::kChinchilla3Unrounded,
     .name = "chinchilla_3_unrounded",
     .source = "Hoffmann et al. 2022, arXiv 2203.15556, approach 3 (parametric loss): E and "
               "exponents in four digits, from the source of the paper's text, as Besiroglu et al. "
               "2024 cite them; range as chinchilla_3",
     .remark = "N counts embeddings. Reproduces the paper's table A3 within 8 %.",
     .loss = LossLaw{.irreducible = 1.6934,
                     .parameter_coefficient = 406.4,
                     .parameter_exponent = 0.3392,
                     .token_coefficient = 410.7,
                     .token_exponent = 0.2849},
     .range = {.parameters = kChinchillaParameters, .tokens = kChinchillaTokens}},
    {.rule = ScalingRule::kBesiroglu2024,
     .name = "besiroglu_2024",
     .source = "Besiroglu et al. 2024, arXiv 2404.10102, table 1: approach 3 fitted again to 240 "
               "of the same runs, read off figure 4 of Hoffmann et al.; range as chinchilla_3",
     .remark = "N counts embeddings. Agrees with approaches 1 and 2 on about 20 tokens a "
               "parameter; standard errors: alpha and beta 0.02, A 125, B 1,293, E 0.03.",
     .loss = LossLaw{.irreducible = 1.8172,
                     .parameter_coefficient = 482.01,
                     .parameter_exponent = 0.3478,
                     .token_coefficient = 2085.43,
                     .token_exponent = 0.3658},
     .range = {.parameters = kChinchillaParameters, .tokens = kChinchillaTokens}},
};

double ParameterTerm(const LossLaw& law, double parameters) {
  return law.parameter_coefficient / std::pow(parameters, law.parameter_exponent);
}

double TokenTerm(const LossLaw& law, double tokens) {
  return law.token_coefficient / std::pow(tokens, law.token_exponent);
}

// The size whose loss above the irreducible one is `excess`, of which tokens account for `share`.
ModelSize SizeOfShare(const LossLaw& law, double excess, double share) {
  const double parameter_term = excess * (1 - share);
  return {.parameters =
              std::pow(law.parameter_coefficient / parameter_term, 1 / law.parameter_exponent),
          .tokens = std::pow(law.token_coefficient / (excess * share), 1 / law.token_exponent)};
}

}  // namespace

double LossOf(const LossLaw& law, const ModelSize& size) {
  return law.irreducible + ParameterTerm(law, size.parameters) + TokenTerm(law, size.tokens);
}

ModelSize OptimumOf(const LossLaw& law, double product) {
  const double alpha = law.parameter_exponent;
  const double beta = law.token_exponent;
  const double g = std::pow(alpha * law.parameter_coefficient / (beta * law.token_coefficient),
                            1 / (alpha + beta));
  const double parameters = g * std::pow(product, beta / (alpha + beta));
  return {.parameters = parameters, .tokens = product / parameters};
}

double ProductReaching(const LossLaw& law, double loss) {
  const double alpha = law.parameter_exponent;
  const double beta = law.token_exponent;
  const double at_one = LossOf(law, OptimumOf(law, 1)) - law.irreducible;
  return std::pow(at_one / (loss - law.irreducible), (alpha + beta) / (alpha * beta));
}

// With u = A / N^alpha, r = B / D^beta and u + r fixed, dD/D = -(alpha u) / (beta r) dN/N. So
//   N d(total)/dN = N (c D (1 - alpha u / (beta r)) + 2 served),
// whose second factor rises with the share s = r / (u + r): it is 2 served at the optimum of
// training alone, where s = alpha / (alpha + beta), and falls without bound towards s = 0.
ModelSize ServingOptimumOf(const LossLaw& law, const ModelSize& optimum, const ServingCost& cost) {
  if (cost.served_tokens <= 0) return optimum;
  const double alpha = law.parameter_exponent;
  const double beta = law.token_exponent;
  const double excess = LossOf(law, optimum) - law.irreducible;
  const auto slope = [&](double share) {
    const double tokens = SizeOfShare(law, excess, share).tokens;
    const double marginal = 1 - alpha * (1 - share) / (beta * share);
    return cost.training_flops_per_parameter_token * tokens * marginal +
           kServingFlopsPerParameterToken * cost.served_tokens;
  };
  double high = alpha / (alpha + beta);
  double low = high / 2;
  while (slope(low) > 0) {
    high = low;
    low /= 2;
  }
  while (high - low > kServingTolerance * high) {
    const double middle = low + (high - low) / 2;
    (slope(middle) > 0 ? high : low) = middle;
  }
  return SizeOfShare(law, excess, high);
}

bool FittedRange::Holds(const ModelSize& size) const {
  const auto holds = [](const absl::optional<FittedSpan>& span, double value) {
    return !span.has_value() || (value >= span->low && value <= span->high);
  };
  return holds(flops, kTrainingFlopsPerParameterToken * size.product()) &&
         holds(parameters, size.parameters) && holds(tokens, size.tokens);
}

absl::Span<const ScalingRuleFacts> ScalingRules() { return kRules; }

ModelSize OptimumOf(const ScalingRuleFacts& rule, double product) {
  if (rule.loss.has_value()) return OptimumOf(*rule.loss, product);
  const AllocationLaw& law = rule.allocation;
  const double budget = kTrainingFlopsPerParameterToken * product / law.anchor_flops.value();
  const double parameters = law.anchor_parameters * std::pow(budget, law.exponent);
  return {.parameters = parameters, .tokens = product / parameters};
}

}  // namespace sextant
