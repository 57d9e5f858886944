#include "engine/base/utc_text.h"

#include "absl/strings/str_cat.h"
#include "absl/time/civil_time.h"

namespace sextant {

std::string UtcText(int64_t unix_seconds) {
  return absl::StrCat(absl::FormatCivilTime(absl::CivilSecond(1970) + unix_seconds), "Z");
}

}  // namespace sextant
