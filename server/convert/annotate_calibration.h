// Annotates devices and calibrations with the catalogue's figures for their product.
#ifndef SEXTANT_SERVER_CONVERT_ANNOTATE_CALIBRATION_H_
#define SEXTANT_SERVER_CONVERT_ANNOTATE_CALIBRATION_H_

#include "absl/types/optional.h"
#include "engine/hardware/accelerator.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/device.pb.h"

namespace sextant::server {

// Returns the catalogue's dense peak of `accelerator` for a wire data type, in FLOP/s; absent where
// the catalogue or the type has none. `accelerator` may be null.
absl::optional<double> DatasheetPeakFlopsPerSecond(const Accelerator* accelerator,
                                                   v1::DataType type);

// Fills the fields that the server computes: `accelerator` of the device, and `datasheet_mfu` of
// each multiplication. Clears them where the catalogue does not know the product.
void AnnotateDevice(v1::Device* device);
void AnnotateCalibration(v1::Calibration* calibration);

// True where any field that AnnotateCalibration() fills is set.
bool IsAnnotated(const v1::Calibration& calibration);

// Clears those fields: stored calibrations and fingerprints are without them.
void ClearAnnotations(v1::Calibration* calibration);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_ANNOTATE_CALIBRATION_H_
