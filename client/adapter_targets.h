// What low-rank adapters stand beside where only their rank was said.
#ifndef SEXTANT_CLIENT_ADAPTER_TARGETS_H_
#define SEXTANT_CLIENT_ADAPTER_TARGETS_H_

#include <string>

#include "client/call_error.h"
#include "sextant/v1/model.pb.h"

namespace sextant {

// Adds the queries' and values' matrices, unless the adapters of `changes` have targets.
void AddDefaultTargets(v1::ModelChanges* changes);

// What to do about an error that is of these targets, though the user may have given none; ""
// where `changes` has others, or the error is of something else.
std::string DefaultTargetsHint(const v1::ModelChanges& changes, const CallError& error);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_ADAPTER_TARGETS_H_
