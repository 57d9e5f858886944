// Numbers and sums as derivations write them. Private to engine/run.
#ifndef SEXTANT_ENGINE_RUN_DERIVATION_TEXT_H_
#define SEXTANT_ENGINE_RUN_DERIVATION_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/base/number_text.h"
#include "engine/base/units.h"

namespace sextant {

inline std::string Number(double value) { return NumberText(value); }
inline std::string Number(int64_t value) { return absl::StrCat(value); }
inline std::string Number(Bytes value) { return absl::StrCat(value.value()); }

// "1" and 2 make "1 + 2".
inline void AppendTerm(std::string& sum, int64_t term) {
  absl::StrAppend(&sum, sum.empty() ? "" : " + ", term);
}

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_DERIVATION_TEXT_H_
