// What low-rank adapters stand beside where only their rank was said.
#ifndef SEXTANT_CLIENT_ADAPTER_TARGETS_H_
#define SEXTANT_CLIENT_ADAPTER_TARGETS_H_

#include "sextant/v1/model.pb.h"

namespace sextant {

// Adds the queries' and values' matrices, unless the adapters of `changes` have targets.
void AddDefaultTargets(v1::ModelChanges* changes);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_ADAPTER_TARGETS_H_
