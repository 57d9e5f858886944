#include "server/calibration_figures.h"

#include <set>

#include "engine/hardware/calibration.h"

namespace sextant {

using Matmuls = google::protobuf::RepeatedPtrField<v1::MatmulMeasurement>;

std::vector<v1::DataType> DataTypesOf(const Matmuls& matmuls) {
  std::set<v1::DataType> types;
  for (const v1::MatmulMeasurement& matmul : matmuls) types.insert(matmul.data_type());
  return {types.begin(), types.end()};
}

const v1::MatmulMeasurement* BestMatmul(const Matmuls& matmuls, v1::DataType type) {
  const auto seen = [](const v1::MatmulMeasurement& matmul) -> RateSeen {
    return {.rate = matmul.flops_per_second(), .stable = matmul.time().stable()};
  };
  const v1::MatmulMeasurement* best = nullptr;
  for (const v1::MatmulMeasurement& matmul : matmuls) {
    if (matmul.data_type() != type) continue;
    if (best == nullptr || IsBetterRate(seen(matmul), seen(*best))) best = &matmul;
  }
  return best;
}

const v1::StreamMeasurement* MainMemoryStream(const v1::Calibration& calibration,
                                              v1::StreamMeasurement::Operation operation) {
  const v1::StreamMeasurement* largest = nullptr;
  for (const v1::StreamMeasurement& stream : calibration.streams()) {
    if (stream.operation() != operation || !stream.main_memory()) continue;
    if (largest == nullptr || stream.array_bytes() > largest->array_bytes()) largest = &stream;
  }
  return largest;
}

}  // namespace sextant
