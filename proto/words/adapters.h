// The matrices that low-rank adapters are on where their user names none.
#ifndef SEXTANT_PROTO_WORDS_ADAPTERS_H_
#define SEXTANT_PROTO_WORDS_ADAPTERS_H_

#include <array>

#include "sextant/v1/model.pb.h"

namespace sextant::words {

// Source: Hu et al. 2021 (arXiv 2106.09685), whose experiments mostly adapt these two; from memory.
inline constexpr std::array<const char*, 2> kDefaultTargets = {"attention.query",
                                                               "attention.value"};

// Adds the default targets to low-rank adapters in `changes`, unless they have targets.
inline void AddDefaultTargets(v1::ModelChanges* changes) {
  v1::ModelChanges::Adapters* adapters = changes->mutable_adapters();
  if (!adapters->targets().empty()) return;
  for (const char* target : kDefaultTargets) adapters->add_targets(target);
}

}  // namespace sextant::words

#endif  // SEXTANT_PROTO_WORDS_ADAPTERS_H_
