// Counts every allocation of the program that it is linked into.
#ifndef SEXTANT_TESTS_ENGINE_MODEL_FLOPS_COUNTING_ALLOCATOR_H_
#define SEXTANT_TESTS_ENGINE_MODEL_FLOPS_COUNTING_ALLOCATOR_H_

#include <cstdint>

namespace sextant {

// Since the program began.
int64_t AllocationCount();

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_MODEL_FLOPS_COUNTING_ALLOCATOR_H_
