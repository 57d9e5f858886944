#include "engine/memory/ledger/stage_memory.h"

namespace sextant {

absl::string_view PeakMomentName(PeakMoment moment) {
  constexpr absl::string_view kNames[] = {"forward", "loss", "head_backward", "layer_backward",
                                          "optimizer_step"};
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == kPeakMomentCount);
  return kNames[static_cast<size_t>(moment)];
}

}  // namespace sextant
