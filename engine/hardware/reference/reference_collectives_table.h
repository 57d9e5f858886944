// The format of this folder's tables of measured collectives.
#ifndef SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_COLLECTIVES_TABLE_H_
#define SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_COLLECTIVES_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/hardware/links/collective.h"

namespace sextant {

inline constexpr size_t kReferenceCollectiveSizeCount = 12;

// One operation at one rank count, for each of kReferenceCollectiveSizes.
struct ReferenceCollectiveRow {
  CollectiveOp op;
  int64_t ranks;
  std::array<double, kReferenceCollectiveSizeCount> microseconds;
};

struct ReferenceCollectiveTable {
  absl::string_view accelerator;  // the catalogue's name
  absl::string_view version;      // of NCCL, as the table names it
  absl::Span<const ReferenceCollectiveRow> rows;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_COLLECTIVES_TABLE_H_
