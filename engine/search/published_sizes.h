// The largest sizes that published runs have.
#ifndef SEXTANT_ENGINE_SEARCH_PUBLISHED_SIZES_H_
#define SEXTANT_ENGINE_SEARCH_PUBLISHED_SIZES_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/search/layout_choice.h"

namespace sextant {

// A size of a layout that is beyond all published runs. Views point to literals.
struct UnpublishedSize {
  absl::string_view field = "";  // of RunLayout
  int64_t size = 0;
  int64_t most = 0;  // of published runs
  absl::string_view source = "";
};

// The sizes of `choice` that no published run has; most layouts have none.
std::vector<UnpublishedSize> UnpublishedSizesOf(const LayoutChoice& choice);

// True where there are none.
bool IsPublished(const LayoutChoice& choice);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_PUBLISHED_SIZES_H_
