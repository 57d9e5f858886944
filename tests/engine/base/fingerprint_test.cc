#include "engine/base/fingerprint.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace sextant {
namespace {

TEST(Fingerprint, OfNothingIsTheOffsetBasis) {
  EXPECT_EQ(Fingerprint().ToString(), "cbf29ce484222325");
}

// FNV-1a's published test vector for "a" is af63dc4c8601ec8c; the separator 0xff follows:
// (0xaf63dc4c8601ec8c ^ 0xff) * 0x100000001b3 mod 2^64, computed in Python.
TEST(Fingerprint, OfTextIsFnv1a) {
  Fingerprint fingerprint;
  fingerprint.Add("a");
  EXPECT_EQ(fingerprint.ToString(), "089bc907b544c769");
}

TEST(Fingerprint, TellsNeighboursApart) {
  Fingerprint joined;
  joined.Add("ab");
  Fingerprint split;
  split.Add("a");
  split.Add("b");
  EXPECT_NE(joined.ToString(), split.ToString());
}

std::string OfLong(const std::string& bytes) {
  Fingerprint fingerprint;
  fingerprint.AddLong(bytes);
  return fingerprint.ToString();
}

// Worked out in Python from the same definition: rotl(h + w * 0xc2b2ae3d27d4eb4f, 31) *
// 0x9e3779b185ebca87 mod 2^64, w being the eight letters little-endian; then "i" and 0xff by
// FNV-1a.
TEST(Fingerprint, OfLongIsTheSameOnEveryMachine) {
  EXPECT_EQ(OfLong("abcdefgh"), "449a2adbe12fb337");
  EXPECT_EQ(OfLong("abcdefghi"), "c38c9b9fa5a7821a");
  EXPECT_EQ(OfLong(""), "af64724c8602eb6e");
}

TEST(Fingerprint, SeesEveryBitOfLongBytes) {
  const std::string bytes(37, 'x');
  std::set<std::string> seen = {OfLong(bytes), OfLong(bytes + 'x'), OfLong(bytes.substr(1))};
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      seen.insert(OfLong(changed));
      // And together with a change of the same bit in the word before, which must not undo it.
      if (i >= 8) changed[i - 8] = static_cast<char>(changed[i - 8] ^ (1 << bit));
      if (i >= 8) seen.insert(OfLong(changed));
    }
  }
  EXPECT_EQ(seen.size(), 3 + 37 * 8 + 29 * 8u);
}

TEST(Fingerprint, SeesTheLastBitOfADouble) {
  Fingerprint a;
  a.Add(989.4e12);
  Fingerprint b;
  b.Add(989.4e12 + 0.125);
  EXPECT_NE(a.ToString(), b.ToString());
}

}  // namespace
}  // namespace sextant
