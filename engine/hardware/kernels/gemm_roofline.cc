#include "engine/hardware/kernels/gemm_roofline.h"

#include <algorithm>

namespace sextant {

void SetGemmBytes(GemmType type, GemmRoofline& roofline) {
  roofline.element_bytes = GemmElementBytes(type.data_type);
  // x is read in bf16 and written in its own type.
  roofline.quantise_bytes = type.scaling == GemmScaling::kNone ? 0 : 2 + roofline.element_bytes;
}

GemmRoofline GemmRooflineOf(GemmType type, absl::Span<const MeasuredGemm> gemms) {
  // With one second per FLOP and per byte, WorkSeconds() and ByteSeconds() are counts.
  GemmRoofline out = {
      .seconds_per_flop = 1, .seconds_per_byte = 1, .fixed_seconds = gemms[0].time.value()};
  SetGemmBytes(type, out);
  double flops_per_second = 0;
  double bytes_per_second = 0;
  for (const MeasuredGemm& gemm : gemms) {
    const GemmSize size(gemm.shape);
    const double time = gemm.time.value();
    flops_per_second = std::max(flops_per_second, out.WorkSeconds(size) / time);
    bytes_per_second = std::max(bytes_per_second, out.ByteSeconds(size) / time);
    out.fixed_seconds = std::min(out.fixed_seconds, time);
  }
  out.seconds_per_flop = 1 / flops_per_second;
  out.seconds_per_byte = 1 / bytes_per_second;
  return out;
}

}  // namespace sextant
