// What the published total of a model may hold: files differ in it.
#ifndef SEXTANT_ENGINE_MODEL_ARCHITECTURE_PUBLISHED_TOTALS_H_
#define SEXTANT_ENGINE_MODEL_ARCHITECTURE_PUBLISHED_TOTALS_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/count_weights.h"

namespace sextant {

// A named way to add up a model's parameters.
struct PublishedTotal {
  absl::string_view name;        // "main_model"
  absl::string_view definition;  // "without multi-token prediction"
  absl::string_view example;     // a model whose files have that total
  int64_t parameter_count = 0;
};

// The totals of a model of `spec`, counted as `count`, in which it may be published: all of it
// first, then those that differ from it. Derived in docs/architecture.md, "Published totals".
std::vector<PublishedTotal> PublishedTotalsOf(const ArchitectureSpec& spec,
                                              const ArchitectureCount& count);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_ARCHITECTURE_PUBLISHED_TOTALS_H_
