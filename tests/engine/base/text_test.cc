#include "engine/base/text.h"

#include <gtest/gtest.h>

#include <string>

namespace sextant {
namespace {

// Source: The Unicode Standard, table 3-7; the first and last of each row, and their neighbours.
TEST(Utf8Length, IsThatOfWellFormedCharactersAlone) {
  const struct {
    const char* bytes;
    size_t length;
  } rows[] = {
      {"", 0},
      {"a", 1},
      {"\x7f", 1},
      {"\xc2\x80", 2},
      {"\xdf\xbf", 2},
      {"\xe0\xa0\x80", 3},
      {"\xed\x9f\xbf", 3},
      {"\xee\x80\x80", 3},
      {"\xef\xbf\xbf", 3},
      {"\xf0\x90\x80\x80", 4},
      {"\xf4\x8f\xbf\xbf", 4},
      // Continuations, overlong forms, surrogates, above U+10FFFF, cut characters.
      {"\x80", 0},
      {"\xbf"
       "a",
       0},
      {"\xc0\x80", 0},
      {"\xc1\xbf", 0},
      {"\xe0\x9f\xbf", 0},
      {"\xed\xa0\x80", 0},
      {"\xed\xbf\xbf", 0},
      {"\xf0\x8f\xbf\xbf", 0},
      {"\xf4\x90\x80\x80", 0},
      {"\xf5\x80\x80\x80", 0},
      {"\xff", 0},
      {"\xc2", 0},
      {"\xe2\x82", 0},
      {"\xf0\x9f\x98", 0},
      {"\xc2"
       "a",
       0},
      {"\xe2\x82"
       "a",
       0},
      {"\xf0\x9f\x98"
       "a",
       0},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(Utf8Length(row.bytes), row.length) << Escaped(row.bytes);
    EXPECT_EQ(Utf8Length(std::string(row.bytes) + "rest"), row.bytes[0] == '\0' ? 1 : row.length)
        << Escaped(row.bytes);
  }
}

TEST(Escaped, IsUtf8OnOneLine) {
  EXPECT_EQ(Escaped("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\\"),
            "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\\");
  EXPECT_EQ(Escaped("\xc2\x80\xc2\x9f\xc2\xa0"), "\\xc2\\x80\\xc2\\x9f\xc2\xa0");
  EXPECT_EQ(Escaped("\n\x1b\x7f"), "\\n\\x1b\\x7f");
  EXPECT_EQ(Escaped("\xff"
                    "a\xe2\x82"),
            "\\xff"
            "a\\xe2\\x82");
}

}  // namespace
}  // namespace sextant
