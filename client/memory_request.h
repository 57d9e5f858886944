// The request of `sextant memory`.
#ifndef SEXTANT_CLIENT_MEMORY_REQUEST_H_
#define SEXTANT_CLIENT_MEMORY_REQUEST_H_

#include <string>
#include <vector>

#include "sextant/v1/planning_service.pb.h"

namespace sextant {

// Fills in what `request` lacks and its memory does not depend on, or what follows from the rest:
// tokens, an empty layout, as many devices as the layout's sizes need. Returns a sentence about
// each. A bare parameter count, or given activations, stay without a layout: shared out evenly.
std::vector<std::string> FillInMemoryRequest(v1::PlanRunRequest* request);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_MEMORY_REQUEST_H_
