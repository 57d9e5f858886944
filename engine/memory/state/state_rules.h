// What is kept of every tensor of a model, whichever stage has it.
#ifndef SEXTANT_ENGINE_MEMORY_STATE_STATE_RULES_H_
#define SEXTANT_ENGINE_MEMORY_STATE_STATE_RULES_H_

#include <cstdint>

#include "engine/memory/state/state_ranks.h"
#include "engine/memory/state/state_spec.h"
#include "engine/memory/state/term_rule.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/sharding/parallel_layout.h"
#include "engine/model/sharding/sharded_weights.h"

namespace sextant {

// A model under a layout, and how its state is kept, all checked (CheckStateSpec()). `weights` are
// those of `spec` under `layout`.
struct StageStateContext {
  const ArchitectureSpec& spec;
  const ParallelLayout& layout;
  const ShardedWeights& weights;
  const StateSpec& state;
  int64_t context_parallel_size = 1;
};

struct StateRules {
  StateRanks ranks;
  TermRule weight;
  TermRules trained;
  bool scales_fp8 = false;    // weights are in 8 bits, and have scales
  bool all_plain = true;      // IsPlain() of all that is trained
  bool by_scope = false;      // some are of hidden matrices alone, or of all else
  bool only_numbers = false;  // no term asks what a tensor is, but for how many numbers it has
};

// Whether a number of the tensor is a number of the term, whole bytes of its own.
inline bool IsPlain(const TermRule& rule) {
  return rule.shape == BufferShape::kElements && rule.block_size == 0;
}

StateRules StateRulesOf(const StageStateContext& context);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_STATE_STATE_RULES_H_
