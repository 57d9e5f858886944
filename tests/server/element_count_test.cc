// The elements of a message are counted before it is decoded, and too many are refused.
#include <gmock/gmock.h>
#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "server/call/call.h"
#include "sextant/v1/accounting_service.pb.h"
#include "tests/server/test_server.h"

namespace sextant::server {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kNoLimit = int64_t{1} << 40;

grpc::ByteBuffer BufferOf(const std::string& text) {
  const grpc::Slice slice(text);
  return grpc::ByteBuffer(&slice, 1);
}

int64_t CountOf(const google::protobuf::Message& message) {
  return CountElements(BufferOf(message.SerializeAsString()), *message.GetDescriptor(), kNoLimit);
}

TEST(ElementCount, CountsMessagesAndListsAtEveryDepth) {
  v1::AnalyzeGraphRequest request;
  EXPECT_EQ(CountOf(request), 0);
  v1::Graph* const graph = request.mutable_graph();  // 1
  EXPECT_EQ(CountOf(request), 1);
  for (int i = 0; i < 3; ++i) {
    auto* const operation = graph->add_operations();       // 3
    operation->mutable_operation()->mutable_layer_norm();  // 2 each
    operation->add_inputs("x");                            // 2 each
    operation->add_inputs("w");
  }
  EXPECT_EQ(CountOf(request), 1 + 3 * 5);
  graph->add_tensors()->add_shape(7);  // 1, and a number of one byte
  EXPECT_EQ(CountOf(request), 1 + 3 * 5 + 2);
}

TEST(ElementCount, CountsUnknownFieldsAndStopsAtFaults) {
  const auto& type = *v1::AnalyzeGraphRequest::descriptor();
  std::string unknown;
  for (int i = 0; i < 10; ++i) unknown += std::string("\xf8\x7f\x01", 3);  // field 2047: 1
  EXPECT_EQ(CountElements(BufferOf(unknown), type, kNoLimit), 10);
  EXPECT_EQ(CountElements(BufferOf("\x0a\xff\xff\xff"), type, kNoLimit), 0);
  EXPECT_LE(CountElements(BufferOf(std::string(100'000, '\x0a')), type, kNoLimit), 200'000);
}

// The graph is one element, each of its operations another.
TEST(ElementCount, AllowsAsManyAsItsLimitAndNoMore) {
  v1::AnalyzeGraphRequest request;
  for (int i = 0; i < 65'535; ++i) request.mutable_graph()->add_operations();
  const auto check = [&request] {
    return CheckElements(BufferOf(request.SerializeAsString()), *request.GetDescriptor());
  };
  EXPECT_TRUE(check().ok()) << check();
  request.mutable_graph()->add_operations();
  EXPECT_EQ(check().code(), absl::StatusCode::kInvalidArgument);
}

// Half a million messages of two bytes once took 0.5 s and 400 MiB to decode.
TEST(ElementCount, RefusesMessagesOfTwoBytesByTheirNumber) {
  const TestServer server;
  v1::AnalyzeGraphRequest request;
  for (int i = 0; i < 500'000; ++i) request.mutable_graph()->add_operations();
  ASSERT_LT(request.ByteSizeLong(), 1u << 20);
  grpc::ClientContext context;
  v1::AnalyzeGraphResponse response;
  const grpc::Status refused = server.accounting().AnalyzeGraph(&context, request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("more than 65536 messages"));
}

}  // namespace
}  // namespace sextant::server
