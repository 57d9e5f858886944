// Parameters and tokens for a budget of compute, for people.
#ifndef SEXTANT_CLIENT_REPORT_ALLOCATION_TEXT_H_
#define SEXTANT_CLIENT_REPORT_ALLOCATION_TEXT_H_

#include <string>

#include "client/report/rates_text.h"
#include "sextant/v1/allocate_compute.pb.h"

namespace sextant::client {

// The budget, the rules side by side, and models that are trained for longer where the request
// asked for them: at most 20 lines of 80 columns, and warnings. `words` names fields as the user
// does.
std::string AllocationText(const v1::AllocateComputeRequest& request,
                           const v1::AllocateComputeResponse& response, FieldWords words);

// The source, the fitted range and a remark of each rule, and what the budget takes as given.
// Starts with an empty line.
std::string AllocationSources(const v1::AllocateComputeResponse& response, FieldWords words);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_ALLOCATION_TEXT_H_
