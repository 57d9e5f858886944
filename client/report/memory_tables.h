// The memory of pipeline stages as tables: a line a stage, and their ledgers.
#ifndef SEXTANT_CLIENT_REPORT_MEMORY_TABLES_H_
#define SEXTANT_CLIENT_REPORT_MEMORY_TABLES_H_

#include <string>

#include "client/report/rates_text.h"
#include "sextant/v1/memory.pb.h"

namespace sextant::client {

// "61.20 GiB (58.90 to 64.03) of 79.00 GiB usable on stage 0, which holds the most": the stage with
// the peak.
std::string PeakText(const v1::Memory& memory);

// "17.80 GiB (14.97 to 20.10) to spare", or how much is missing.
std::string HeadroomText(const v1::Interval& headroom);

// "79.65 GiB (85.52 GB) as its driver reports, less its own 0.47 GiB; nominal 80 GB": how much
// memory a device is taken to have, and by whom. "" where the answer doesn't say.
std::string CapacityText(const v1::DeviceCapacity& capacity);

// A line a stage, or run of equal stages: its share of the work, and when it holds the most.
std::string StageWorkTable(const v1::Memory& memory);

// A line a stage, or run of equal stages: each GPU's memory at that time, in GiB; each line adds
// up.
std::string StageMemoryTable(const v1::Memory& memory);

// A section a stage, or run of equal stages: each row in bytes, a sum a kind, and their sum. After
// the last one come the notes that rows refer to: when the rows are present, what for, and the
// source of the formula, one of `sources`. "" where the answer has no ledger.
std::string LedgerSections(const v1::Memory& memory, const SourceList& sources);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_MEMORY_TABLES_H_
