// The verdict on a run's memory for people: the answer of `sextant memory`, and a plan's memory.
#ifndef SEXTANT_CLIENT_REPORT_MEMORY_TEXT_H_
#define SEXTANT_CLIENT_REPORT_MEMORY_TEXT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {

// `filled_in` are sentences about the fields of `request` that the client filled in.
std::string MemoryText(const v1::PlanRunRequest& request, const v1::PlanRunResponse& response,
                       const std::vector<std::string>& filled_in);

// The same in at most kScreenLines lines of at most `width` columns: the verdict, the run, the
// largest parts of a GPU's memory, the cheapest change, the first warning.
std::string BriefMemory(const v1::PlanRunRequest& request, const v1::Plan& plan,
                        const std::vector<std::string>& filled_in, size_t width);

// True where memory is counted by pipeline stage, under a layout.
bool IsByStage(const v1::Plan& plan);

// The lines that the verdict depends on, of at most `width` columns: the peak on the fullest stage,
// or an even share; and what is counted.
std::string MemoryLine(const v1::Plan& plan, size_t hang, size_t width);
std::string CountsLine(const v1::Plan& plan, size_t hang, size_t width);

// The memory section of a plan: with a layout its stages and what to change, else an even share of
// all devices. Starts with an empty line and its title.
std::string MemorySection(const v1::Plan& plan);

// "llama-3.1-70b (70,553,706,496 parameters)"; a bare parameter count has no name but its number.
std::string ModelWords(const v1::Plan& plan);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_MEMORY_TEXT_H_
