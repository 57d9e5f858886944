// Calls by the Connect protocol that take time: streams, deadlines, callers that leave, the end of
// a server.
#include "server/connect/connect_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/reason.h"
#include "tests/server/scripted_service.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string EnvelopeOf(absl::string_view message) {
  return Enveloped(EnvelopeFlags::kMessage, message);
}

class ConnectCallTest : public ConnectTest {
 protected:
  explicit ConnectCallTest(const CallRules& rules = {}) : ConnectTest(rules) {}

  static FakeRequest UnaryRequest(const std::string& timeout = "") {
    return {.path = PathOf("PlanRun"),
            .headers = {{"content-type", "application/json"}, {"connect-timeout-ms", timeout}},
            .body = "{}"};
  }
  static FakeRequest StreamRequest(const std::string& body, const std::string& timeout = "") {
    return {
        .path = PathOf("WatchPlanRun"),
        .headers = {{"content-type", "application/connect+json"}, {"connect-timeout-ms", timeout}},
        .body = body};
  }

  // Has unary calls wait for the test, which gets each of them.
  std::future<UnaryCall*> HoldUnary() {
    service_.unary = [this](Method& method, UnaryTransport& transport) {
      held_unary_ = std::make_unique<UnaryCall>(method, transport);
      unary_held_.set_value(held_unary_.get());
    };
    return unary_held_.get_future();
  }
  std::future<StreamCall*> HoldStream(const std::function<void()>& cancelled) {
    service_.stream = [this, cancelled](Method& method, StreamTransport& transport) {
      auto out = std::make_unique<StreamCall>(method, transport, cancelled);
      stream_held_.set_value(out.get());
      return out;
    };
    return stream_held_.get_future();
  }

  std::string Counted() const {
    return prometheus::TextSerializer().Serialize(registry_.Collect());
  }

  std::unique_ptr<UnaryCall> held_unary_;
  std::promise<UnaryCall*> unary_held_;
  std::promise<StreamCall*> stream_held_;
};

TEST_F(ConnectCallTest, WaitsForAnAnswerOfAnotherThread) {
  auto held = HoldUnary();
  FakeExchange exchange(UnaryRequest());
  std::thread connection([&] { Answer(exchange); });
  UnaryCall* call = held.get();
  EXPECT_EQ(call->call().context().deadline(), std::chrono::system_clock::time_point::max());
  EXPECT_TRUE(Encode(v1::PlanRunResponse(), call->response()).ok());
  call->Finish(absl::OkStatus());
  connection.join();
  EXPECT_EQ(exchange.answer.status, 200);
  EXPECT_EQ(exchange.answer.body, "{}");
}

TEST_F(ConnectCallTest, CancelsAUnaryCallWhoseCallerLeaves) {
  auto held = HoldUnary();
  FakeExchange exchange(UnaryRequest());
  std::thread connection([&] { Answer(exchange); });
  UnaryCall* call = held.get();
  EXPECT_TRUE(EndOf(call->call().context()).ok());
  exchange.Leave();
  connection.join();
  const absl::Status end = EndOf(call->call().context());
  EXPECT_TRUE(absl::IsCancelled(end)) << end;
  call->Finish(end);
  EXPECT_EQ(exchange.answers, 0);
  EXPECT_THAT(Counted(), HasSubstr("sextant_calls_total{code=\"CANCELLED\","));
}

// The deadline is past when the call begins to wait: no clock is raced.
TEST_F(ConnectCallTest, AnswersAtTheDeadlineThoughTheHandlerGoesOn) {
  auto held = HoldUnary();
  FakeExchange exchange(UnaryRequest("1"));
  std::thread connection([&] { Answer(exchange); });
  UnaryCall* call = held.get();
  connection.join();
  EXPECT_EQ(exchange.answer.status, 504);
  EXPECT_EQ(exchange.Code(), "deadline_exceeded");
  EXPECT_TRUE(call->call().context().IsCancelled());
  EXPECT_TRUE(absl::IsDeadlineExceeded(EndOf(call->call().context())));
  call->Finish(absl::OkStatus());
}

