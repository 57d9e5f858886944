#include "engine/model/flops/attended_length.h"

#include <algorithm>

namespace sextant {
namespace {

__extension__ typedef __int128 Int128;  // pairs of a step: up to 1e27

// Exact where the quotient is an integer, for any size of the sum.
double Ratio(Int128 sum, int64_t tokens) {
  const Int128 whole = sum / tokens;
  const Int128 rest = sum % tokens;
  return static_cast<double>(whole) + static_cast<double>(rest) / static_cast<double>(tokens);
}

// Twice the pairs of one sequence, because each pair on the diagonal counts as half.
Int128 TwiceCausalPairs(int64_t length, int64_t window, bool diagonal) {
  const Int128 w = window < length ? window : length;
  return 2 * w * length - w * (diagonal ? w - 1 : w);
}

Int128 TwicePairs(const AttentionSpec& attention, int64_t length, MaskConvention convention) {
  // A causal query has as many chosen positions as a window of their number would show it.
  int64_t window = attention.window == 0 ? length : attention.window;
  if (attention.latent.has_value() && attention.latent->indexer.has_value()) {
    window = std::min(window, attention.latent->indexer->chosen_count);
  }
  if (convention == MaskConvention::kFull || attention.mask == AttentionMask::kFull) {
    return Int128{2} * length * (window < length ? window : length);
  }
  return TwiceCausalPairs(length, window, convention == MaskConvention::kCausalDiagonal);
}

Int128 TwicePairsInChunks(const AttentionSpec& attention, int64_t length,
                          MaskConvention convention) {
  if (attention.chunk == 0 || attention.chunk >= length) {
    return TwicePairs(attention, length, convention);
  }
  return length / attention.chunk * TwicePairs(attention, attention.chunk, convention) +
         TwicePairs(attention, length % attention.chunk, convention);
}

}  // namespace

double VisiblePairs(const AttentionSpec& attention, int64_t length, MaskConvention convention) {
  return static_cast<double>(TwicePairsInChunks(attention, length, convention)) / 2;
}

TokenShares::TokenShares(const TrainingStepSpec& step) : step_(step) {
  int64_t encoder_tokens = 0;
  Int128 sequences = 0;
  Int128 cross_pairs = 0;
  for (const SequenceGroup& group : step.sequences) {
    tokens_ += group.count * group.length;
    encoder_tokens += group.count * group.encoder_length;
    sequences += group.count;
    cross_pairs += Int128{group.count} * group.length * group.encoder_length;
  }
  encoder_ = Ratio(encoder_tokens, tokens_);
  sequences_ = Ratio(sequences, tokens_);
  cross_pairs_ = Ratio(cross_pairs, tokens_);
}

ByMask<double> TokenShares::Attended(const AttentionSpec& attention, bool encoder) const {
  ByMask<Int128> twice = {};
  for (const SequenceGroup& group : step_.sequences) {
    const int64_t length = encoder ? group.encoder_length : group.length;
    for (size_t i = 0; i < twice.size(); ++i) {
      twice[i] +=
          group.count * TwicePairsInChunks(attention, length, static_cast<MaskConvention>(i));
    }
  }
  ByMask<double> out = {};
  for (size_t i = 0; i < twice.size(); ++i) out[i] = Ratio(twice[i], tokens_) / 2;
  return out;
}

}  // namespace sextant
