// The memory of pipeline stages as tables: a line a stage, and their ledgers.
#ifndef SEXTANT_CLIENT_REPORT_MEMORY_TABLES_H_
#define SEXTANT_CLIENT_REPORT_MEMORY_TABLES_H_

#include <string>

#include "client/report/rates_text.h"
#include "client/text/sources.h"
#include "sextant/v1/memory.pb.h"

namespace sextant::client {

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
