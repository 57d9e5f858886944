#include "engine/hardware/links/node_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/links/network.h"
#include "engine/hardware/links/node_type.h"
#include "engine/hardware/links/usual_nodes.h"
#include "engine/hardware/reference/reference_collectives.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

NodeGroupRequest OfType(const std::string& name) { return {.node_type = name}; }

std::string Message(const NodeGroupRequest& request) {
  return std::string(ResolveNodes(request).status().message());
}

TEST(Nodes, AreOneWholeNodeUnlessTheRequestSaysMore) {
  const auto nodes = ResolveNodes(OfType("DGX H100"));
  ASSERT_THAT(nodes, IsOk());
  EXPECT_EQ(nodes->node->name, "dgx-h100");
  EXPECT_EQ(nodes->accelerator->name, "h100-sxm");
  EXPECT_EQ(nodes->group.node_count, 1);
  EXPECT_EQ(nodes->group.ranks_per_node, 8);
  EXPECT_FALSE(nodes->network.has_value());
}

// A DGX A100 comes with 40 or 80 GB cards: which is not said.
TEST(Nodes, OfSeveralAcceleratorsNameNone) {
  EXPECT_EQ(ResolveNodes(OfType("dgx-a100"))->accelerator, nullptr);
  const auto named = ResolveNodes({.node_type = "dgx-a100", .accelerator = "A100-SXM-40"});
  EXPECT_EQ(named->accelerator->name, "a100-sxm-40");
}

TEST(Nodes, AreTheOnlyTypeOfAnAccelerator) {
  const auto nodes = ResolveNodes({.accelerator = "gb200", .ranks_per_node = 72});
  ASSERT_THAT(nodes, IsOk());
  EXPECT_EQ(nodes->node->name, "gb200-nvl72");
  EXPECT_EQ(nodes->group.ranks(), 72);
}

// Each accelerator of the catalogue: its only type, or a refusal that names all of its types.
TEST(Nodes, OfAnAcceleratorAreItsOnlyTypeOrNone) {
  for (const Accelerator& a : Accelerators()) {
    const NodeGroupRequest request = {.accelerator = std::string(a.name)};
    const auto types = NodeTypesOf(a.name);
    const auto nodes = ResolveNodes(request);
    if (types.size() == 1) {
      ASSERT_THAT(nodes, IsOk()) << a.name;
      EXPECT_EQ(nodes->node, types[0]);
      continue;
    }
    EXPECT_THAT(nodes,
                NamesFields(ElementsAre(types.empty() ? "device.accelerator" : "node_type")));
    for (const NodeType* type : types) {
      EXPECT_THAT(Message(request), HasSubstr(std::string(type->name)));
    }
  }
}

TEST(Nodes, UseTheNetworkThatIsNamedOrTheTypesOwn) {
  const auto own = ResolveNodes({.node_type = "dgx-h100", .node_count = 2});
  ASSERT_THAT(own, IsOk());
  EXPECT_EQ(own->network->bytes_per_second, 50e9);  // 400 Gb/s
  EXPECT_THAT(own->network->citation, AllOf(HasSubstr("DGX BasePOD"), HasSubstr("dgx-h100")));
  const auto named =
      ResolveNodes({.node_type = "dgx-h100", .node_count = 2, .network = {.name = "IB HDR"}});
  EXPECT_EQ(named->network->bytes_per_second, 25e9);
  const auto given = ResolveNodes(
      {.node_type = "hgx-h100", .node_count = 2, .network = {.bytes_per_second = 12.5e9}});
  EXPECT_EQ(given->network->bytes_per_second, 12.5e9);
}

TEST(Nodes, OfOneUseNoNetwork) {
  const auto nodes = ResolveNodes({.node_type = "hgx-h100", .network = {.name = "ib-ndr"}});
  ASSERT_THAT(nodes, IsOk());
  EXPECT_FALSE(nodes->network.has_value());
}

TEST(Nodes, WithoutANetworkAreRefusedSayingWhatToWrite) {
  for (const NodeType& type : NodeTypes()) {
    const auto nodes = ResolveNodes({.node_type = std::string(type.name), .node_count = 1'000'000});
    if (type.network_rate) {
      EXPECT_THAT(nodes, IsOk()) << type.name;
      continue;
    }
    ASSERT_THAT(nodes, NamesFields(ElementsAre("network"))) << type.name;
    const std::string said = FieldViolationsOf(nodes.status())[0].description;
    EXPECT_THAT(said, AllOf(HasSubstr("ib-ndr"), HasSubstr("roce-800"), HasSubstr("bytes_per_")));
    EXPECT_LE(said.size(), 256u) << "longer than what an answer holds: " << said;
  }
}

