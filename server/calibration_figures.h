// The figures of a calibration that stand for a device.
#ifndef SEXTANT_SERVER_CALIBRATION_FIGURES_H_
#define SEXTANT_SERVER_CALIBRATION_FIGURES_H_

#include <vector>

#include "google/protobuf/repeated_ptr_field.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

// The data types of `matmuls`, each once, in their enum's order.
std::vector<v1::DataType> DataTypesOf(
    const google::protobuf::RepeatedPtrField<v1::MatmulMeasurement>& matmuls);

// The one of `matmuls` in `type` that plans would stand on (IsBetterRate()); null: there is none.
const v1::MatmulMeasurement* BestMatmul(
    const google::protobuf::RepeatedPtrField<v1::MatmulMeasurement>& matmuls, v1::DataType type);

// The pass over main memory, no cache's, with the largest arrays; null: there is none.
const v1::StreamMeasurement* MainMemoryStream(const v1::Calibration& calibration,
                                              v1::StreamMeasurement::Operation operation);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CALIBRATION_FIGURES_H_
