#include "engine/operation/step.h"

#include <algorithm>
#include <utility>

namespace sextant {

Step Fuse(std::string name, absl::Span<const Step> steps) {
  Step out = {.name = std::move(name), .arithmetic = {}, .movements = {}};
  for (const Step& step : steps) {
    out.arithmetic.insert(out.arithmetic.end(), step.arithmetic.begin(), step.arithmetic.end());
    for (const Movement& m : step.movements) {
      if (m.array.role == ArrayRole::kScratch) continue;
      const auto same =
          std::find_if(out.movements.begin(), out.movements.end(), [&m](const Movement& other) {
            return other.array.name == m.array.name && other.written == m.written;
          });
      if (same == out.movements.end()) {
        out.movements.push_back(m);
      } else {
        same->needed_by |= m.needed_by;
      }
    }
  }
  return out;
}

}  // namespace sextant
