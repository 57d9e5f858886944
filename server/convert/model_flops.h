// FLOPs of a training step to the wire.
#ifndef SEXTANT_SERVER_CONVERT_MODEL_FLOPS_H_
#define SEXTANT_SERVER_CONVERT_MODEL_FLOPS_H_

#include "engine/model/count_model.h"
#include "sextant/v1/model_count.pb.h"

namespace sextant {

// `counted` has FLOPs; each component's too where `components`.
void ModelFlopsTo(const CountedModel& counted, bool components, v1::ModelFlops* out);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_MODEL_FLOPS_H_
