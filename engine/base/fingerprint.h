// A short identifier of a set of values.
#ifndef SEXTANT_ENGINE_BASE_FINGERPRINT_H_
#define SEXTANT_ENGINE_BASE_FINGERPRINT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace sextant {

// FNV-1a, 64 bits, of everything added, except by AddLong(). The same on every machine and in
// every version, unlike absl::Hash. Not for security. Sources: Fowler, Noll, Vo;
// draft-eastlake-fnv, offset basis and prime for 64 bits; AddLong() is the round of XXH64 with its
// first two primes, in one lane from FNV's offset basis.
class Fingerprint {
 public:
  // Additions are delimited: Add("ab") differs from Add("a"), Add("b").
  void Add(absl::string_view text);
  // Like Add(): eight bytes per step, several times faster, with another result.
  void AddLong(absl::string_view bytes);
  // Adds the double's bits; -0 differs from 0, but no rate is -0.
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
