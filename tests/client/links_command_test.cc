// `sextant nodes` and `sextant links` from their arguments to their exit codes.
#include <gmock/gmock.h>
#include <google/protobuf/any.pb.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/report/hardware_text.h"
#include "client/report/kernel_rates_text.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/client/fake_server.h"
#include "tests/client/sample_links.h"
#include "tests/support/temporary_folder.h"

namespace sextant::client {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using NodesRequest = v1::ListNodeTypesRequest;
using LinksRequest = v1::GetLinkTimesRequest;

std::string FlagOf(const std::string& field) {
  return field == "nodes.device.calibrations.calibrations" ? "--calibration" : field;
}

// An error as the server returns it: with a reason, and the invalid field where there is one.
grpc::Status Refusal(grpc::StatusCode code, const std::string& reason, const std::string& field,
                     const std::string& description = "is wrong: see docs/links.md") {
  google::rpc::Status out;
  out.set_code(code);
  out.set_message("refused");
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain("sextant");
  out.add_details()->PackFrom(info);
  if (!field.empty()) {
    google::rpc::BadRequest bad;
    auto* violation = bad.add_field_violations();
    violation->set_field(field);
    violation->set_description(description);
    out.add_details()->PackFrom(bad);
  }
  return {code, "refused", out.SerializeAsString()};
}

HardwareHandlers HoldsNodes(NodesRequest* asked) {
  return {.list_node_types = [=](grpc::ServerContext*, const NodesRequest& request,
                                 v1::ListNodeTypesResponse* response) {
    *asked = request;
    *response = SampleNodeTypes();
    return grpc::Status::OK;
  }};
}

HardwareHandlers HoldsLinks(LinksRequest* asked) {
  return {.get_link_times = [=](grpc::ServerContext*, const LinksRequest& request,
                                v1::GetLinkTimesResponse* response) {
    *asked = request;
    *response = SampleLinkTimes();
    return grpc::Status::OK;
  }};
}

// Knows accelerators alone, and answers for those with `status`.
HardwareHandlers KnowsNoNodeType(const grpc::Status& status, LinksRequest* asked) {
  return {.get_link_times = [=](grpc::ServerContext*, const LinksRequest& request,
                                v1::GetLinkTimesResponse* response) {
    if (!request.nodes().node_type().empty()) {
      return Refusal(grpc::StatusCode::NOT_FOUND, "NODE_TYPE_UNKNOWN", "");
    }
    *asked = request;
    *response = SampleLinkTimes();
    return status;
  }};
}

TEST(Nodes, AreATableOrSourcesOrJson) {
  NodesRequest asked;
  const FakeServer server(HoldsNodes(&asked));
  const Ran table = RunWith({"nodes", "--address", server.address()});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_EQ(table.out, NodeTypeTable(SampleNodeTypes()));
  EXPECT_FALSE(asked.has_name());
  const Ran named = RunWith({"nodes", "DGX H100", "--address", server.address()});
  EXPECT_EQ(named.out, NodeTypeSources(SampleNodeTypes()));
  EXPECT_EQ(asked.name(), "DGX H100");
  EXPECT_EQ(RunWith({"nodes", "--sources", "--address", server.address()}).out, named.out);
  const Ran json = RunWith({"nodes", "--output=json", "--address", server.address()});
  v1::ListNodeTypesResponse read;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json.out, &read).ok()) << json.out;
  EXPECT_TRUE(MessageDifferencer::Equals(read, SampleNodeTypes()));
}

