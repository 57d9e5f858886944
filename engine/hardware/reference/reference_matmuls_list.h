// The list of reference tables: made by make_matmul_reference.py, not by hand.
#ifndef SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_MATMULS_LIST_H_
#define SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_MATMULS_LIST_H_

#include <array>

#include "engine/hardware/reference/reference_matmuls_table.h"

namespace sextant {

ReferenceMatmulTable A100Sxm80Matmuls();
ReferenceMatmulTable B200SxmMatmuls();
ReferenceMatmulTable H100SxmMatmuls();
ReferenceMatmulTable H200SxmMatmuls();

// clang-format off
inline std::array<ReferenceMatmulTable, 4> ReferenceMatmulTables() {
  return {{
      A100Sxm80Matmuls(),
      B200SxmMatmuls(),
      H100SxmMatmuls(),
      H200SxmMatmuls(),
  }};
}
// clang-format on

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_MATMULS_LIST_H_
