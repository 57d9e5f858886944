// The memory of each GPU of one pipeline stage at the stage's peak, in sums: the counted part, and
// the reserve, which is estimated.
#ifndef SEXTANT_ENGINE_MEMORY_LEDGER_STAGE_MEMORY_H_
#define SEXTANT_ENGINE_MEMORY_LEDGER_STAGE_MEMORY_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/base/checked_math.h"
#include "engine/base/units.h"
#include "engine/memory/ledger/memory_job.h"
#include "engine/memory/ledger_row.h"
#include "engine/memory/schedule/in_flight_point.h"

namespace sextant {

enum class PeakPhase { kForward, kLoss, kHeadBackward, kLayerBackward, kOptimizerStep };

struct StageMemory {
  PeakPhase phase = PeakPhase::kForward;
  InFlightPoint in_flight = {};                // in that phase
  std::array<Bytes, kLedgerKindCount> sums{};  // the reserve at its expected size
  Bytes host = Bytes(0);                       // of state in host memory
  Bytes step_cache = Bytes(0);                 // reserved for flat copies of the optimizer step
  BytesInterval allocated = {};                // handed out by the framework's allocator
  BytesInterval reserved = {};                 // taken from the driver by the allocator
  BytesInterval process = {};                  // the process's memory as the device reports it

  // Micro-batches with live activations of `chunk`, including those that only wait for weight
  // gradients.
  int64_t InFlightOf(int64_t chunk) const {
    return in_flight.Held(chunk) + in_flight.AwaitingWeightGradient(chunk);
  }
  // The sum of `sums`, with or without the reserve.
  CheckedInt counted() const {
    CheckedInt out = 0;
    for (const Bytes sum : sums) out = out + sum.value();
    return out;
  }
  Bytes of(LedgerKind kind) const { return sums[static_cast<size_t>(kind)]; }
  Bytes total() const { return process.expected; }  // exactly the sum of `sums`
};

// The memory of a stage's process, from the counted bytes.
struct ProcessMemory {
  BytesInterval allocated = {};
  BytesInterval reserved = {};
  BytesInterval process = {};
};
// As AddReserve() does, with its errors.
absl::StatusOr<ProcessMemory> ProcessMemoryOf(const ReserveSpec& reserve, CheckedInt counted,
                                              Bytes step_cache);

// Completes `memory`, which has all sums except the reserve's, with the reserve:
//
//   allocated = (counted + workspace) (1 + uncounted) + uncounted_bytes
//   reserved  = allocated (1 + fragmentation) + step_cache
//   process   = reserved + context + communicators
//
// as expected. Each is an 80 % interval. Errors of the terms are independent, so that the distances
// of an interval's ends from what is expected add up in squares.
//
// Errors: kInvalidArgument "layout" where a sum exceeds 9.2e18 bytes.
absl::StatusOr<StageMemory> AddReserve(const ReserveSpec& reserve, StageMemory memory);

// Appends the rows of the reserve of `memory`, at its expected size.
void AppendReserveRows(const ReserveSpec& reserve, const StageMemory& memory, LedgerRows& rows);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_LEDGER_STAGE_MEMORY_H_
