// A rule of thumb for the time of a layout, which decides the order of a search and nothing else.
#ifndef SEXTANT_ENGINE_SEARCH_LAYOUT_GUESS_H_
#define SEXTANT_ENGINE_SEARCH_LAYOUT_GUESS_H_

#include "engine/search/layout_space.h"

namespace sextant {

// The time of a step over that without any loss: the bubble, and losses that a group shares.
double GuessOf(const LayoutGroup& group, const LayoutSpace& space);

// The time of a layout, of which `group` is, over that of the group: what a micro-batch, its
// recomputation and the division of state change.
double GuessWithin(const LayoutChoice& choice, const LayoutGroup& group, const LayoutSpace& space);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_LAYOUT_GUESS_H_
