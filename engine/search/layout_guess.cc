#include "engine/search/layout_guess.h"

#include <cmath>

namespace sextant {
namespace {

// Micro-batches of a rank.
double CountOf(int64_t micro_batch, const LayoutGroup& group, const LayoutSpace& space) {
  return static_cast<double>(space.batch) / static_cast<double>(group.data * micro_batch);
}

double BubbleOf(double count, const LayoutGroup& group) {
  return (group.sizes.pipeline - 1) / (count * group.sizes.virtual_stages);
}

}  // namespace

double GuessOf(const LayoutGroup& group, const LayoutSpace& space) {
  const LayoutChoice& sizes = group.sizes;
  double losses = 0.04 * std::log2(sizes.tensor) + 0.03 * std::log2(sizes.context) +
                  0.03 * std::log2(sizes.expert) + 0.01 * std::log2(sizes.virtual_stages);
  if (sizes.kernels.attention == AttentionKernel::kUnfused) losses += 0.1;
  return (1 + BubbleOf(CountOf(space.micro_batch.front(), group, space), group)) * (1 + losses);
}

double GuessWithin(const LayoutChoice& choice, const LayoutGroup& group, const LayoutSpace& space) {
  const double count = CountOf(choice.micro_batch, group, space);
  double losses = 0.01 * choice.recompute.norm_outputs +
                  0.01 * choice.recompute.activation_function +
                  0.04 * choice.recompute.attention_core +
                  0.04 * choice.recompute.latent_projections + 0.32 * choice.recompute.full;
  if (choice.tensor > 1 && !choice.sequence_parallel) losses += 0.05;
  if (choice.zero_stage == ZeroStage::kParameters && choice.pipeline > 1) losses += 0.2 * count;
  return (1 + BubbleOf(count, group)) * (1 + losses);
}

}  // namespace sextant
