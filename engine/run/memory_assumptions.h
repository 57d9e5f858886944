// What the memory of a plan takes for granted.
#ifndef SEXTANT_ENGINE_RUN_MEMORY_ASSUMPTIONS_H_
#define SEXTANT_ENGINE_RUN_MEMORY_ASSUMPTIONS_H_

#include <string>
#include <vector>

#include "engine/run/resolve.h"
#include "engine/run/run_spec.h"

namespace sextant {

// Appends sentences about the memory of `run` to `out`.
void AddMemoryAssumptions(const RunSpec& run, const ResolvedRun& resolved,
                          std::vector<std::string>& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_MEMORY_ASSUMPTIONS_H_
