// Changes of a calibration's matrix multiplications by their kind (proto/matmul_kind.h).
#ifndef SEXTANT_TESTS_SUPPORT_MATMUL_KINDS_H_
#define SEXTANT_TESTS_SUPPORT_MATMUL_KINDS_H_

#include "sextant/v1/calibration.pb.h"

namespace sextant {

// Removes those for which `is_kind` is true.
template <typename IsKind>
void RemoveMatmuls(IsKind is_kind, v1::Calibration* calibration) {
  for (int i = calibration->matmuls_size(); i-- > 0;) {
    if (is_kind(calibration->matmuls(i))) calibration->mutable_matmuls()->DeleteSubrange(i, 1);
  }
}

// The first for which `is_kind` is true; null where there is none.
template <typename IsKind>
v1::MatmulMeasurement* FirstMatmul(IsKind is_kind, v1::Calibration* calibration) {
  for (v1::MatmulMeasurement& matmul : *calibration->mutable_matmuls()) {
    if (is_kind(matmul)) return &matmul;
  }
  return nullptr;
}

// Adds a copy of `matmul` in that window and with that purpose.
inline void AddMatmulAs(v1::MatmulMeasurement matmul, v1::MatmulMeasurement::Window window,
                        v1::MatmulMeasurement::Purpose purpose, v1::Calibration* calibration) {
  matmul.set_window(window);
  matmul.set_purpose(purpose);
  *calibration->add_matmuls() = matmul;
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_SUPPORT_MATMUL_KINDS_H_
