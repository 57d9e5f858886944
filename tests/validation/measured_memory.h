// A published figure of memory.
#ifndef SEXTANT_TESTS_VALIDATION_MEASURED_MEMORY_H_
#define SEXTANT_TESTS_VALIDATION_MEASURED_MEMORY_H_

#include "engine/base/units.h"

namespace sextant {

// The quantity of a figure. Figures of two definitions are never in one statistic.
enum class MemoryDefinition {
  kAllocated,   // the most that the framework's allocator had handed out
  kReserved,    // the most that it had taken from the driver
  kProcess,     // what nvidia-smi or the like shows: reserved, context and communicators
  kCalculated,  // no measurement: the source's own arithmetic
};

struct MeasuredMemory {
  MemoryDefinition definition = MemoryDefinition::kAllocated;
  Bytes size = Bytes(0);
};

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_MEASURED_MEMORY_H_
