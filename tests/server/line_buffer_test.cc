#include "server/line_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> WholeLines(LineBuffer& buffer) {
  std::vector<std::string> out;
  while (const auto line = buffer.Next()) out.push_back(*line);
  return out;
}

TEST(LineBuffer, IsTheSameHoweverTheBytesArrive) {
  const std::string bytes("one\r\n\ntwo\0three\n\r\nfo\rur\nrest", 28);
  const std::vector<std::string> lines = {"one", "", std::string("two\0three", 9), "", "fo\rur"};
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    LineBuffer buffer;
    std::vector<std::string> found;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      buffer.Add(bytes.substr(at, piece));
      for (std::string& line : WholeLines(buffer)) found.push_back(line);
    }
    EXPECT_EQ(found, lines) << "in pieces of " << piece;
    EXPECT_EQ(buffer.rest(), "rest");
  }
}

TEST(LineBuffer, HasNothingAtFirst) {
  LineBuffer buffer;
  EXPECT_THAT(WholeLines(buffer), IsEmpty());
  EXPECT_EQ(buffer.rest(), "");
  buffer.Add("\n");
  EXPECT_THAT(WholeLines(buffer), ElementsAre(""));
}

}  // namespace
}  // namespace sextant
