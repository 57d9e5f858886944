// Counts of parameters to the wire.
#ifndef SEXTANT_SERVER_CONVERT_PARAMETER_COUNTS_H_
#define SEXTANT_SERVER_CONVERT_PARAMETER_COUNTS_H_

#include "engine/model/architecture/count_weights.h"
#include "sextant/v1/model.pb.h"

namespace sextant {

// Of a model with a shape. Components of which there are none are left out.
void ParameterCountsTo(const ArchitectureCount& count, v1::ParameterCounts* out);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_PARAMETER_COUNTS_H_
