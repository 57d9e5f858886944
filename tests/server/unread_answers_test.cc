// Callers that don't read their answers.
#include "server/call/unread_answers.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/memory_return.h"
#include "server/handler/accounting_service.h"

namespace sextant::server {
namespace {

// A graph whose answer is larger than what a client takes unasked.
v1::AnalyzeGraphRequest LargeQuestion() {
  v1::AnalyzeGraphRequest out;
  v1::Graph& graph = *out.mutable_graph();
  graph.set_data_type(v1::DATA_TYPE_BF16);
  graph.add_tensors()->set_name("x");
  graph.mutable_tensors(0)->add_shape(4);
  for (int i = 0; i < 2000; ++i) {
    v1::GraphOperation& each = *graph.add_operations();
    each.set_name(absl::StrCat("operation ", i));
    each.mutable_operation()->mutable_activation();
    each.add_inputs(i == 0 ? "x" : absl::StrCat("operation ", i - 1));
  }
  return out;
}

class UnreadAnswersTest : public ::testing::Test {
 protected:
  UnreadAnswersTest() {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    server_ = builder.BuildAndStart();
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // a window that does not grow
    channel_ = grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port),
                                         grpc::InsecureChannelCredentials(), arguments);
  }
  ~UnreadAnswersTest() override { server_->Shutdown(); }

  grpc::StatusCode Ask() const {
    const auto stub = v1::AccountingService::NewStub(channel_);
    grpc::ClientContext context;
    v1::AnalyzeGraphResponse response;
    return stub->AnalyzeGraph(&context, question_, &response).error_code();
  }

  const v1::AnalyzeGraphRequest question_ = LargeQuestion();
  prometheus::Registry registry_;
  Metrics metrics_{registry_};
  WorkerPool workers_{{.threads = 1}};
  // Room for one answer, which has 160 kB.
  UnreadAnswers unread_{{.most_bytes = 250'000, .most_bytes_of_host = 250'000}};
  AccountingService service_{
      metrics_,
      {.calls = {.unread = &unread_}, .calibrations = {}, .now = {}, .workers = &workers_}};
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(UnreadAnswersTest, AreLimitedAndEndInTheEnd) {
  EXPECT_EQ(Ask(), grpc::StatusCode::OK);
  grpc::CompletionQueue queue;
  grpc::GenericStub stub(channel_);
  grpc::ClientContext context;
  const auto call =
      stub.PrepareCall(&context, "/sextant.v1.AccountingService/AnalyzeGraph", &queue);
  const auto next = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    return tag;
  };
  int begun = 0;
  int sent = 0;
  int ended = 0;
  call->StartCall(&begun);
  ASSERT_EQ(next(), &begun);
  const grpc::Slice slice(question_.SerializeAsString());
  call->WriteLast(grpc::ByteBuffer(&slice, 1), {}, &sent);
  ASSERT_EQ(next(), &sent);

  // Its answer waits, and there is room for no other.
  while (Ask() != grpc::StatusCode::RESOURCE_EXHAUSTED) {
  }
  unread_.EndOld(std::chrono::steady_clock::now());  // not old
  EXPECT_EQ(Ask(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  unread_.EndOld(std::chrono::steady_clock::now() + std::chrono::hours(1));
  while (Ask() != grpc::StatusCode::OK) {
  }
  context.TryCancel();
  grpc::Status status;
  call->Finish(&status, &ended);
  ASSERT_EQ(next(), &ended);
}

int64_t ResidentBytes() {
  int64_t total = 0;
  int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(MemoryReturn, GivesBackWhatWasFreedBelowWhatIsInUse) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "another allocator";
#endif
  MemoryReturn memory;
  memory.Look();
  constexpr int kPieces = 128 << 10;
  constexpr size_t kPieceBytes = 1024;
  std::vector<std::string> pieces;
  for (int i = 0; i < kPieces; ++i) pieces.emplace_back(kPieceBytes, 'x');
  const std::string above(kPieceBytes, 'x');
  pieces.clear();
  memory.Look();
  const int64_t held = ResidentBytes();
  for (int i = 0; i < kPieces; ++i) pieces.emplace_back(kPieceBytes, 'x');
  EXPECT_GE(ResidentBytes() - held, int64_t{kPieces} * int64_t{kPieceBytes} / 2);
}

}  // namespace
}  // namespace sextant::server
