#include "engine/base/utc_text.h"

#include <gtest/gtest.h>

namespace sextant {
namespace {

// `date -u -d @SECONDS` gives the same.
TEST(UtcText, IsIso8601) {
  EXPECT_EQ(UtcText(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(UtcText(951'782'399), "2000-02-28T23:59:59Z");
  EXPECT_EQ(UtcText(951'782'400), "2000-02-29T00:00:00Z");  // a leap year, unlike 2100
  EXPECT_EQ(UtcText(4'107'542'400), "2100-03-01T00:00:00Z");
  EXPECT_EQ(UtcText(253'402'300'799), "9999-12-31T23:59:59Z");
  EXPECT_EQ(UtcText(-1), "1969-12-31T23:59:59Z");
}

}  // namespace
}  // namespace sextant
