// Rates of kernels by size.
#ifndef SEXTANT_ENGINE_TIME_KERNEL_CURVES_H_
#define SEXTANT_ENGINE_TIME_KERNEL_CURVES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/call_work.h"
#include "engine/base/units.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/predict/kernel_source.h"
#include "engine/time/operation_prediction.h"

namespace sextant {

enum class CurveKind {
  kSquareMatmul,     // [n, n] by [n, n]
  kTokenMatmul,      // m tokens through a matrix of 4096 x 4096
  kCausalAttention,  // a sequence, 32 heads of 128
};

struct CurvePoint {
  int64_t size = 0;
  KernelTime time;
  Flops flops;
};

struct KernelCurve {
  CurveKind kind = CurveKind::kSquareMatmul;
  DataType data_type = DataType::kUnspecified;
  KernelSource source;                       // of the device that decides at the largest size
  absl::optional<FlopsPerSecond> peak = {};  // the datasheet's
  std::vector<CurvePoint> points = {};       // from small to large
};

// The curves of `devices`, at least one, all with models, in each of `types` that all of them
// know.
//
// Errors: those of PredictOperation() and of CallWork, which is asked before each model is fitted.
absl::StatusOr<std::vector<KernelCurve>> KernelCurvesOf(absl::Span<const PlacedDevice> devices,
                                                        DeviceJoin join,
                                                        absl::Span<const DataType> types,
                                                        CallWork& work);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_KERNEL_CURVES_H_
