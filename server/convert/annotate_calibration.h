// What the catalogue knows about a device, put beside what was measured on it.
#ifndef SEXTANT_SERVER_CONVERT_ANNOTATE_CALIBRATION_H_
#define SEXTANT_SERVER_CONVERT_ANNOTATE_CALIBRATION_H_

#include "absl/types/optional.h"
#include "engine/hardware/accelerator.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/device.pb.h"

namespace sextant {

// The catalogue's dense peak of `accelerator` for a wire data type, in FLOP/s; absent where
// either does not have it. `accelerator` may be null.
absl::optional<double> DatasheetPeakFlopsPerSecond(const Accelerator* accelerator,
                                                   v1::DataType type);

// Fills the fields that are the server's: `accelerator` of the device, and `datasheet_mfu` of
// each multiplication, where the catalogue knows them; clears them where it does not.
void AnnotateDevice(v1::Device* device);
void AnnotateCalibration(v1::Calibration* calibration);

// Whether any of those fields is set.
bool IsAnnotated(const v1::Calibration& calibration);

// Clears them: stored calibrations and fingerprints are without.
void ClearAnnotations(v1::Calibration* calibration);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_ANNOTATE_CALIBRATION_H_
