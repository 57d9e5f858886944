#include "engine/model/flops/published_formulas.h"

namespace sextant {
namespace {

using Term = FlopsTerm;

constexpr double kPasses = 3;  // forward, and backward for inputs and for weights

}  // namespace

TermFlops KaplanTerms(const PublishedShape& p) {
  TermFlops out;
  const double forward = kPasses * 2 * p.layers;
  out.Add(Term::kAttentionProjections, forward * p.hidden * 4 * p.attention());
  out.Add(Term::kFeedForward, forward * p.hidden * 2 * p.feed_forward);
  out.Add(Term::kCoreAttention, forward * p.length * p.attention());
  return out;
}

TermFlops ChinchillaTerms(const PublishedShape& p) {
  TermFlops out;
  const double layers = kPasses * p.layers;
  out.Add(Term::kEmbeddingLookup, kPasses * 2 * p.vocabulary * p.hidden);
  out.Add(Term::kAttentionProjections, layers * (6 + 2) * p.hidden * p.attention());
  out.Add(Term::kCoreAttention, layers * (2 + 2) * p.length * p.attention());
  out.Add(Term::kSoftmax, layers * 3 * p.heads * p.length);
  out.Add(Term::kFeedForward, layers * 4 * p.hidden * p.feed_forward);
  out.Add(Term::kOutputHead, kPasses * 2 * p.hidden * p.vocabulary);
  return out;
}

TermFlops PalmTerms(const WeightTensors& tensors, const PublishedShape& p) {
  TermFlops out = SixNTerms(tensors, true);
  out.Add(Term::kCoreAttention, 12 * p.layers * p.attention() * p.length);
  return out;
}

TermFlops Megatron2021Terms(const PublishedShape& p, bool recompute) {
  // A pass of a layer: 8 h^2 for its projections, 16 h^2 for its feed-forward, 4 s h for scores
  // and their sum: 24 h^2 (1 + s/6h).
  const double projections = p.layers * 8 * p.hidden * p.hidden;
  const double feed_forward = p.layers * 16 * p.hidden * p.hidden;
  const double core = p.layers * 4 * p.length * p.hidden;
  TermFlops out;
  out.Add(Term::kAttentionProjections, kPasses * projections);
  out.Add(Term::kFeedForward, kPasses * feed_forward);
  out.Add(Term::kCoreAttention, kPasses * core);
  out.Add(Term::kOutputHead, kPasses * 2 * p.hidden * p.vocabulary);
  if (recompute) out.Add(Term::kRecompute, projections + feed_forward + core);
  return out;
}

}  // namespace sextant
