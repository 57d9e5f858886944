#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/run/plan.h"
#include "engine/run/run_devices.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ClusterSpec Assumed(ClusterSpec cluster) {
  AssumeNodes(cluster);
  return cluster;
}

ClusterSpec Of(absl::string_view accelerator, int64_t devices) {
  ClusterSpec out;
  out.device.accelerator = accelerator;
  out.device_count = devices;
  return out;
}

TEST(AssumeNodes, FillsInTheUsualServerAndNetwork) {
  // 0: how many there are is what is asked.
  for (const int64_t devices : {9, 1024, 0}) {
    const ClusterSpec out = Assumed(Of("h100-sxm", devices));
    EXPECT_EQ(out.node_type, "dgx-h100") << devices;
    EXPECT_EQ(out.network.name, "ib-ndr");
    EXPECT_TRUE(out.node_is_assumed);
    EXPECT_TRUE(out.network_is_assumed);
  }
}

TEST(AssumeNodes, LeavesASingleServerAlone) {
  const ClusterSpec out = Assumed(Of("h100-sxm", 8));
  EXPECT_EQ(out.node_type, "");
  EXPECT_EQ(out.network.name, "");
  EXPECT_FALSE(out.node_is_assumed);
  EXPECT_FALSE(out.network_is_assumed);
}

TEST(AssumeNodes, KeepsWhatIsGiven) {
  ClusterSpec given = Of("h100-sxm", 64);
  given.network.bytes_per_second = 25e9;
  const ClusterSpec networked = Assumed(given);
  EXPECT_EQ(networked.node_type, "dgx-h100");
  EXPECT_EQ(networked.network.name, "");
  EXPECT_EQ(networked.network.bytes_per_second, 25e9);
  EXPECT_FALSE(networked.network_is_assumed);

  given = Of("h100-sxm", 64);
  given.node_type = "hgx-h100";  // a board: its network is assumed
  const ClusterSpec board = Assumed(given);
  EXPECT_EQ(board.node_type, "hgx-h100");
  EXPECT_EQ(board.network.name, "ib-ndr");
  EXPECT_FALSE(board.node_is_assumed);
  EXPECT_TRUE(board.network_is_assumed);

  given.node_type = "dgx-h100";  // comes with its network
  const ClusterSpec whole = Assumed(given);
  EXPECT_EQ(whole.network.name, "");
  EXPECT_FALSE(whole.network_is_assumed);
}

// Servers of PCIe cards come with any network, and no server of an MI250X is known.
TEST(AssumeNodes, AssumesNothingWhereNothingIsUsual) {
  for (const char* name : {"l40s", "rtx-4090", "mi250x", "no-such-product"}) {
    const ClusterSpec out = Assumed(Of(name, 64));
    EXPECT_EQ(out.node_type, "") << name;
    EXPECT_EQ(out.network.name, "") << name;
  }
  ClusterSpec unknown = Of("h100-sxm", 64);
  unknown.node_type = "no-such-server";
  EXPECT_EQ(Assumed(unknown).network.name, "");
}

std::vector<std::string> AssumedNames(const RunSpec& run) {
  const absl::StatusOr<Plan> plan = PlanRun(run);
  EXPECT_THAT(plan, IsOk());
  for (const Note& note : plan.ok() ? plan->notes : Notes()) {
    if (note.kind == NoteKind::kNodesAssumed) return note.names;
  }
  return {};
}

TEST(AssumeNodes, IsSaidWhereServersExchange) {
  RunSpec run = Tp8Pp4();
  run.options.assumptions = false;  // a warning, which all views have
  AssumeNodes(run.cluster);
  EXPECT_THAT(AssumedNames(run), ElementsAre("dgx-h100", "ib-ndr"));
  // One server may be enough where the number is asked for.
  run.cluster.device_count = 8;
  run.layout->parallel.pipeline_parallel_size = 1;
  EXPECT_THAT(AssumedNames(run), IsEmpty());
  EXPECT_THAT(AssumedNames(RunOnH100s("llama-3.1-8b", 64, 64)), IsEmpty());
}

}  // namespace
}  // namespace sextant
