// The largest model that a run can be of, for people.
#ifndef SEXTANT_CLIENT_REPORT_SIZE_MODEL_TEXT_H_
#define SEXTANT_CLIENT_REPORT_SIZE_MODEL_TEXT_H_

#include <string>

#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {

// The question, the model, its plan and the limit that keeps it from being larger.
std::string SizeModelText(const v1::SizeModelRequest& request,
                          const v1::SizeModelResponse& response);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_SIZE_MODEL_TEXT_H_
