// What each GPU of one pipeline stage holds at the stage's peak, in sums.
#ifndef SEXTANT_ENGINE_MEMORY_LEDGER_STAGE_MEMORY_H_
#define SEXTANT_ENGINE_MEMORY_LEDGER_STAGE_MEMORY_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/base/checked_math.h"
#include "engine/base/units.h"
#include "engine/memory/ledger/job_spec.h"
#include "engine/memory/ledger_row.h"
#include "engine/memory/schedule/in_flight_moment.h"

namespace sextant {

enum class PeakMoment { kForward, kLoss, kHeadBackward, kLayerBackward, kOptimizerStep };
inline constexpr int kPeakMomentCount = 5;

// "forward", "loss", "head_backward", "layer_backward", "optimizer_step".
absl::string_view PeakMomentName(PeakMoment moment);

struct StageMemory {
  PeakMoment moment = PeakMoment::kForward;
  InFlightMoment in_flight;                    // at that moment
  std::array<Bytes, kLedgerKindCount> sums{};  // the reserve at its expected size
  Bytes host = Bytes(0);                       // of state in host memory
  BytesInterval allocated = {};                // what the framework's allocator hands out
  BytesInterval reserved = {};                 // what it has taken from the driver
  BytesInterval process = {};                  // what the device reports of the process

  // Micro-batches whose activations of `chunk` are held, if only for their weights' gradients.
  int64_t InFlightOf(int64_t chunk) const {
    return in_flight.Held(chunk) + in_flight.AwaitingWeightGradient(chunk);
  }
  // What `sums` add up to, with or without the reserve.
  CheckedInt counted() const {
    CheckedInt out = 0;
    for (const Bytes sum : sums) out = out + sum.value();
    return out;
  }
  Bytes of(LedgerKind kind) const { return sums[static_cast<size_t>(kind)]; }
  Bytes total() const { return process.expected; }  // exactly what `sums` add up to
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_LEDGER_STAGE_MEMORY_H_
