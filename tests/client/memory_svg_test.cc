#include "client/chart/memory_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/client/sample_memory.h"
#include "tests/client/svg_texts.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;

struct Area {
  double x, y, width, height;
  std::string fill;
};

std::vector<Area> AreasOf(const std::string& svg) {
  const std::regex element(
      "<rect x=\"([-0-9.]+)\" y=\"([-0-9.]+)\" width=\"([-0-9.]+)\" height=\"([-0-9.]+)\" "
      "fill=\"([^\"]+)\"");
  std::vector<Area> areas;
  for (auto i = std::sregex_iterator(svg.begin(), svg.end(), element); i != std::sregex_iterator();
       ++i) {
    areas.push_back(
        {std::stod((*i)[1]), std::stod((*i)[2]), std::stod((*i)[3]), std::stod((*i)[4]), (*i)[5]});
  }
  return areas;
}

TEST(MemorySvg, NamesEverythingWithItsUnit) {
  const std::string svg = MemorySvg(SampleMemory().plan());
  for (const char* text :
       {">Memory of each GPU: toy, 16 x h100-sxm<",
        ">FITS: 42.00 GiB (41.00 to 44.00) of 80.00 GiB usable on stage 0, which holds the most<",
        ">memory at the stage&apos;s peak (GiB)<",
        ">usable 80.00 GiB<",
        ">stage<",
        ">GiB<",
        ">0<",
        ">1-2<",
        ">3<",
        ">42.00<",
        ">37.00<",
        ">41.50<",
        ">80<",
        ">Stage 0 holds:<",
        ">weights: 8.00 GiB<",
        ">gradients: 16.00 GiB<",
        ">master weights: 4.00 GiB<",
        ">optimizer state: 8.00 GiB<",
        ">activations: 2.00 GiB<",
        ">transients: 1.00 GiB<",
        ">communication buffers: 0.50 GiB<",
        ">framework reserve: 2.50 GiB<",
        ">from the low to the high end of what is estimated: 41.00 to 44.00 GiB<"}) {
    EXPECT_THAT(svg, HasSubstr(text));
  }
}

// The axis is 696 pixels for 80 GiB, from x = 104: 8.7 a GiB. Stage 0 has all eight kinds.
TEST(MemorySvg, DrawsBarsToScale) {
  const std::vector<Area> areas = AreasOf(MemorySvg(SampleMemory().plan()));
  const double ends[] = {8, 24, 28, 36, 38, 39, 39.5, 42};
  double left = 104;
  std::vector<Area> colored;
  for (const Area& area : areas) {
    if (area.fill[0] == '#') colored.push_back(area);
  }
  ASSERT_EQ(colored.size(), 8u + 8u + 8u + 8u);  // three bars and the legend
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(colored[i].x, left, 0.11) << i;
    EXPECT_NEAR(colored[i].x + colored[i].width, 104 + 8.7 * ends[i], 0.11) << i;
    left = colored[i].x + colored[i].width;
    EXPECT_EQ(colored[i].fill, colored[24 + i].fill) << i;  // as the legend has it
  }
}

// Told apart without colour: each kind but one has a hatching of its own.
TEST(MemorySvg, HatchesEachKindAnotherWay) {
  std::set<std::string> hatches;
  for (const Area& area : AreasOf(MemorySvg(SampleMemory().plan()))) {
    if (area.fill[0] != '#') hatches.insert(area.fill);
  }
  EXPECT_EQ(hatches.size(), 7u);
}

TEST(MemorySvg, IsLegible) {
  for (const int count : {1, 4, 9, 16, 64, 65, 200, 4096}) {
    v1::PlanRunResponse response = SampleOfStages(count);
    ExpectLegible(MemorySvg(response.plan()), absl::StrCat(count, " stages"), 900);
  }
}

// Wherever the line of what is usable falls.
TEST(MemorySvg, IsLegibleOnAnyDevice) {
  for (const int64_t usable : {0, 1, 5, 20, 40, 43, 44, 45, 60, 80, 1000, 100'000}) {
    const v1::PlanRunResponse response = SampleMemoryOn(usable, v1::VERDICT_DOES_NOT_FIT);
    ExpectLegible(MemorySvg(response.plan()), absl::StrCat("usable ", usable), 900);
  }
}

TEST(MemorySvg, CutsATitleThatIsTooLong) {
  v1::PlanRunResponse response = SampleMemory();
  response.mutable_plan()->set_device(std::string(200, 'W'));
  const std::string svg = MemorySvg(response.plan());
  EXPECT_THAT(svg, HasSubstr("WWW...<"));
}

}  // namespace
}  // namespace sextant::client
