// The number of positions that a token attends to, under each mask convention.
#ifndef SEXTANT_ENGINE_MODEL_FLOPS_ATTENDED_LENGTH_H_
#define SEXTANT_ENGINE_MODEL_FLOPS_ATTENDED_LENGTH_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/flops/training_step.h"

namespace sextant {

// The treatment of positions hidden by a causal mask. Attention with a full mask sees its whole
// sequence under each.
enum class MaskConvention {
  kFull,            // no mask: s per query
  kCausal,          // half of the square, as commonly published: s/2 on average
  kCausalDiagonal,  // visible positions, itself included: (s + 1)/2
};
inline constexpr int kMaskConventionCount = 3;

template <typename T>
using ByMask = std::array<T, kMaskConventionCount>;

// Pairs of query and key that one head of `attention` computes in one sequence of `length` tokens.
double VisiblePairs(const AttentionSpec& attention, int64_t length, MaskConvention convention);

// The sequences of a step as ratios to the tokens of its output stack (the decoder, or the encoder
// where there is none). FLOPs per token need nothing more.
class TokenShares {
 public:
  // `step` has passed CheckTrainingStep() and outlives this.
  explicit TokenShares(const TrainingStepSpec& step);

  int64_t tokens() const { return tokens_; }           // of the output stack, in a step
  double encoder_tokens() const { return encoder_; }   // per token; 0 without two stacks
  double sequences() const { return sequences_; }      // per token
  double cross_pairs() const { return cross_pairs_; }  // decoder x encoder positions, per token

  // Pairs of query and key that one head of `attention` computes, per token: the mean number of
  // positions that its queries attend to. With `encoder`, over the encoder's lengths, where there
  // are two stacks.
  //
  //   full             s;          within a window w < s: w
  //   causal           s/2;        w - w^2/(2s)
  //   causal_diagonal  (s + 1)/2;  w - w (w - 1)/(2s)
  //
  // A chunked sequence is its whole chunks and the rest, each a separate sequence. Source: sums of
  // arithmetic series, docs/transformer.md, "Which positions a token attends to"; the second row is
  // the convention of Megatron-LM's and OLMo-core's FLOP counters.
  ByMask<double> Attended(const AttentionSpec& attention, bool encoder) const;

 private:
  const TrainingStepSpec& step_;
  int64_t tokens_ = 0;
  double encoder_ = 0;
  double sequences_ = 0;
  double cross_pairs_ = 0;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_FLOPS_ATTENDED_LENGTH_H_
