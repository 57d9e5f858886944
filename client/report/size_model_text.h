// The largest model that a run can be of, for people.
#ifndef SEXTANT_CLIENT_REPORT_SIZE_MODEL_TEXT_H_
#define SEXTANT_CLIENT_REPORT_SIZE_MODEL_TEXT_H_

#include <string>

#include "absl/time/time.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {

// The question, the model, its plan, the limit that keeps it from being larger, and the sources of
// rates with their age at `now`.
std::string SizeModelText(const v1::SizeModelRequest& request,
                          const v1::SizeModelResponse& response, absl::Time now);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_SIZE_MODEL_TEXT_H_
