#include "engine/model/flops/flops_by_convention.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "engine/base/status_macros.h"
#include "engine/model/flops/convention.h"
#include "engine/model/flops/published_formulas.h"

namespace sextant {
namespace {

using enum FlopsConvention;

absl::Status Undefined(absl::string_view why) { return absl::FailedPreconditionError(why); }

absl::StatusOr<TermFlops> SixN(const ConventionInput& in, bool embeddings) {
  if (!in.spec.encoder.layers.empty() && !in.spec.decoder.layers.empty()) {
    return Undefined("no token meets N parameters: encoder and decoder have tokens of their own");
  }
  if (HasFrozen(in.spec)) {
    return Undefined("the formula trains every parameter, and some are frozen");
  }
  return SixNTerms(in.tensors, embeddings);
}

absl::StatusOr<TermFlops> Megatron2021(const ConventionInput& in, bool recompute) {
  SEXTANT_ASSIGN_OR_RETURN(const PublishedShape shape, PublishedShapeOf(in.spec, in.step, {}));
  if (shape.attention() != shape.hidden || shape.feed_forward != 4 * shape.hidden) {
    return Undefined("the formula has heads that are h wide together, and a feed-forward of 4 h");
  }
  return Megatron2021Terms(shape, recompute);
}

absl::StatusOr<TermFlops> TermsOf(FlopsConvention convention, const ConventionInput& in) {
  switch (convention) {
    case kSixNTotal:
      return SixN(in, true);
    case kSixNNonEmbedding:
      return SixN(in, false);
    case kKaplan2020: {
      SEXTANT_ASSIGN_OR_RETURN(const PublishedShape shape, PublishedShapeOf(in.spec, in.step, {}));
      return KaplanTerms(shape);
    }
    case kChinchilla2022: {
      SEXTANT_ASSIGN_OR_RETURN(const PublishedShape shape, PublishedShapeOf(in.spec, in.step, {}));
      return ChinchillaTerms(shape);
    }
    case kPalm2022: {
      SEXTANT_ASSIGN_OR_RETURN(
          const PublishedShape shape,
          PublishedShapeOf(in.spec, in.step, {.grouped_queries = true, .gated = true}));
      return PalmTerms(in.tensors, shape);
    }
    case kMegatron2021Hardware:
      return Megatron2021(in, true);
    case kMegatron2021Model:
      return Megatron2021(in, false);
    case kMegatronCausal:
      return MegatronCausalTerms(in.spec, in.step);
    case kExactFull:
      return ExactTerms(in.flops, MaskConvention::kFull);
    case kExactCausal:
      return ExactTerms(in.flops, MaskConvention::kCausal);
    case kExactCausalDiagonal:
      return ExactTerms(in.flops, MaskConvention::kCausalDiagonal);
  }
  return Undefined("");
}

std::vector<TermDifference> DifferencesOf(const TermFlops& terms, const TermFlops& exact) {
  std::vector<TermDifference> out;
  for (int i = 0; i < kFlopsTermCount; ++i) {
    const auto term = static_cast<FlopsTerm>(i);
    const double difference = terms.of(term) - exact.of(term);
    if (difference != 0) out.push_back({.term = term, .per_token = Flops(difference)});
  }
  std::stable_sort(out.begin(), out.end(), [](const TermDifference& a, const TermDifference& b) {
    return std::abs(a.per_token.value()) > std::abs(b.per_token.value());
  });
  return out;
}

using Component = FlopsComponent;

Flops Forward(const StepFlops& flops, std::initializer_list<Component> components) {
  Flops sum(0);
  for (const ComponentFlops& row : flops.components) {
    for (const Component component : components) {
      if (row.component != component) continue;
      sum = sum + row.per_token[static_cast<size_t>(MaskConvention::kCausal)].forward;
    }
  }
  return sum;
}

KaplanRow TotalOf(const std::vector<KaplanRow>& rows) {
  KaplanRow total = {.operation = "total (non-embedding)",
                     .formula = "2 N + 2 n_layer n_ctx d_attn",
                     .difference = "none but the output head, which it says it leaves out"};
  for (size_t i = 1; i + 1 < rows.size(); ++i) {
    total.per_token = total.per_token + rows[i].per_token;
    total.exact = total.exact + rows[i].exact;
  }
  return total;
}

}  // namespace

ConventionFlops FlopsUnder(FlopsConvention convention, const ConventionInput& input) {
  ConventionFlops out = {.convention = convention, .not_applicable = ""};
  const absl::StatusOr<TermFlops> terms = TermsOf(convention, input);
  if (!terms.ok()) {
    out.not_applicable = std::string(terms.status().message());
    return out;
  }
  const TermFlops exact = ExactTerms(input.flops, MaskConvention::kCausal);
  out.per_token = Flops(terms->Total());
  out.per_step = out.per_token * static_cast<double>(input.flops.tokens);
  out.ratio_to_exact = terms->Total() / exact.Total();
  out.differences = DifferencesOf(*terms, exact);
  return out;
}

std::vector<ConventionFlops> FlopsByConvention(const ConventionInput& input) {
  std::vector<ConventionFlops> out;
  for (int i = 0; i < kFlopsConventionCount; ++i) {
    out.push_back(FlopsUnder(static_cast<FlopsConvention>(i), input));
  }
  return out;
}

absl::StatusOr<std::vector<KaplanRow>> KaplanTable(const ConventionInput& input) {
  SEXTANT_ASSIGN_OR_RETURN(const PublishedShape p, PublishedShapeOf(input.spec, input.step, {}));
  const StepFlops& flops = input.flops;
  std::vector<KaplanRow> rows = {
      {"embed", "4 d_model", Flops(4 * p.hidden), Flops(0),
       "a lookup and a sum with a position are not products"},
      {"attention: QKV", "2 n_layer d_model 3 d_attn",
       Flops(6 * p.layers * p.hidden * p.attention()),
       Forward(flops, {Component::kAttentionQueryKeyValue}), "none"},
      {"attention: mask", "2 n_layer n_ctx d_attn", Flops(2 * p.layers * p.length * p.attention()),
       Forward(flops, {Component::kAttentionScores, Component::kAttentionValues}),
       "none as both products under half a mask; or it is the scores alone, unmasked"},
      {"attention: project", "2 n_layer d_attn d_embd",
       Flops(2 * p.layers * p.attention() * p.hidden),
       Forward(flops, {Component::kAttentionOutput}), "none"},
      {"feed-forward", "2 n_layer 2 d_model d_ff", Flops(4 * p.layers * p.hidden * p.feed_forward),
       Forward(flops, {Component::kDenseFeedForward}), "none"},
      {"de-embed", "2 d_model n_vocab", Flops(2 * p.hidden * p.vocabulary),
       Forward(flops, {Component::kOutputHead}), "none, but the total leaves it out"}};
  rows.push_back(TotalOf(rows));
  return rows;
}

}  // namespace sextant