TEST(Links, SendWhatTheFlagsSay) {
  LinksRequest asked;
  const FakeServer server(HoldsLinks(&asked));
  const Ran ran = RunWith({"links", "toy-8", "--operation=all_reduce", "--operation=broadcast",
                           "--size=1MiB", "--size=2e9", "--node-count=2", "--ranks-per-node=4",
                           "--network=ib-ndr", "--host-copies", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, LinkTimesText(SampleLinkTimes(), FlagOf));
  EXPECT_EQ(asked.nodes().node_type(), "toy-8");
  EXPECT_EQ(asked.nodes().device().accelerator(), "");
  EXPECT_EQ(asked.nodes().node_count(), 2);
  EXPECT_EQ(asked.nodes().ranks_per_node(), 4);
  EXPECT_EQ(asked.nodes().network().name(), "ib-ndr");
  EXPECT_TRUE(asked.host_copies());
  EXPECT_THAT(asked.operations(),
              ElementsAre(v1::COLLECTIVE_OPERATION_ALL_REDUCE, v1::COLLECTIVE_OPERATION_BROADCAST));
  EXPECT_THAT(asked.sizes_bytes(), ElementsAre(1048576, 2'000'000'000));
}

TEST(Links, LeaveOutWhatTheFlagsDoNotSay) {
  LinksRequest asked;
  const FakeServer server(HoldsLinks(&asked));
  const Ran json = RunWith({"links", "toy-8", "--network-bytes-per-second=25e9", "--output=json",
                            "--address", server.address()});
  EXPECT_EQ(asked.nodes().network().bytes_per_second(), 25e9);
  EXPECT_EQ(asked.operations_size() + asked.sizes_bytes_size(), 0);
  EXPECT_EQ(asked.nodes().node_count() + asked.nodes().ranks_per_node(), 0);
  v1::GetLinkTimesResponse read;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json.out, &read).ok()) << json.out;
  EXPECT_TRUE(MessageDifferencer::Equals(read, SampleLinkTimes()));
}

// The client has no catalogue: an unknown kind of server may be an accelerator.
TEST(Links, AskForAnAcceleratorWhereTheNameIsNoKindOfServers) {
  LinksRequest asked;
  const FakeServer server(KnowsNoNodeType(grpc::Status::OK, &asked));
  const Ran ran = RunWith({"links", "gb200", "--ranks-per-node=4", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(asked.nodes().device().accelerator(), "gb200");
  EXPECT_EQ(asked.nodes().ranks_per_node(), 4);
}

// A request names its devices once: the accelerator says the kind of server, the calibrations stay.
TEST(Links, AskForTheServersOfAnAcceleratorInAdditionToCalibrations) {
  const std::string file = TemporaryFile("links.json");
  std::ofstream(file) << R"({"device": {"uuid": "GPU-1"}})";
  std::vector<LinksRequest> asked;
  const FakeServer server(
      HardwareHandlers{.get_link_times = [&asked](grpc::ServerContext*, const LinksRequest& request,
                                                  v1::GetLinkTimesResponse* response) {
        asked.push_back(request);
        *response = SampleLinkTimes();
        response->mutable_node_type()->set_name("gb200-nvl72");
        return request.nodes().node_type() == "gb200"
                   ? Refusal(grpc::StatusCode::NOT_FOUND, "NODE_TYPE_UNKNOWN", "")
                   : grpc::Status::OK;
      }});
  const Ran ran = RunWith({"links", "gb200", "--calibration", file, "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_EQ(asked[1].nodes().device().accelerator(), "gb200");
  EXPECT_EQ(asked[2].nodes().node_type(), "gb200-nvl72");
  EXPECT_EQ(asked[2].nodes().device().calibrations().calibrations_size(), 1);
}

TEST(Links, OfANameThatIsNeitherAreTheFirstError) {
  LinksRequest asked;
  const FakeServer server(
      KnowsNoNodeType(Refusal(grpc::StatusCode::NOT_FOUND, "GPU_UNKNOWN", ""), &asked));
  const Ran ran = RunWith({"links", "toy-9", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, HasSubstr("NODE_TYPE_UNKNOWN"));
}

TEST(Links, SayFaultsInTheWordsOfTheCommandLine) {
  LinksRequest asked;
  const FakeServer server(KnowsNoNodeType(
      Refusal(grpc::StatusCode::INVALID_ARGUMENT, "FIELD_INVALID", "nodes.node_type"), &asked));
  const Ran ran = RunWith({"links", "h100-sxm", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, HasSubstr("NODE: is wrong: see docs/links.md"));
  const std::pair<const char*, const char*> cases[] = {
      {"nodes.device.accelerator", "NODE"},
      {"nodes.ranks_per_node", "--ranks-per-node"},
      {"nodes.node_count", "--node-count"},
      {"nodes.network", "--network"},
      {"nodes.network.name", "--network"},
      {"nodes.network.bytes_per_second", "--network-bytes-per-second"},
      {"nodes.device.calibrations.calibrations[1].matmuls", "--calibration[1].matmuls"},
      {"operations[0]", "--operation"},
      {"sizes_bytes[3]", "--size"},
      {"another", "another"}};
  for (const auto& [field, words] : cases) {
    const FakeServer refusing(
        KnowsNoNodeType(Refusal(grpc::StatusCode::INVALID_ARGUMENT, "FIELD_INVALID", field,
                                "is wrong, or give bytes_per_second"),
                        &asked));
    EXPECT_THAT(
        RunWith({"links", "h100-sxm", "--address", refusing.address()}).err,
        HasSubstr(absl::StrCat("\n  ", words, ": is wrong, or give --network-bytes-per-second\n")))
        << field;
  }
}

TEST(Links, AreDrawnIntoAFile) {
  LinksRequest asked;
  const FakeServer server(HoldsLinks(&asked));
  const std::string file = TemporaryFile("links.svg");
  const Ran ran = RunWith({"links", "toy-8", "--svg", file, "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  std::ifstream in(file);
  std::stringstream svg;
  svg << in.rdbuf();
  EXPECT_THAT(svg.str(), HasSubstr("Bus bandwidth: 2 nodes of 8 ranks, toy-8"));
}

TEST(Links, OfASingleSizeAreNoDrawing) {
  const FakeServer server(
      HardwareHandlers{.get_link_times = [](grpc::ServerContext*, const LinksRequest&,
                                            v1::GetLinkTimesResponse* out) {
        *out = SampleLinkTimes();
        for (auto& exchange : *out->mutable_exchanges()) {
          exchange.mutable_times()->DeleteSubrange(1, exchange.times_size() - 1);
        }
        return grpc::Status::OK;
      }});
  const std::string file = TemporaryFile("none.svg");
  const Ran ran = RunWith({"links", "toy-8", "--svg", file, "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("takes two sizes"));
  EXPECT_FALSE(std::ifstream(file).good());
}

TEST(Links, RefuseWrongArguments) {
  for (const std::vector<std::string>& args : {std::vector<std::string>{"links"},
                                               {"links", "toy-8", "--operation=shout"},
                                               {"links", "toy-8", "--size=1G"},
                                               {"links", "toy-8", "--node-count=two"},
                                               {"links", "toy-8", "--calibration=/no/such"}}) {
    const Ran ran = RunWith(args);
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_FALSE(ran.err.empty());
  }
}

TEST(LinkTimesText, SaysTimesIntervalsRatesAndSources) {
  const std::string text = LinkTimesText(SampleLinkTimes(), FlagOf);
  for (const char* part :
       {"Exchanges among 2 nodes of 8 ranks, toy-8 (A Toy of Eight)",
        "link: ToyLink 3, 450.00 GB/s a device, one way; a sheet <1>",
        "network: 50.00 GB/s a device, one way; toy-8: a sheet 3",
        "16.00 MiB   2.00 ms    1.00 ms   4.00 ms  20.00 GB/s   35.00 GB/s  link's rate",
        "source: datasheet, network: <N & M>", "another operation's times",
        "source: reference, a table\n", "beyond measured sizes or ranks",
        "source: reference, another table\n", "copies from or to the host", "41.90 GB/s      -",
        "a measured rate", "source: measured-supplied, a probe",
        "\nWarnings\n  - Nothing is known of the host; --calibration may say.\n",
        "\nAssumptions\n  - Nothing else uses the links.\n"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

// A lone rank has no rates, hence no picture.
TEST(LinkTimesText, OfOneRankHasNoPicture) {
  v1::GetLinkTimesResponse links = SampleLinkTimes();
  links.mutable_nodes()->set_node_count(1);
  links.mutable_nodes()->set_ranks_per_node(1);
  for (auto& exchange : *links.mutable_exchanges()) {
    for (v1::LinkTime& time : *exchange.mutable_times()) {
      time.clear_bytes_per_second();
      time.clear_bus_bytes_per_second();
    }
  }
  const std::string text = LinkTimesText(links, FlagOf);
  EXPECT_THAT(text, HasSubstr("1 rank of a node, toy-8"));
  EXPECT_THAT(text, Not(HasSubstr("bus bandwidth, GB/s")));
}

}  // namespace
}  // namespace sextant::client