TEST_F(ConnectCallTest, TellsUnaryCallersOfTheServersEnd) {
  auto held = HoldUnary();
  FakeExchange exchange(UnaryRequest());
  std::thread connection([&] { Answer(exchange); });
  UnaryCall* call = held.get();
  port_->CancelCalls();
  connection.join();
  EXPECT_EQ(exchange.answer.status, 503);
  EXPECT_EQ(exchange.Code(), "unavailable");
  std::promise<void> gone;
  std::thread end([&] {
    port_.reset();
    gone.set_value();
  });
  EXPECT_TRUE(absl::IsCancelled(EndOf(call->call().context())));
  // The port's end waits for the handler.
  std::future<void> end_of_port = gone.get_future();
  EXPECT_EQ(end_of_port.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  call->Finish(absl::CancelledError("late"));
  end_of_port.get();
  end.join();
}

TEST_F(ConnectCallTest, SendsEachMessageInItsEnvelope) {
  AnswerStream(2);
  FakeExchange by_json(StreamRequest(EnvelopeOf(R"({"model":{"preset":"llama"}})")));
  Answer(by_json);
  EXPECT_EQ(by_json.stream_type, "application/connect+json");
  const std::string message = R"({"answer":{"ratesFingerprint":"llama"}})";
  EXPECT_THAT(by_json.Envelopes(), ElementsAre(Pair(0, message), Pair(0, message), Pair(2, "{}")));
  EXPECT_EQ(by_json.stream_ends, 1);

  v1::PlanRunRequest request;
  request.mutable_model()->set_preset("llama");
  v1::WatchPlanRunResponse event;
  event.mutable_answer()->set_rates_fingerprint("llama");
  FakeExchange proto({.path = PathOf("WatchPlanRun"),
                      .headers = {{"content-type", "application/connect+proto"}},
                      .body = EnvelopeOf(request.SerializeAsString())});
  Answer(proto);
  EXPECT_EQ(proto.stream_type, "application/connect+proto");
  const std::string bytes = event.SerializeAsString();
  EXPECT_THAT(proto.Envelopes(), ElementsAre(Pair(0, bytes), Pair(0, bytes), Pair(2, "{}")));
}

TEST_F(ConnectCallTest, RefusesBrokenEnvelopesInTheLast) {
  AnswerStream(1);
  const std::string good = EnvelopeOf("{}");
  const std::pair<std::string, const char*> bad[] = {
      {"", "there is no message"},
      {good.substr(0, 4), "first five bytes"},
      {good.substr(0, 6), "announces 2 bytes, and 1 came"},
      {std::string("\0\xff\xff\xff\xff{}", 7), "announces 4294967295 bytes, and 2 came"},
      {good + good, "more after the first"},
      {"\1" + good.substr(1), "flags are 1"},
      {"\2" + good.substr(1), "flags are 2"},
      {"\x80" + good.substr(1), "flags are 128"},
      {EnvelopeOf("{"), ""}};
  for (const auto& [body, why] : bad) {
    FakeExchange exchange(StreamRequest(body));
    Answer(exchange);
    EXPECT_EQ(exchange.answers, 0);
    EXPECT_EQ(exchange.Envelopes().size(), 1u) << why;
    EXPECT_EQ(exchange.Code(), "invalid_argument") << why;
    EXPECT_THAT(exchange.Message(), HasSubstr(why));
    EXPECT_EQ(exchange.stream_ends, 1);
  }
  FakeExchange late(StreamRequest(good, "0"));
  Answer(late);
  EXPECT_EQ(late.Code(), "invalid_argument");
}

TEST_F(ConnectCallTest, CancelsAStreamWhoseCallerLeaves) {
  std::promise<void> cancelled;
  auto held = HoldStream([&] { cancelled.set_value(); });
  FakeExchange exchange(StreamRequest(EnvelopeOf("{}")));
  std::thread connection([&] { Answer(exchange); });
  StreamCall* call = held.get();
  exchange.Leave();
  cancelled.get_future().get();
  const absl::Status end = EndOf(call->call().context());
  EXPECT_TRUE(absl::IsCancelled(end)) << end;
  call->End(end);
  connection.join();
  EXPECT_THAT(Counted(), HasSubstr("sextant_calls_total{code=\"CANCELLED\","));
}

TEST_F(ConnectCallTest, CancelsAStreamWhoseMessagesAreNotTaken) {
  std::promise<void> cancelled;
  auto held = HoldStream([&, count = 0]() mutable {
    if (++count == 1) cancelled.set_value();  // a second time is allowed
  });
  FakeExchange exchange(StreamRequest(EnvelopeOf("{}")));
  exchange.takes_bytes = false;
  std::thread connection([&] { Answer(exchange); });
  StreamCall* call = held.get();
  EXPECT_TRUE(call->Send(v1::WatchPlanRunResponse(), false).ok());
  cancelled.get_future().get();
  call->End(absl::CancelledError("nobody reads"));
  connection.join();
  EXPECT_EQ(exchange.stream, "");
  EXPECT_EQ(exchange.stream_ends, 0);
}

TEST_F(ConnectCallTest, EndsAStreamAtItsDeadline) {
  std::promise<void> cancelled;
  auto held = HoldStream([&] { cancelled.set_value(); });
  FakeExchange exchange(StreamRequest(EnvelopeOf("{}"), "1"));
  std::thread connection([&] { Answer(exchange); });
  StreamCall* call = held.get();
  cancelled.get_future().get();
  call->End(absl::CancelledError("stopped"));
  connection.join();
  EXPECT_EQ(exchange.Code(), "deadline_exceeded");
}

TEST_F(ConnectCallTest, TellsStreamsOfTheServersEnd) {
  std::promise<void> cancelled;
  auto held = HoldStream([&] { cancelled.set_value(); });
  FakeExchange exchange(StreamRequest(EnvelopeOf("{}")));
  std::thread connection([&] { Answer(exchange); });
  StreamCall* call = held.get();
  port_->CancelCalls();
  cancelled.get_future().get();
  call->End(absl::CancelledError("stopped"));
  connection.join();
  EXPECT_EQ(exchange.Code(), "unavailable");
}

// Answers that wait for their callers, of calls that may be made by anyone but by rules.
class HeldAnswersTest : public ConnectCallTest {
 protected:
  HeldAnswersTest() : HeldAnswersTest(std::make_shared<UnreadAnswers>(kLimits)) {}

  static constexpr UnreadLimits kLimits = {.most_bytes = 40'000, .most_bytes_of_host = 40'000};

 private:
  explicit HeldAnswersTest(std::shared_ptr<UnreadAnswers> unread)
      : ConnectCallTest({.unread = unread.get()}), unread_(std::move(unread)) {}

  const std::shared_ptr<UnreadAnswers> unread_;
};

TEST_F(HeldAnswersTest, AreReleasedWhenTheCallIsOver) {
  service_.unary = [](Method& method, UnaryTransport& transport) {
    AnswerAfter<v1::PlanRunRequest, v1::PlanRunResponse>(
        method, transport, AtOnce(), [](const v1::PlanRunRequest&, v1::PlanRunResponse* out) {
          out->set_rates_fingerprint(std::string(30'000, 'x'));
          return absl::OkStatus();
        });
  };
  for (int i = 0; i < 3; ++i) {
    FakeExchange exchange(UnaryRequest());
    Answer(exchange);
    EXPECT_EQ(exchange.answer.status, 200) << i;
  }
}

class DrainingTest : public ConnectTest {
 protected:
  DrainingTest() : DrainingTest(std::make_shared<CallsUnderWay>()) {}

  void Close() { under_way_->Close(); }
  bool NoneIsUnderWay() const {
    return under_way_->WaitUntilNone(std::chrono::steady_clock::now());
  }

 private:
  explicit DrainingTest(std::shared_ptr<CallsUnderWay> under_way)
      : ConnectTest({.under_way = under_way.get()}), under_way_(std::move(under_way)) {}

  const std::shared_ptr<CallsUnderWay> under_way_;
};

TEST_F(DrainingTest, RefusesCallsWithoutReadingThem) {
  AnswerUnary();
  FakeExchange before({.path = PathOf("PlanRun"), .body = "{}"});
  Answer(before);
  EXPECT_EQ(before.answer.status, 200);
  Close();
  FakeExchange after({.path = PathOf("PlanRun"), .body = "{}"});
  Answer(after);
  EXPECT_EQ(after.answer.status, 503);
  EXPECT_EQ(after.body_reads, 0);
  EXPECT_TRUE(NoneIsUnderWay());
}

}  // namespace
}  // namespace sextant::server
