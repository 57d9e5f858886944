// Published rules that divide training compute between parameters and tokens, and the laws of the
// loss that some of them stand on. docs/sizing.md, "A budget of compute", derives every formula.
//
// Counts are real numbers here: the laws are smooth, and callers round. Training costs c N D FLOPs,
// with c = 6 where nobody says otherwise: Kaplan et al. 2020 (arXiv 2001.08361) section 2.1.
#ifndef SEXTANT_ENGINE_SEARCH_SCALING_LAW_H_
#define SEXTANT_ENGINE_SEARCH_SCALING_LAW_H_

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/units.h"

namespace sextant {

// c of C = c N D: two FLOPs a parameter and token forward, four backward.
inline constexpr double kTrainingFlopsPerParameterToken = 6;
// FLOPs a parameter and served token: the forward pass alone.
inline constexpr double kServingFlopsPerParameterToken = 2;

struct ModelSize {
  double parameters = 0;
  double tokens = 0;

  double product() const { return parameters * tokens; }
  double tokens_per_parameter() const { return tokens / parameters; }
};

// L(N, D) = E + A / N^alpha + B / D^beta, in nats a token: Hoffmann et al. 2022 (arXiv 2203.15556)
// equation 2. Their D counts each token once; N counts embeddings.
struct LossLaw {
  double irreducible = 0;            // E
  double parameter_coefficient = 0;  // A
  double parameter_exponent = 0;     // alpha
  double token_coefficient = 0;      // B
  double token_exponent = 0;         // beta
};

double LossOf(const LossLaw& law, const ModelSize& size);

// The size with the least loss of all with N D = `product`. Equation 4 there:
//   N = G product^a, a = beta / (alpha + beta), G = (alpha A / (beta B))^(1 / (alpha + beta))
ModelSize OptimumOf(const LossLaw& law, double product);

// The least N D that reaches `loss`, which is above the irreducible one. At the optimum loss - E
// falls as product^-gamma with gamma = alpha beta / (alpha + beta), from equation 4.
double ProductReaching(const LossLaw& law, double loss);

// The FLOPs of training a model and serving it.
struct ServingCost {
  double training_flops_per_parameter_token = kTrainingFlopsPerParameterToken;
  double served_tokens = 0;

  Flops serving(const ModelSize& size) const {
    return Flops(kServingFlopsPerParameterToken * size.parameters * served_tokens);
  }
  Flops total(const ModelSize& size) const {
    return Flops(training_flops_per_parameter_token * size.product()) + serving(size);
  }
};

// The size with the fewest FLOPs of training and serving among those with the loss of `optimum`,
// which is OptimumOf(). Sardana et al. 2023 (arXiv 2401.00448) equation 3, solved by bisection
// until the share of the loss that tokens account for is known within kServingTolerance. Without
// served tokens `optimum` itself.
inline constexpr double kServingTolerance = 1e-13;
ModelSize ServingOptimumOf(const LossLaw& law, const ModelSize& optimum, const ServingCost& cost);

// N = anchor_parameters (C / anchor_flops)^exponent, C = 6 N D.
struct AllocationLaw {
  Flops anchor_flops = {};
  double anchor_parameters = 0;
  double exponent = 0;
};

// The order of sextant.v1.ScalingRule.
enum class ScalingRule {
  kKaplan2020,
  kChinchilla1,
  kChinchilla2,
  kChinchilla3,
  kChinchilla3Unrounded,
  kBesiroglu2024,
};

// Values on which a rule was fitted, as its paper states them; absent: it does not.
struct FittedSpan {
  double low = 0;
  double high = 0;
};

struct FittedRange {
  absl::optional<FittedSpan> flops = {};
  absl::optional<FittedSpan> parameters = {};
  absl::optional<FittedSpan> tokens = {};

  // True where `size`, or the compute that trains it, is within all of them. `flops` is 6 N D.
  bool Holds(const ModelSize& size) const;
};

struct ScalingRuleFacts {
  ScalingRule rule;
  absl::string_view name;    // "chinchilla_3"
  absl::string_view source;  // paper, table or equation of the constants
  absl::string_view remark;  // what to know before relying on it; full sentences
  AllocationLaw allocation = {};
  absl::optional<LossLaw> loss = {};  // absent: the rule has none
  FittedRange range = {};
  bool excludes_embeddings = false;  // N does
};

// All rules, in the order of their publication.
absl::Span<const ScalingRuleFacts> ScalingRules();

// The rule's size where N D = `product`.
ModelSize OptimumOf(const ScalingRuleFacts& rule, double product);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_SCALING_LAW_H_
