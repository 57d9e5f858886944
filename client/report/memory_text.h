// Memory of a run for people: the verdict of `sextant memory`, tables of stages, changes that make
// it fit, and what other answers say of it.
#ifndef SEXTANT_CLIENT_REPORT_MEMORY_TEXT_H_
#define SEXTANT_CLIENT_REPORT_MEMORY_TEXT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "client/report/rates_text.h"
#include "client/text/sources.h"
#include "sextant/v1/memory.pb.h"
#include "sextant/v1/plan.pb.h"
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
std::string MemoryLine(const v1::Plan& plan, size_t width);
std::string CountsLine(const v1::Plan& plan, size_t width);

// The memory section of a plan: with a layout its stages and what to change, else an even share of
// all devices. Starts with an empty line and its title.
std::string MemorySection(const v1::Plan& plan);

// "llama-3.1-70b (70,553,706,496 parameters)"; a bare parameter count has no name but its number.
std::string ModelWords(const v1::Plan& plan);

// A line a stage, or run of equal stages: its share of the work, and when it holds the most.
std::string StageWorkTable(const v1::Memory& memory);

// A line a stage, or run of equal stages: each GPU's memory at that time, in GiB; each line adds
// up.
std::string StageMemoryTable(const v1::Memory& memory);

// A section a stage, or run of equal stages: each row in bytes, a sum a kind, and their sum. After
// the last one come the notes that rows refer to: when the rows are present, what for, and the
// source of the formula, one of `sources`. "" where the answer has no ledger.
std::string LedgerSections(const v1::Memory& memory, const SourceList& sources);

// "--zero=optimizer (now none) makes it fit: 73.91 GiB; costs no time (and 4 more ways)": the
// cheapest change to a run with a layout that does not surely fit; "" where there is none to make.
std::string NearestChange(const v1::Plan& plan);

// All changes to a run with a layout, after an empty line and a title; "" where it fits.
std::string ChangesSection(const v1::Plan& plan);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_MEMORY_TEXT_H_
