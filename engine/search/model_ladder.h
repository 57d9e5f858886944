// Models of the proportions of one model, from the smallest to the largest.
#ifndef SEXTANT_ENGINE_SEARCH_MODEL_LADDER_H_
#define SEXTANT_ENGINE_SEARCH_MODEL_LADDER_H_

#include <cstdint>
#include <vector>

#include "engine/model/architecture/architecture_spec.h"

namespace sextant {

// The largest width of a ladder, as a multiple of its model's: 64 times as wide and as deep it has
// about 260,000 times the parameters.
inline constexpr int64_t kMaxWidthRatio = 64;

// The fewest parameters of a model that is an answer. TinyStories-1M, the smallest language model
// of Eldan and Li 2023 (arXiv 2305.07759), is named for as many.
inline constexpr int64_t kMinModelParameters = 1'000'000;

// Widths are steps of heads: a multiple of the key and value heads where several queries share
// them, which stay as many, else eighths of the heads, or less where 8 does not divide them. A
// width of ratio w to the model's scales the hidden size, feed-forwards, experts and latents by w,
// rounded to a multiple of 128 that matrix units divide well; head sizes, vocabulary, positions and
// the number of experts stay. Each width has a rung for each number of layers up to where the next
// width is nearer to the model's proportions, and starts above the parameters of the width before,
// so that neighbours differ by one layer at most: by 10 % at most from 11 layers on. The first rung
// has kMinModelParameters or more, unless the model has fewer. The model itself is a rung.
// Derivation: docs/sizing.md, "The largest model".
class ModelLadder {
 public:
  explicit ModelLadder(ArchitectureSpec model);

  int64_t size() const { return static_cast<int64_t>(rungs_.size()); }
  double width_ratio(int64_t index) const;
  // Layers of the deeper stack.
  int64_t depth(int64_t index) const;
  ArchitectureSpec At(int64_t index) const;

 private:
  struct Rung {
    int64_t width = 0;  // in steps of heads
    int64_t depth = 0;
  };

  ArchitectureSpec At(Rung rung) const;
  // 0 where there are more than any model may have.
  int64_t ParametersAt(Rung rung) const;
  void AddRungs();

  const ArchitectureSpec model_;
  int64_t own_width_ = 1;  // of model_, in steps
  int64_t own_depth_ = 1;
  std::vector<Rung> rungs_;
};

// The layers of all stacks.
int64_t LayerCountOf(const ArchitectureSpec& spec);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_MODEL_LADDER_H_
