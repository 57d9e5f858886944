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

// Widths are steps of heads: a multiple of the key and value heads where several queries share
// them, which stay as many, else eighths of the heads, or less where 8 does not divide them. A
// width of ratio w to the model's scales the hidden size, feed-forwards, experts and latents by w,
// rounded to a multiple of 128 that matrix units divide well; head sizes, vocabulary, positions and
// the number of experts stay. The depth of ratio w is the model's times w, rounded, so that width
// over depth stays; between that and the next width's there is a rung for each further layer. The
// model itself is a rung. Derivation: docs/sizing.md, "The largest model".
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

  const ArchitectureSpec model_;
  int64_t own_width_ = 1;  // of model_, in steps
  int64_t own_depth_ = 1;
  std::vector<Rung> rungs_;
};

// The layers of all stacks.
int64_t LayerCountOf(const ArchitectureSpec& spec);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_MODEL_LADDER_H_
