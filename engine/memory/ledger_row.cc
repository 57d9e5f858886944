#include "engine/memory/ledger_row.h"

namespace sextant {

absl::string_view LedgerKindName(LedgerKind kind) {
  constexpr absl::string_view kNames[] = {
      "weight",     "gradient",  "master_weight",        "optimizer_state",
      "activation", "transient", "communication_buffer", "framework_reserve"};
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == kLedgerKindCount);
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace sextant
