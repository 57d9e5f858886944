// The list of reference tables: made by make_gemm_reference.py, not by hand.
#ifndef SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_GEMMS_LIST_H_
#define SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_GEMMS_LIST_H_

#include <array>

#include "engine/hardware/reference/reference_gemms_table.h"

namespace sextant {

ReferenceGemmTable A100Sxm80Gemms();
ReferenceGemmTable B200SxmGemms();
ReferenceGemmTable H100SxmGemms();
ReferenceGemmTable H200SxmGemms();

// clang-format off
inline std::array<ReferenceGemmTable, 4> ReferenceGemmTables() {
  return {{
      A100Sxm80Gemms(),
      B200SxmGemms(),
      H100SxmGemms(),
      H200SxmGemms(),
  }};
}
// clang-format on

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_GEMMS_LIST_H_
