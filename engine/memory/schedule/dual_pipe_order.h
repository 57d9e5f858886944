// The order of one stage of DualPipe.
#ifndef SEXTANT_ENGINE_MEMORY_SCHEDULE_DUAL_PIPE_ORDER_H_
#define SEXTANT_ENGINE_MEMORY_SCHEDULE_DUAL_PIPE_ORDER_H_

#include <cstdint>
#include <vector>

#include "engine/memory/schedule/moment_list.h"
#include "engine/memory/schedule/schedule_order.h"

namespace sextant {

// Source: the eight steps of DualPipe.step(), deepseek-ai/DualPipe @bb214e82b593,
// dualpipe/dualpipe.py.
std::vector<WorkItem> DualPipeOrder(const StageOfPipeline& of);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_SCHEDULE_DUAL_PIPE_ORDER_H_
