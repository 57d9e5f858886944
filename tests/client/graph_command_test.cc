// `sextant graph`, against a fake server: the file that it reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/io/call_error.h"
#include "tests/client/fake_server.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;

TEST(GraphCommand, ReadsStandardInputAndAnswersInJson) {
  Answering<v1::AnalyzeGraphRequest, v1::AnalyzeGraphResponse> graphs;
  graphs.response.mutable_totals()->set_trainable_parameters(12);
  const FakeServer server(AccountingHandlers{.analyze_graph = graphs.handler()});
  const Ran ran = RunWith({"graph", "-", "--output=json", "--address", server.address()},
                          R"({"tensors": [{"name": "x", "shape": [2, 3]}]})");
  EXPECT_EQ(ran.exit_code, kExitFits) << ran.err;
  EXPECT_EQ(graphs.request.graph().tensors_size(), 1);
  EXPECT_THAT(ran.out, HasSubstr("\"trainable_parameters\": \"12\""));
}

TEST(GraphCommand, RefusesWhatIsNoGraph) {
  const Ran wrong = RunWith({"graph", FileWith("graph.json", R"({"tensors": [{"nam": "x"}]})")});
  EXPECT_EQ(wrong.exit_code, kExitBadRequest);
  EXPECT_THAT(wrong.err, HasSubstr("not a Graph in proto JSON"));
  EXPECT_THAT(wrong.err, HasSubstr("nam"));
  EXPECT_EQ(RunWith({"graph", "/nonexistent/graph.json"}).exit_code, kExitUsage);
  EXPECT_EQ(RunWith({"graph"}).exit_code, kExitUsage);
  const Ran large = RunWith({"graph", FileWith("graph_large.json", std::string(2 << 20, ' '))});
  EXPECT_EQ(large.exit_code, kExitBadRequest);
  EXPECT_THAT(large.err, HasSubstr("REQUEST_TOO_LARGE"));
}

}  // namespace
}  // namespace sextant::client
