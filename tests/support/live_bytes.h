// Counts the bytes that the program it is linked into has allocated with `new`.
#ifndef SEXTANT_TESTS_SUPPORT_LIVE_BYTES_H_
#define SEXTANT_TESTS_SUPPORT_LIVE_BYTES_H_

#include <cstdint>

namespace sextant {

// Allocated and not freed, on all threads; as the allocator rounds them up.
int64_t LiveBytes();

// The most that LiveBytes() was since ResetPeakBytes().
int64_t PeakBytes();
void ResetPeakBytes();

}  // namespace sextant

#endif  // SEXTANT_TESTS_SUPPORT_LIVE_BYTES_H_
