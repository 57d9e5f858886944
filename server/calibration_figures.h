// The figures of a calibration that stand for a device.
#ifndef SEXTANT_SERVER_CALIBRATION_FIGURES_H_
#define SEXTANT_SERVER_CALIBRATION_FIGURES_H_

#include <vector>

#include "absl/types/optional.h"
#include "engine/hardware/accelerator.h"
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

// The largest copy in a direction, of pinned or of pageable memory; null: there is none.
const v1::HostCopyMeasurement* LargestHostCopy(const v1::Calibration& calibration,
                                               v1::HostCopyMeasurement::Direction direction,
                                               bool pageable);

// Whether the rates that most plans stand on can be trusted (TimeStatistics.stable): BestMatmul()
// in bf16 (else fp16, else fp32), in fp8 where that was measured, and the copy through main memory
// that plans take. Quick, standard and full calibrations of a device have the same ones, so that
// this compares them fairly. False where there is none of them.
bool IsStable(const v1::Calibration& calibration);

// What joins devices of one host.
struct MeasuredLink {
  const char* name = "";  // "nvlink", "pcie"
  double bytes_per_second = 0;
};

// The highest bus rate of any exchange but all_reduce, which a switch that adds up takes past its
// link (docs/links.md); of that where nothing else was measured. Absent without collectives, and
// where the catalogue does not know by what `accelerator`, which may be null, is joined.
absl::optional<MeasuredLink> MeasuredLinkOf(const v1::Calibration& calibration,
                                            const Accelerator* accelerator);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CALIBRATION_FIGURES_H_
