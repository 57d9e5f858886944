// The ledgers of a memory estimate.
#ifndef SEXTANT_CLIENT_MEMORY_LEDGER_TEXT_H_
#define SEXTANT_CLIENT_MEMORY_LEDGER_TEXT_H_

#include <string>

#include "sextant/v1/memory.pb.h"

namespace sextant {

// A section a stage, or run of equal ones: each row in bytes, a sum a kind, and their sum. Below
// the last one the notes that rows refer to: when they are there, what for, and where the formula
// comes from. "" where the answer has no ledger.
std::string LedgerSections(const v1::MemoryEstimate& estimate);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_MEMORY_LEDGER_TEXT_H_
