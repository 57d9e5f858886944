// The answer of `sextant memory`, for people.
#ifndef SEXTANT_CLIENT_MEMORY_TEXT_H_
#define SEXTANT_CLIENT_MEMORY_TEXT_H_

#include <string>
#include <vector>

#include "sextant/v1/planning_service.pb.h"

namespace sextant {

// `filled_in` are sentences about what the client put into `request` that was not given.
std::string MemoryText(const v1::PlanRunRequest& request, const v1::PlanRunResponse& response,
                       const std::vector<std::string>& filled_in);

// The memory section of a plan of a layout: stages and what to change. Starts with an empty line
// and its title.
std::string EstimateSection(const v1::Plan& plan);

// "llama-3.1-70b (70,553,706,496 parameters)"; a bare parameter count has no name but its number.
std::string ModelWords(const v1::Plan& plan);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_MEMORY_TEXT_H_
