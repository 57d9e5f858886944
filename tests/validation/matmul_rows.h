// Tables of published multiplications.
#ifndef SEXTANT_TESTS_VALIDATION_MATMUL_ROWS_H_
#define SEXTANT_TESTS_VALIDATION_MATMUL_ROWS_H_

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/hardware/kernels/matmul_calibration.h"
#include "tests/support/csv.h"

namespace sextant {

// The GPU, the type and the library with its version, as in the table.
using MatmulKey = std::tuple<std::string, std::string, std::string>;
using MatmulTable = std::map<MatmulKey, std::vector<MatmulPoint>>;

// Errors: kInvalidArgument naming a column that is absent or no number.
absl::StatusOr<MatmulTable> MatmulTableOf(const std::vector<CsvRow>& rows);

// The calibration of `key`: the catalogue's figures for its GPU, and the points of `matmuls`.
MatmulCalibration MatmulCalibrationOf(const MatmulKey& key,
                                      const std::vector<MatmulPoint>& matmuls);

// m to 8192, n and k of 1024 to 16384.
bool InMatmulDomain(const MatmulShape& shape);

// True where the CRC-32 (IEEE 802.3) of "m,n,k" is even.
bool InEvenHalf(const MatmulShape& shape);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_MATMUL_ROWS_H_
