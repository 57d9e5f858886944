// Names that callers give, as they may be kept and repeated in answers.
#ifndef SEXTANT_ENGINE_MODEL_ARCHITECTURE_NAMES_H_
#define SEXTANT_ENGINE_MODEL_ARCHITECTURE_NAMES_H_

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace sextant {

inline constexpr size_t kMaxNameLength = 64;

// Whether `name` is short and printable enough to be repeated: 1 to kMaxNameLength characters of
// ASCII, no control characters among them.
inline bool IsSoundName(absl::string_view name) {
  return !name.empty() && name.size() <= kMaxNameLength &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return absl::ascii_isprint(static_cast<unsigned char>(c)); });
}

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_ARCHITECTURE_NAMES_H_
