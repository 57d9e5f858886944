// Rules of thumb among the layouts of one group, and among groups. They decide the order of a
// bounded search and nothing else.
#ifndef SEXTANT_ENGINE_SEARCH_CHOICE_ORDER_H_
#define SEXTANT_ENGINE_SEARCH_CHOICE_ORDER_H_

#include <cstdint>

#include "engine/search/layout_space.h"

namespace sextant {

// `a` takes at least the memory of `b`, of the same group: more in a micro-batch, less that is
// computed again or divided.
bool TakesMore(const LayoutChoice& a, const LayoutChoice& b);

// `a` probably takes less memory than `b`.
bool IsThriftier(const LayoutChoice& a, const LayoutChoice& b);

// `a` is a better first sample of the group of both: likely to fit, and neither among the slowest
// nor among the fastest. `sequence_length` in tokens.
bool IsBetterSample(const LayoutChoice& a, const LayoutChoice& b, int64_t sequence_length);

// The number of choices in which layouts of one group differ.
int DistanceOf(const LayoutChoice& a, const LayoutChoice& b);

// The groups of `a` and `b` differ in exactly one of: tensor and context, pipeline and virtual
// stages, the expert sizes, the schedule, the kernels.
bool IsNear(const LayoutChoice& a, const LayoutChoice& b);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_CHOICE_ORDER_H_
