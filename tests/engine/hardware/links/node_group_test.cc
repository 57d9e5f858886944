#include "engine/hardware/links/node_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "engine/hardware/catalogue.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
  EXPECT_THAT(own->network->citation, HasSubstr("DGX BasePOD"));
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

}  // namespace
}  // namespace sextant
