// Interruptions, checkpoints, limits and data of a run, as text.
#ifndef SEXTANT_CLIENT_REPORT_WHOLE_RUN_TEXT_H_
#define SEXTANT_CLIENT_REPORT_WHOLE_RUN_TEXT_H_

#include <string>

#include "sextant/v1/plan.pb.h"

namespace sextant::client {

// "deadline met, 12.4 days to spare, chance 93 %; budget missed by 12.00 USD"; empty where no limit
// was given.
std::string LimitWords(const v1::TimeEstimate& estimate);

// The section "Whole run": steps, interruptions, checkpoints, data, telemetry.
std::string WholeRunSection(const v1::Plan& plan);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_WHOLE_RUN_TEXT_H_
