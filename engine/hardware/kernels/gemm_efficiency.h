// How much longer multiplications take than the roofline says, over all shapes.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_EFFICIENCY_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_EFFICIENCY_H_

#include "absl/types/span.h"
#include "engine/hardware/kernels/gemm_calibration.h"
#include "engine/hardware/kernels/gemm_grid.h"
#include "engine/hardware/kernels/gemm_roofline.h"
#include "engine/hardware/kernels/gemm_tiles.h"

namespace sextant {

enum class GemmForm {
  kGrid,   // a smooth surface alone: libraries that fill their waves well
  kTiles,  // and what is lost to tiles and waves
};

//   ln(time / roofline) = grid(log m, log n, log k) + costs . losses(m, n)
//
// The grid is continuous. Losses step where a tile is added, as on the device.
struct GemmEfficiency {
  GemmNodes grid = {};
  GemmTileLosses tile_costs = {};  // all 0 of kGrid
  double compute_units = 1;        // only read where tile_costs are not 0
  GemmForm form = GemmForm::kGrid;

  double LogRatio(const GemmSize& size, const GemmPosition& position, double work_share) const;
};

struct GemmFitInput {
  GemmForm form = GemmForm::kGrid;
  GemmRoofline roofline;
  double compute_units = 1;  // of kTiles
};

// Least squares over `gemms` with the surface held flat and smooth, so that it is determined
// whichever points are missing, and with large errors counted less (Huber's weights, Ann. Math.
// Stat. 35, 1964; from memory). The same points, the same result.
GemmEfficiency FitGemmEfficiency(const GemmFitInput& input, absl::Span<const MeasuredGemm> gemms);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_EFFICIENCY_H_
