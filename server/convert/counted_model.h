// A counted model to the wire.
#ifndef SEXTANT_SERVER_CONVERT_COUNTED_MODEL_H_
#define SEXTANT_SERVER_CONVERT_COUNTED_MODEL_H_

#include "engine/model/count_model.h"
#include "sextant/v1/accounting_service.pb.h"

namespace sextant {

// Fills `out` with all of `counted`: what `spec`, which it was counted by, and `request` ask for.
void CountedModelTo(const CountedModel& counted, const CountSpec& spec,
                    const v1::CountModelRequest& request, v1::CountModelResponse* out);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_COUNTED_MODEL_H_
