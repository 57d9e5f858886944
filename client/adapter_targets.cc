#include "client/adapter_targets.h"

namespace sextant {

// Source: Hu et al. 2021 (arXiv 2106.09685), whose experiments mostly adapt these two; from memory.
void AddDefaultTargets(v1::ModelChanges* changes) {
  v1::ModelChanges::Adapters* adapters = changes->mutable_adapters();
  if (!adapters->targets().empty()) return;
  adapters->add_targets("attention.query");
  adapters->add_targets("attention.value");
}

}  // namespace sextant
