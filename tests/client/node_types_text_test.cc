#include "client/node_types_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "client/table.h"
#include "tests/client/sample_links.h"

namespace sextant {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(NodeTypeTable, HasALineForEachInGigabytes) {
  const std::string text = NodeTypeTable(SampleNodeTypes());
  EXPECT_THAT(text, HasSubstr("toy-8            8  450.0  31.5     50.0  yes      toy-a, toy-b\n"));
  EXPECT_THAT(text, HasSubstr("toy-board        4  300.0     -        -  no       toy-a\n"));
  EXPECT_THAT(text, HasSubstr("toy-net  25.0  Toy Net, 200 Gb/s\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("one direction"), HasSubstr("1 GB = 1e9 bytes")));
}

TEST(NodeTypeSources, HaveASourceForEachFigure) {
  const std::string text = NodeTypeSources(SampleNodeTypes());
  for (const char* part :
       {"toy-8: A Toy of Eight, with toy-a, toy-b, joined by ToyLink 3, whose switch adds up",
        "counted", "450.00 GB/s  a sheet <1>", "31.50 GB/s  a sheet 2", "50.00 GB/s  a sheet 3",
        "note: not for sale", "300.00 GB/s  a sheet 4", "Toy Net, 200 Gb/s  its name"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  v1::ListNodeTypesResponse board = SampleNodeTypes();
  board.mutable_node_types()->DeleteSubrange(0, 1);
  EXPECT_THAT(NodeTypeSources(board),
              AllOf(Not(HasSubstr("host")), Not(HasSubstr("adds up")), Not(HasSubstr("toy-net"))));
}

TEST(NodeTypes, StayWithinTheWidth) {
  for (const std::string& text :
       {NodeTypeTable(SampleNodeTypes()), NodeTypeSources(SampleNodeTypes())}) {
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
      EXPECT_LE(line.size(), kTextWidth) << line;
    }
  }
}

}  // namespace
}  // namespace sextant
