// Stages whose transients tests ask for.
#ifndef SEXTANT_TESTS_ENGINE_MEMORY_TRANSIENTS_TRANSIENT_CASES_H_
#define SEXTANT_TESTS_ENGINE_MEMORY_TRANSIENTS_TRANSIENT_CASES_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/memory/transients/stage_transients.h"
#include "tests/engine/memory/activations/activation_cases.h"

namespace sextant {

// A case, and its frameworks' memory in addition to tensors.
struct TransientCase {
  ActivationCase base = {};
  BufferSpec buffers = {};
  DataType gradient_data_type = DataType::kBf16;
  bool head_placeholder = false;
  const GradientFlow* flow = nullptr;

  // Calls `ask` with the transient context and what `stage` keeps.
  template <typename Ask>
  auto With(int64_t stage, const Ask& ask) const {
    const LayerPlacement placement(base.spec, base.layout);
    const ActivationContext activations = {base.spec, base.layout, base.batch, flow};
    const TransientContext context = {activations, placement, buffers, gradient_data_type,
                                      head_placeholder};
    return ask(context, *ChunkActivations(activations, placement, {.stage = stage}));
  }

  StageTransients Of(int64_t stage = 0) const {
    return With(stage, [&](const TransientContext& context, const StageParts& kept) {
      return *StageTransientsOf(context, stage, kept);
    });
  }

  LedgerRows Rows(StagePhase phase, int64_t stage = 0) const {
    return With(stage, [&](const TransientContext& context, const StageParts& kept) {
      LedgerRows rows;
      AppendTransientRows(context, stage, phase, kept, rows);
      return rows;
    });
  }

  int64_t Added(StagePhase phase, int64_t stage = 0) const {
    return Of(stage).At(phase).added.value();
  }
  int64_t Freed(StagePhase phase, int64_t stage = 0) const {
    return Of(stage).At(phase).freed.value();
  }

  std::map<std::string, int64_t> ByName(StagePhase phase, int64_t stage = 0) const {
    std::map<std::string, int64_t> out;
    for (const LedgerRow& row : Rows(phase, stage)) {
      out[absl::StrCat(row.module, ".", row.name)] += row.size.value();
    }
    return out;
  }
};

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_MEMORY_TRANSIENTS_TRANSIENT_CASES_H_
