// Copies parts of A and B into the order in which the innermost loop reads them.
#ifndef SEXTANT_GPU_PROBE_HOST_BUILTIN_PACKING_H_
#define SEXTANT_GPU_PROBE_HOST_BUILTIN_PACKING_H_

#include <cstdint>

namespace sextant {

// `row_count` rows of `depth` elements each, `row_stride` elements apart.
struct PackSource {
  const float* data = nullptr;
  int64_t row_stride = 0;
  int64_t row_count = 0;
  int64_t depth = 0;
};

// Into panels of `panel_width` rows each, a panel depth by depth: to[panel][p][row]. The last
// panel is filled up with zeros. A's rows and B's columns are both packed so: B is kept column
// after column.
void PackPanels(const PackSource& source, int panel_width, float* to);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_BUILTIN_PACKING_H_
