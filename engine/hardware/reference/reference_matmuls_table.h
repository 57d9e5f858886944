// The format of this folder's tables of measured multiplications.
#ifndef SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_MATMULS_TABLE_H_
#define SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_MATMULS_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sextant {

inline constexpr size_t kMaxReferenceMatmulTypes = 4;

// One type, and the library that multiplied in it.
struct ReferenceMatmulColumn {
  absl::string_view type;  // for MatmulTypeNamed()
  absl::string_view library;
};

struct ReferenceMatmulRow {
  int64_t m;
  int64_t n;
  int64_t k;
  // By the table's columns. 0: not in that type's calibration.
  std::array<double, kMaxReferenceMatmulTypes> microseconds;
};

struct ReferenceMatmulTable {
  absl::string_view accelerator;  // the catalogue's name
  absl::Span<const ReferenceMatmulColumn> columns;
  absl::Span<const ReferenceMatmulRow> points;
  absl::Span<const ReferenceMatmulRow> checks;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_MATMULS_TABLE_H_
