// A counted model to the wire: parameters, the FLOPs of a training step, stages and tensors.
#ifndef SEXTANT_SERVER_CONVERT_COUNTED_MODEL_H_
#define SEXTANT_SERVER_CONVERT_COUNTED_MODEL_H_

#include "engine/model/architecture/count_weights.h"
#include "engine/model/count_model.h"
#include "sextant/v1/accounting_service.pb.h"
#include "sextant/v1/model.pb.h"
#include "sextant/v1/model_count.pb.h"

namespace sextant::server {

// Writes the counts of a model with a shape, with `components` those of its components that have
// parameters.
void ParameterCountsTo(const ArchitectureCount& count, bool components, v1::ParameterCounts* out);

// Fills `out` with the parts of `counted` that `request` asks for. `counted` was counted by `spec`.
void CountedModelTo(const CountedModel& counted, const CountSpec& spec,
                    const v1::CountModelRequest& request, v1::CountModelResponse* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_COUNTED_MODEL_H_
