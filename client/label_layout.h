// Finds places for texts in a drawing where they cover nothing.
#ifndef SEXTANT_CLIENT_LABEL_LAYOUT_H_
#define SEXTANT_CLIENT_LABEL_LAYOUT_H_

#include <vector>

#include "client/svg_writer.h"

namespace sextant {

// In pixels; upright.
struct Box {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;

  bool Overlaps(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

// A box that holds all of a text, turned as it is: no letter of the usual sans-serif fonts is
// taken for narrower than it is in the mean.
Box BoxOf(const SvgText& text);

class LabelLayout {
 public:
  // Texts have to stay within `area`.
  explicit LabelLayout(const Box& area) : area_(area) {}

  // Keeps texts off `box`.
  void Block(const Box& box) { taken_.push_back(box); }

  // The first of `candidates`, of which there is one at least, that is free, or else the first;
  // its place is taken from now on.
  const SvgText& Place(const std::vector<SvgText>& candidates);

 private:
  bool IsFree(const Box& box) const;

  Box area_;
  std::vector<Box> taken_;
};

}  // namespace sextant

#endif  // SEXTANT_CLIENT_LABEL_LAYOUT_H_
