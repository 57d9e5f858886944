// Whether a calibration's kernels, collectives and copies make sense.
#ifndef SEXTANT_SERVER_CONVERT_CHECK_KERNELS_H_
#define SEXTANT_SERVER_CONVERT_CHECK_KERNELS_H_

#include "engine/base/field_violation.h"
#include "server/convert/field_checker.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

// Of CheckCalibration(): attentions, experts, collectives and host_copies of `calibration` at
// `path`. No rate may be above 1.1 of what the datasheet says that the product can do at most,
// where the catalogue has it: matrix units for attention and experts; memory, which all bytes come
// from, for collectives and copies. No two may be of one shape.
void CheckKernelMeasurements(const v1::Calibration& calibration, const MessagePath& path,
                             FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_CHECK_KERNELS_H_
