// The list of reference tables: made by make_collectives_reference.py, not by hand.
#ifndef SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_COLLECTIVES_LIST_H_
#define SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_COLLECTIVES_LIST_H_

#include <array>
#include <cstdint>

#include "engine/hardware/reference/reference_collectives_table.h"

namespace sextant {

absl::Span<const ReferenceCollectiveRow> A100Sxm80Collectives();
absl::Span<const ReferenceCollectiveRow> B200SxmCollectives();
absl::Span<const ReferenceCollectiveRow> B300SxmCollectives();
absl::Span<const ReferenceCollectiveRow> Gb200Collectives();
absl::Span<const ReferenceCollectiveRow> Gb300Collectives();
absl::Span<const ReferenceCollectiveRow> H100SxmCollectives();
absl::Span<const ReferenceCollectiveRow> H200SxmCollectives();
absl::Span<const ReferenceCollectiveRow> L40sCollectives();
absl::Span<const ReferenceCollectiveRow> RtxPro6000Collectives();

// clang-format off
inline constexpr std::array<int64_t, 12> kReferenceCollectiveSizes = {
    512, 4096, 32768, 262144, 1048576, 2097152,
    4194304, 8388608, 16777216, 33554432, 134217728, 536870912,
};

inline std::array<ReferenceCollectiveTable, 9> ReferenceCollectiveTables() {
  return {{
      {"a100-sxm-80", "2.27.3", A100Sxm80Collectives()},
      {"b200-sxm", "2.29.2", B200SxmCollectives()},
      {"b300-sxm", "2.29.2", B300SxmCollectives()},
      {"gb200", "2.29.2", Gb200Collectives()},
      {"gb300", "2.29.2", Gb300Collectives()},
      {"h100-sxm", "2.29.2", H100SxmCollectives()},
      {"h200-sxm", "2.29.2", H200SxmCollectives()},
      {"l40s", "2.27.3", L40sCollectives()},
      {"rtx-pro-6000", "2.29.2", RtxPro6000Collectives()},
  }};
}
// clang-format on

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_COLLECTIVES_LIST_H_
