// Predicted times of kernels, to the wire.
#ifndef SEXTANT_SERVER_CONVERT_KERNEL_H_
#define SEXTANT_SERVER_CONVERT_KERNEL_H_

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/base/units.h"
#include "engine/time/kernel_curves.h"
#include "engine/time/operation_prediction.h"
#include "server/convert/enum_pair.h"
#include "server/convert/notes.h"
#include "sextant/v1/interval.pb.h"
#include "sextant/v1/kernel.pb.h"

namespace sextant::server {

using KernelBasisPair = OneLater<KernelBasis::kDatasheet, v1::KernelBasis_MAX>;
using PredictionFormPair = OneLater<PredictionForm::kRoofline, v1::PredictionForm_MAX>;
using KernelRegimePair = OneLater<KernelRegime::kSustained, v1::KernelRegime_MAX>;

// Work and peak that the rates next to a predicted time are computed from.
struct PredictedWork {
  Flops flops;
  Flops matrix_flops = {};                   // of matrix products, whose peak it is
  absl::optional<FlopsPerSecond> peak = {};  // the datasheet's dense one
};

// Writes `time`, which is the forward or the backward pass of `prediction`; `sources` numbers its
// citation.
void KernelPredictionTo(const OperationPrediction& prediction, const KernelTime& time,
                        const PredictedWork& work, SourceNumbers& sources,
                        v1::KernelPrediction* out);

void KernelCurveTo(const KernelCurve& curve, SourceNumbers& sources, v1::KernelCurve* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_KERNEL_H_
