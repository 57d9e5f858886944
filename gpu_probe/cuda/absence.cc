#include "gpu_probe/cuda/absence.h"

#include "engine/base/reason.h"

namespace sextant {

absl::Status Absent(absl::string_view word, absl::string_view sentence) {
  return WithMetadata(absl::NotFoundError(sentence), "reason", word);
}

}  // namespace sextant
