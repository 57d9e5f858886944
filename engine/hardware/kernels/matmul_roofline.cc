#include "engine/hardware/kernels/matmul_roofline.h"

#include <algorithm>

namespace sextant {

void SetMatmulBytes(MatmulType type, MatmulRoofline& roofline) {
  roofline.element_bytes = MatmulElementBytes(type.data_type);
  // x is read in bf16 and written in its own type.
  roofline.quantise_bytes = type.scaling == MatmulScaling::kNone ? 0 : 2 + roofline.element_bytes;
}

MatmulRoofline MatmulRooflineOf(MatmulType type, absl::Span<const MatmulPoint> matmuls) {
  // With one second per FLOP and per byte, WorkSeconds() and ByteSeconds() are counts.
  MatmulRoofline out = {
      .seconds_per_flop = 1, .seconds_per_byte = 1, .fixed_seconds = matmuls[0].time.value()};
  SetMatmulBytes(type, out);
  double flops_per_second = 0;
  double bytes_per_second = 0;
  for (const MatmulPoint& matmul : matmuls) {
    const MatmulDimensions size(matmul.shape);
    const double time = matmul.time.value();
    flops_per_second = std::max(flops_per_second, out.WorkSeconds(size) / time);
    bytes_per_second = std::max(bytes_per_second, out.ByteSeconds(size) / time);
    out.fixed_seconds = std::min(out.fixed_seconds, time);
  }
  out.seconds_per_flop = 1 / flops_per_second;
  out.seconds_per_byte = 1 / bytes_per_second;
  return out;
}

}  // namespace sextant