TEST(Nodes, AllFaultsComeTogether) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(ResolveNodes({}), NamesFields(ElementsAre("node_type")));
  EXPECT_THAT(ResolveNodes({.node_type = "dgx-h100",
                            .accelerator = "a100-sxm-80",
                            .node_count = -1,
                            .ranks_per_node = 9,
                            .network = {.bytes_per_second = nan}}),
              NamesFields(ElementsAre("device.accelerator", "node_count", "ranks_per_node",
                                      "network.bytes_per_second")));
  EXPECT_THAT(ResolveNodes({.node_type = "hgx-h100",
                            .node_count = 1'000'001,
                            .ranks_per_node = -1,
                            .network = {.name = "ib-ndr", .bytes_per_second = 50e9}}),
              NamesFields(ElementsAre("node_count", "ranks_per_node", "network")));
  EXPECT_THAT(Message({.node_type = "dgx-h100", .ranks_per_node = 9}),
              HasSubstr("must be 1 to 8, the devices of a dgx-h100, not 9"));
}

// Other violations are found in spite of an unknown name, and are reported first.
TEST(Nodes, UnknownNamesAreNotFoundWithNearOnes) {
  EXPECT_THAT(ResolveNodes(OfType("dgx-h1000")),
              Fails(absl::StatusCode::kNotFound, "NODE_TYPE_UNKNOWN"));
  EXPECT_THAT(Message(OfType("dgx-h1000")), HasSubstr("dgx-h100"));
  EXPECT_THAT(ResolveNodes({.accelerator = "h1000"}),
              Fails(absl::StatusCode::kNotFound, "GPU_UNKNOWN"));
  const NodeGroupRequest network = {
      .node_type = "hgx-h100", .node_count = 2, .network = {.name = "ib-ndx"}};
  EXPECT_THAT(ResolveNodes(network), Fails(absl::StatusCode::kNotFound, "NETWORK_UNKNOWN"));
  EXPECT_THAT(Message(network), HasSubstr("ib-ndr"));
  NodeGroupRequest one = network;
  one.node_count = 1;
  EXPECT_THAT(ResolveNodes(one), Fails(absl::StatusCode::kNotFound, "NETWORK_UNKNOWN"));
  EXPECT_THAT(ResolveNodes({.node_type = "dgx-h1000", .ranks_per_node = -1}),
              NamesFields(ElementsAre("ranks_per_node")));
  EXPECT_THAT(ResolveNodes({.node_type = "dgx-h1000", .node_count = 2}),
              Fails(absl::StatusCode::kNotFound, "NODE_TYPE_UNKNOWN"));
}

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
      if (absl::StrContains(node.link, "NVLink") || absl::StrContains(node.link, "Infinity")) {
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
  EXPECT_THAT(NodeTypesOf("mi250x"), IsEmpty());
}

TEST(UsualNodeOf, IsTheVendorsOwnServerWhereThereIsOne) {
  const std::pair<const char*, const char*> kUsual[] = {
      {"a100-sxm-40", "dgx-a100"}, {"h100-sxm", "dgx-h100"},          {"h800-sxm", "hgx-h800"},
      {"gb200", "gb200-nvl72"},    {"mi300x", "mi300x-platform"},     {"a800-sxm-80", "hgx-a800"},
      {"l40s", "pcie-gen4-l40s"},  {"rtx-4090", "pcie-gen4-rtx-4090"}};
  for (const auto& [accelerator, node] : kUsual) {
    ASSERT_NE(UsualNodeOf(accelerator), nullptr) << accelerator;
    EXPECT_EQ(UsualNodeOf(accelerator)->name, node);
  }
  EXPECT_EQ(UsualNodeOf("mi250x"), nullptr);
}

// A type that is sold with a network usually has that one. Servers of PCIe cards have none, nor
// have those of one GH200.
TEST(UsualNetworkOf, IsTheNodesOwn) {
  for (const NodeType& node : NodeTypes()) {
    const NamedNetwork* const network = UsualNetworkOf(node);
    EXPECT_EQ(network == nullptr, absl::StartsWith(node.link, "PCIe") || node.device_count == 1)
        << node.name;
    if (network == nullptr || !node.network_rate) continue;
    EXPECT_EQ(network->bytes_per_second, node.network_rate.value) << node.name;
  }
  EXPECT_EQ(UsualNetworkOf(Known("hgx-h100"))->name, "ib-ndr");
  EXPECT_EQ(UsualNetworkOf(Known("hgx-a800"))->name, "ib-hdr");
}

TEST(SourceOf, SaysWhatIsFromMemory) {
  EXPECT_THAT(SourceOf(Known("dgx-h100").network_rate), HasSubstr("docs.nvidia.com"));
  EXPECT_THAT(SourceOf(Known("gb200-nvl72").network_rate), HasSubstr("from memory"));
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
