// Text cut to a length in bytes, for a wire that bounds it.
#ifndef SEXTANT_ENGINE_BASE_CLIP_H_
#define SEXTANT_ENGINE_BASE_CLIP_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace sextant {

// At most `most` bytes of `text`, cut at the start of a UTF-8 character; a cut text ends
// in "...". `most` is at least 3.
std::string Clip(absl::string_view text, size_t most);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_BASE_CLIP_H_
