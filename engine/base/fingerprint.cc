#include "engine/base/fingerprint.h"

#include <bit>

#include "absl/strings/str_cat.h"

namespace sextant {

void Fingerprint::AddByte(unsigned char byte) {
  hash_ ^= byte;
  hash_ *= 1099511628211u;
}

// One-to-one in `hash_` and in `word`.
void Fingerprint::AddWord(uint64_t word) {
  hash_ = std::rotl(hash_ + word * 0xc2b2ae3d27d4eb4fu, 31) * 0x9e3779b185ebca87u;
}

void Fingerprint::AddLong(absl::string_view bytes) {
  constexpr size_t kWordBytes = sizeof(uint64_t);
  for (; bytes.size() >= kWordBytes; bytes.remove_prefix(kWordBytes)) {
    uint64_t word = 0;  // little-endian on every machine
    for (size_t i = 0; i < kWordBytes; ++i) {
      word |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    }
    AddWord(word);
  }
  Add(bytes);
}

void Fingerprint::Add(absl::string_view text) {
  for (const char c : text) AddByte(static_cast<unsigned char>(c));
  AddByte(0xff);  // occurs in no UTF-8 text
}

void Fingerprint::Add(double value) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  for (int shift = 0; shift < 64; shift += 8) AddByte(static_cast<unsigned char>(bits >> shift));
}

std::string Fingerprint::ToString() const {
  return absl::StrCat(absl::Hex(hash_, absl::kZeroPad16));
}

}  // namespace sextant
