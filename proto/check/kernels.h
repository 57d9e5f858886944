// Checks that a calibration's kernels, collectives and copies make sense.
#ifndef SEXTANT_PROTO_CHECK_KERNELS_H_
#define SEXTANT_PROTO_CHECK_KERNELS_H_

#include "proto/check/calibration.h"
#include "proto/check/field_checker.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::check {

// The part of CheckCalibration() that checks attentions, experts, collectives and host_copies of
// `calibration` at `path`. No rate may exceed 1.1 of the product's limit, where it is known: of the
// matrix units for attention and experts; of memory, which all bytes pass, for collectives and
// copies. No two may have the same shape.
void CheckKernels(const v1::Calibration& calibration, const MessagePath& path,
                  const ProductLimits& limits, FieldChecker& check);

}  // namespace sextant::check

#endif  // SEXTANT_PROTO_CHECK_KERNELS_H_
