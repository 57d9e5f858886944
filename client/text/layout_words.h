// A layout in words: of the run that was planned, and of what a search considers.
#ifndef SEXTANT_CLIENT_TEXT_LAYOUT_WORDS_H_
#define SEXTANT_CLIENT_TEXT_LAYOUT_WORDS_H_

#include <cstdint>
#include <string>

#include "sextant/v1/layout.pb.h"
#include "sextant/v1/layout_search.pb.h"
#include "sextant/v1/memory.pb.h"
#include "sextant/v1/plan.pb.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {

// "1f1b", "zb-h1".
std::string ScheduleWords(const v1::RunLayout& layout);

// The optimizer's state is in host memory.
bool IsOffloaded(const v1::LayoutOption& option);

// ZeRO stage 3 that gathers weights once for both passes.
bool KeepsWeights(const v1::LayoutOption& option);

// "3 by 8 keep off": the ZeRO stage, the ranks that share the state, and the rest where it is set.
std::string ShardingWords(const v1::LayoutOption& option);

// "unfused, fused": the kernels of attention and of the loss; "" where they are the run's.
std::string KernelWords(const v1::LayoutOption& option);

// "none", "norms+activations", "full by 4".
std::string RecomputeWords(const v1::LayoutOption& option);

// "tp 4 sp pp 8 vpp 10 dp 2 zero 1 mbs 1": tensor, pipeline and data parallel size and micro-batch;
// the rest where it isn't 1 or off, and a schedule other than 1F1B.
std::string LayoutName(const v1::LayoutOption& option, int64_t device_count);

// "--tp=8 --pp=4 ...": the flags that give what a search chooses.
std::string LayoutFlags(const v1::LayoutOption& option);

// The layout that was planned: the one that a search chose, else the request's.
const v1::RunLayout& PlannedLayout(const v1::PlanRunRequest& request, const v1::Plan& plan);

// "tensor 8 x pipeline 4 x data 2, 5 chunks a stage; a step is 8 micro-batches of 1 sequence".
std::string LayoutWords(const v1::RunLayout& layout, const v1::Memory& memory);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_TEXT_LAYOUT_WORDS_H_
