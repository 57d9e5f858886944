// A naive training step that allocates and frees: every array is counted by who still holds it,
// as a framework does, and the heap notes when it was fullest.
#ifndef SEXTANT_TESTS_ENGINE_OPERATION_NAIVE_MEMORY_H_
#define SEXTANT_TESTS_ENGINE_OPERATION_NAIVE_MEMORY_H_

#include <cstdint>
#include <map>
#include <string>

#include "engine/operation/graph.h"

namespace sextant::naive {

struct MemoryTally {
  int64_t peak_bytes = 0;
  std::string peak_moment;
  int64_t saved_bytes = 0;  // kept at the end of the forward pass, parameters left out
  int64_t recomputed_operations = 0;
};

// For graphs that RandomGraphs makes, with the shapes of all their tensors.
MemoryTally SimulateStep(const GraphSpec& spec, const std::map<std::string, Shape>& shapes,
                         bool checkpointed);

}  // namespace sextant::naive

#endif  // SEXTANT_TESTS_ENGINE_OPERATION_NAIVE_MEMORY_H_
