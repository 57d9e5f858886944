// The kinds of measured matrix multiplications. A field that is not set means its default: a short
// burst, and a point of the grid.
#ifndef SEXTANT_PROTO_MATMUL_KIND_H_
#define SEXTANT_PROTO_MATMUL_KIND_H_

#include <vector>

#include "sextant/v1/calibration.pb.h"

namespace sextant {

inline bool IsSustained(const v1::MatmulMeasurement& m) {
  return m.window() == v1::MatmulMeasurement::WINDOW_SUSTAINED;
}

inline bool IsBurst(const v1::MatmulMeasurement& m) {
  return m.window() == v1::MatmulMeasurement::WINDOW_UNSPECIFIED ||
         m.window() == v1::MatmulMeasurement::WINDOW_BURST;
}

// A search for the device's best.
inline bool IsOfGrid(const v1::MatmulMeasurement& m) {
  return m.purpose() == v1::MatmulMeasurement::PURPOSE_UNSPECIFIED ||
         m.purpose() == v1::MatmulMeasurement::PURPOSE_GRID;
}

inline bool IsRequested(const v1::MatmulMeasurement& m) {
  return m.purpose() == v1::MatmulMeasurement::PURPOSE_REQUESTED;
}

// A batch, operands in another layout, or sums in more bits.
inline bool IsOther(const v1::MatmulMeasurement& m) {
  return m.purpose() == v1::MatmulMeasurement::PURPOSE_OTHER;
}

inline bool IsGridBurst(const v1::MatmulMeasurement& m) { return IsBurst(m) && IsOfGrid(m); }

// A burst of one multiplication in the default layout: its time is that of its shape, whoever asked
// for it.
inline bool IsShapeBurst(const v1::MatmulMeasurement& m) {
  return IsBurst(m) && (IsOfGrid(m) || IsRequested(m));
}

using MatmulList = std::vector<const v1::MatmulMeasurement*>;

// The multiplications of `calibration` for which `is_kind` is true, in its order. They live as long
// as `calibration` is unchanged.
template <typename IsKind>
MatmulList MatmulsWhere(const v1::Calibration& calibration, IsKind is_kind) {
  MatmulList out;
  for (const v1::MatmulMeasurement& m : calibration.matmuls()) {
    if (is_kind(m)) out.push_back(&m);
  }
  return out;
}

}  // namespace sextant

#endif  // SEXTANT_PROTO_MATMUL_KIND_H_
