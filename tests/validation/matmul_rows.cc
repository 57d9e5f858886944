#include "tests/validation/matmul_rows.h"

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/accelerator.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/kernels/matmul_calibration.h"
#include "tests/validation/kernel_score.h"

namespace sextant {
namespace {

std::string TextOf(const CsvRow& row, const char* column) {
  const auto found = row.find(column);
  return found == row.end() ? "" : found->second;
}

uint32_t Crc32(absl::string_view text) {
  uint32_t crc = ~uint32_t{0};
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320U : 0);
  }
  return ~crc;
}

}  // namespace

absl::StatusOr<MatmulTable> MatmulTableOf(const std::vector<CsvRow>& rows) {
  MatmulTable out;
  for (const CsvRow& row : rows) {
    MatmulPoint matmul;
    SEXTANT_ASSIGN_OR_RETURN(matmul.shape.m, IntegerOf(row, "m"));
    SEXTANT_ASSIGN_OR_RETURN(matmul.shape.n, IntegerOf(row, "n"));
    SEXTANT_ASSIGN_OR_RETURN(matmul.shape.k, IntegerOf(row, "k"));
    SEXTANT_ASSIGN_OR_RETURN(const double seconds, NumberOf(row, "seconds"));
    matmul.time = Seconds(seconds);
    const std::string library =
        absl::StrCat(TextOf(row, "framework"), " ", TextOf(row, "framework_version"));
    out[{TextOf(row, "gpu"), TextOf(row, "dtype"), library}].push_back(matmul);
  }
  return out;
}

MatmulCalibration MatmulCalibrationOf(const MatmulKey& key,
                                      const std::vector<MatmulPoint>& matmuls) {
  MatmulCalibration out;
  out.type = MatmulTypeNamed(std::get<1>(key));
  if (const Accelerator* accelerator = AcceleratorNamed(std::get<0>(key))) {
    if (accelerator->compute_unit_count) {
      out.compute_units = static_cast<int64_t>(accelerator->compute_unit_count.value);
    }
    const DatasheetValue peak = PeakFlopsPerSecond(*accelerator, out.type.data_type);
    if (peak) out.peak = FlopsPerSecond(peak.value);
  }
  ChooseMatmulPoints(matmuls, out);
  return out;
}

bool InMatmulDomain(const MatmulShape& shape) {
  const auto within = [](int64_t size) { return size >= 1024 && size <= 16384; };
  return shape.m <= 8192 && within(shape.n) && within(shape.k);
}

bool InEvenHalf(const MatmulShape& shape) {
  return Crc32(absl::StrCat(shape.m, ",", shape.n, ",", shape.k)) % 2 == 0;
}

}  // namespace sextant
