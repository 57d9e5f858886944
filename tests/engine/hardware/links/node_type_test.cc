#include "engine/hardware/links/node_type.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/links/network.h"
#include "engine/hardware/reference/reference_collectives.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const NodeType& Known(absl::string_view name) {
  const auto found = FindNodeType(name);
  EXPECT_THAT(found, IsOk()) << name;
  return **found;
}

TEST(FindNodeType, TakesKeysAndProductNames) {
  EXPECT_EQ(Known("dgx-h100").name, "dgx-h100");
  EXPECT_EQ(Known("NVIDIA DGX H100").name, "dgx-h100");
  EXPECT_EQ(Known("GB200_NVL72").name, "gb200-nvl72");
}

TEST(FindNodeType, NamesNearOnesForOthers) {
  const auto found = FindNodeType("dgx-h10");
  EXPECT_THAT(found, Fails(absl::StatusCode::kNotFound, "NODE_TYPE_UNKNOWN"));
  EXPECT_THAT(std::string(found.status().message()), HasSubstr("dgx-h100"));
  EXPECT_THAT(FindNodeType("h100"), Fails(absl::StatusCode::kNotFound, "NODE_TYPE_UNKNOWN"));
  EXPECT_THAT(FindNodeType(""), Fails(absl::StatusCode::kNotFound, "NODE_TYPE_UNKNOWN"));
}

// Datasheets print NVLink both ways added up: 600, 900, 1800 GB/s; networks in bits: 200, 400.
TEST(NodeTypes, HaveTheirDatasheetsFigures) {
  EXPECT_EQ(Known("dgx-a100").link_rate.value, 300e9);
  EXPECT_EQ(Known("dgx-h100").link_rate.value, 450e9);
  EXPECT_EQ(Known("dgx-b200").link_rate.value, 900e9);
  EXPECT_EQ(Known("dgx-a100").network_rate.value, 25e9);
  EXPECT_EQ(Known("dgx-h200").network_rate.value, 50e9);
  EXPECT_EQ(Known("gb200-nvl72").device_count, 72);
  EXPECT_EQ(Known("dgx-b200").device_count, 8);
  EXPECT_FALSE(Known("dgx-a100").switch_reduces);
  EXPECT_TRUE(Known("dgx-h100").switch_reduces);
}

TEST(NodeTypes, OfABoardSayNoNetwork) {
  for (const char* name : {"hgx-a100", "hgx-h100", "hgx-h200", "hgx-b200", "pcie-gen4"}) {
    EXPECT_FALSE(Known(name).network_rate) << name;
  }
}

// The accelerators' own datasheets say the same of NVLink and of PCIe's generation.
TEST(NodeTypes, AgreeWithTheirAccelerators) {
  std::set<std::string> names;
  for (const NodeType& node : NodeTypes()) {
    EXPECT_TRUE(names.emplace(node.name).second) << node.name;
    EXPECT_GE(node.device_count, 1) << node.name;
    EXPECT_GT(node.link_rate.value, 0) << node.name;
    EXPECT_FALSE(node.accelerators.empty()) << node.name;
    for (const absl::string_view name : node.accelerators) {
      const Accelerator* const accelerator = AcceleratorNamed(name);
      ASSERT_NE(accelerator, nullptr) << name;
      EXPECT_EQ(accelerator->name, name);
      if (absl::StrContains(node.link, "NVLink")) {
        EXPECT_EQ(accelerator->link_bandwidth_bytes_per_second.value, node.link_rate.value) << name;
      } else {
        EXPECT_THAT(std::string(node.link),
                    HasSubstr(std::to_string(int(accelerator->pcie_generation.value))))
            << name;
      }
    }
  }
}

TEST(NodeTypes, NameTablesOfCollectivesThatExist) {
  for (const NodeType& node : NodeTypes()) {
    if (node.collectives.empty()) continue;
    EXPECT_NE(ReferenceCollectives(node.collectives), nullptr) << node.name;
    EXPECT_TRUE(Holds(node, node.collectives)) << node.name;
  }
}

TEST(NodeTypesOf, AreThoseThatHoldIt) {
  ASSERT_EQ(NodeTypesOf("h100-sxm").size(), 2u);
  EXPECT_EQ(NodeTypesOf("h100-sxm")[0]->name, "dgx-h100");
  EXPECT_THAT(NodeTypesOf("mi300x"), IsEmpty());
}

TEST(SourceOf, SaysWhatIsFromMemory) {
  EXPECT_THAT(SourceOf(Known("dgx-h100").network_rate), HasSubstr("docs.nvidia.com"));
  EXPECT_THAT(SourceOf(Known("gb200-nvl72").network_rate), HasSubstr("from memory"));
}

TEST(ResolveNetwork, TakesTheTypesOwn) {
  const auto network = ResolveNetwork(Known("dgx-h100"), 2, {});
  ASSERT_THAT(network, IsOk());
  EXPECT_EQ(network->bytes_per_second, 50e9);
  EXPECT_THAT(network->citation, HasSubstr("dgx-h100"));
}

TEST(ResolveNetwork, TakesWhatIsSaidBefore) {
  EXPECT_EQ(ResolveNetwork(Known("dgx-h100"), 2, {.name = "IB HDR"})->bytes_per_second, 25e9);
  EXPECT_EQ(ResolveNetwork(Known("hgx-h100"), 2, {.bytes_per_second = 12.5e9})->bytes_per_second,
            12.5e9);
}

TEST(ResolveNetwork, NeverGuesses) {
  const auto network = ResolveNetwork(Known("hgx-h100"), 4, {});
  EXPECT_THAT(network, NamesFields(ElementsAre("network")));
  EXPECT_THAT(std::string(network.status().message()),
              AllOf(HasSubstr("4 nodes of type hgx-h100"), HasSubstr("ib-ndr"),
                    HasSubstr("bytes_per_second")));
}

TEST(ResolveNetwork, RefusesNonsense) {
  const NodeType& node = Known("hgx-h100");
  EXPECT_THAT(ResolveNetwork(node, 2, {.name = "ib-ndx"}),
              Fails(absl::StatusCode::kNotFound, "NETWORK_UNKNOWN"));
  EXPECT_THAT(ResolveNetwork(node, 2, {.name = "ib-ndr", .bytes_per_second = 1e9}),
              NamesFields(ElementsAre("network")));
  for (const double rate : {-1.0, 1.0, 1e20, HUGE_VAL}) {
    EXPECT_THAT(ResolveNetwork(node, 2, {.bytes_per_second = rate}),
                NamesFields(ElementsAre("network.bytes_per_second")));
  }
}

}  // namespace
}  // namespace sextant
