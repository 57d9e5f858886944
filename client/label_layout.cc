#include "client/label_layout.h"

#include <algorithm>
#include <cmath>

#include "client/format.h"

namespace sextant {
namespace {

// Of a letter's size: digits of DejaVu Sans, a wide font, take 0.64; small letters about 0.6.
constexpr double kLetterWidth = 0.62;
constexpr double kAscent = 0.8;
constexpr double kDescent = 0.25;

}  // namespace

Box BoxOf(const SvgText& text) {
  const double width = kLetterWidth * text.size * static_cast<double>(DisplayWidth(text.text));
  const double start = text.anchor == SvgAnchor::kStart    ? 0
                       : text.anchor == SvgAnchor::kMiddle ? -width / 2
                                                           : -width;
  const double radians = text.degrees * M_PI / 180;
  Box box = {text.at.x, text.at.y, text.at.x, text.at.y};
  bool first = true;
  for (const double along : {start, start + width}) {
    for (const double down : {-kAscent * text.size, kDescent * text.size}) {
      const double x = text.at.x + along * std::cos(radians) - down * std::sin(radians);
      const double y = text.at.y + along * std::sin(radians) + down * std::cos(radians);
      box = first ? Box{x, y, x, y}
                  : Box{std::min(box.left, x), std::min(box.top, y), std::max(box.right, x),
                        std::max(box.bottom, y)};
      first = false;
    }
  }
  return box;
}

bool LabelLayout::IsFree(const Box& box) const {
  const bool inside = box.left >= area_.left && box.right <= area_.right && box.top >= area_.top &&
                      box.bottom <= area_.bottom;
  return inside && std::none_of(taken_.begin(), taken_.end(),
                                [&box](const Box& taken) { return box.Overlaps(taken); });
}

const SvgText& LabelLayout::Place(const std::vector<SvgText>& candidates) {
  const auto free = std::find_if(candidates.begin(), candidates.end(),
                                 [this](const SvgText& text) { return IsFree(BoxOf(text)); });
  const SvgText& placed = free == candidates.end() ? candidates.front() : *free;
  Block(BoxOf(placed));
  return placed;
}

}  // namespace sextant
