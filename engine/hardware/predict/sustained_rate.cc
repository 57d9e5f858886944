#include "engine/hardware/predict/sustained_rate.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

// The burst time of the shape, measured or predicted; absent where neither is known.
absl::StatusOr<absl::optional<Seconds>> BurstTime(const MeasuredKernels& measured, DataType type,
                                                  const MatmulShape& shape,
                                                  MatmulsOfDevice matmuls) {
  for (const MeasuredMatmulPoints& of_type : measured.matmuls) {
    if (of_type.data_type != type) continue;
    for (const MatmulPoint& matmul : of_type.matmuls) {
      if (matmul.shape == shape) return absl::make_optional(matmul.time);
    }
  }
  SEXTANT_ASSIGN_OR_RETURN(const absl::optional<MatmulPredictor> predictor, matmuls(type));
  absl::optional<Seconds> out;
  if (predictor.has_value()) out = predictor->Predict(shape).expected;
  return out;
}

}  // namespace

Derating DeratingOfUnmeasured() {
  return {.expected = StatedDerating::kExpected,
          .high = StatedDerating::kHigh,
          .citation =
              "long searches over best bursts of an H100 in bf16 (stas00/ml-engineering, published "
              "tables), and a B200's loss after 5 ms (flashinfer pull request 2899)"};
}

absl::StatusOr<Derating> DeratingOfMeasured(const MeasuredKernels& measured, DataType type,
                                            MatmulsOfDevice matmuls) {
  const MeasuredMatmul* const matmul = measured.calibration->MatmulIn(type);
  if (matmul == nullptr || !matmul->sustained) {
    if (!measured.calibration->processor) return DeratingOfUnmeasured();
    return Derating{.citation =
                        "a processor's grids are gone over for seconds: they are no bursts"};
  }
  const MatmulShape shape = {matmul->m, matmul->n, matmul->k};
  SEXTANT_ASSIGN_OR_RETURN(const absl::optional<Seconds> burst,
                           BurstTime(measured, type, shape, matmuls));
  if (!burst.has_value()) return DeratingOfUnmeasured();
  const double sustained = (MatmulFlops(shape) / matmul->rate).value();
  const double factor = std::max(1.0, sustained / burst->value());
  return Derating{.expected = factor,
                  .high = factor,
                  .citation = absl::StrCat("measured, ", matmul->m, "x", matmul->n, "x", matmul->k,
                                           " without a pause against a burst of it")};
}

}  // namespace sextant
