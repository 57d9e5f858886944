// A plan's compute, operation by operation, as a message.
#ifndef SEXTANT_SERVER_CONVERT_COMPUTE_H_
#define SEXTANT_SERVER_CONVERT_COMPUTE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "engine/run/step_plan.h"
#include "server/convert/notes.h"
#include "sextant/v1/compute.pb.h"

namespace sextant::server {

// Fills `out`, which is empty. `layer_kinds` are the names by TimedOperation::layer_kind.
void ComputeTo(const ComputeEstimate& compute, const std::vector<std::string>& layer_kinds,
               SourceNumbers& sources, v1::Compute* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_COMPUTE_H_
