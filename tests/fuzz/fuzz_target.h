// Common to all fuzz targets: libFuzzer's names, and the way to report a fault.
#ifndef SEXTANT_TESTS_FUZZ_FUZZ_TARGET_H_
#define SEXTANT_TESTS_FUZZ_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" {
// The target: aborts where `data` shows a fault.
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
// Optional: changes the input of `size` bytes in place to one of `max_size` at most, whose size it
// returns; the same for the same `seed`.
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed);
// libFuzzer's own changes, for such a mutator.
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
}

namespace sextant {

// Aborts with `fault` unless `holds`.
inline void Require(bool holds, const std::string& fault) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", fault.c_str());
  std::abort();
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_FUZZ_FUZZ_TARGET_H_
