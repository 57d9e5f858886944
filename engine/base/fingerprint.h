// A short name for a set of numbers.
#ifndef SEXTANT_ENGINE_BASE_FINGERPRINT_H_
#define SEXTANT_ENGINE_BASE_FINGERPRINT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace sextant {

// FNV-1a, 64 bits, of all that is added, but for AddLong(): the same on every machine and in
// every version, which absl::Hash by design is not. Not for security.
// Sources: Fowler, Noll, Vo; draft-eastlake-fnv, offset basis and prime for 64 bits; for AddLong()
// the round of XXH64 with its first two primes, in one lane from FNV's offset basis.
class Fingerprint {
 public:
  // Each addition is told apart from its neighbours: Add("ab") is not Add("a"), Add("b").
  void Add(absl::string_view text);
  // Add() for kilobytes: eight bytes at a step, several times as fast, and another value.
  void AddLong(absl::string_view bytes);
  // The double's bits; -0 is not 0, which no rate is.
  void Add(double value);

  // 16 hexadecimal digits.
  std::string ToString() const;

 private:
  void AddByte(unsigned char byte);
  void AddWord(uint64_t word);

  uint64_t hash_ = 14695981039346656037u;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_BASE_FINGERPRINT_H_
