// What an operation costs, for people.
#ifndef SEXTANT_CLIENT_OPERATION_TEXT_H_
#define SEXTANT_CLIENT_OPERATION_TEXT_H_

#include <string>

#include "absl/time/time.h"
#include "sextant/v1/accounting_service.pb.h"

namespace sextant {

// The sums first, then every section. `now` is for the ages of measurements; `plot`, "" for
// none, stands below the times.
std::string OperationText(const v1::AnalyzeOperationResponse& response, const std::string& plot,
                          absl::Time now);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_OPERATION_TEXT_H_
