#include "server/listen/stream_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sextant::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::FieldsAre;
using ::testing::Pair;

constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr int kFar = 100'000;  // beyond every limit
constexpr uint8_t kPing = 6;
constexpr uint8_t kEndHeaders = 0x4;

std::string FrameBytes(uint8_t type, uint8_t flags, uint32_t stream, const std::string& payload) {
  const auto byte = [](size_t value, int shift) {
    return static_cast<char>((value >> shift) & 0xff);
  };
  const size_t size = payload.size();
  return std::string{byte(size, 16),   byte(size, 8),   byte(size, 0),
                     byte(type, 0),    byte(flags, 0),  byte(stream, 24),
                     byte(stream, 16), byte(stream, 8), byte(stream, 0)} +
         payload;
}

std::string Headers(uint32_t stream) {
  return FrameBytes(Http2Frame::kHeaders, kEndHeaders, stream, "path");
}
std::string Reset(uint32_t stream) {
  return FrameBytes(Http2Frame::kResetStream, 0, stream, std::string(4, '\0'));
}
std::string Trailers(uint32_t stream) {
  return FrameBytes(Http2Frame::kHeaders, kEndHeaders | Http2Frame::kEndStream, stream, "ok");
}
std::string Acknowledgement() { return FrameBytes(Http2Frame::kSettings, Http2Frame::kAck, 0, ""); }

// The number of the `i`th stream that a client opens.
uint32_t Stream(int i) { return static_cast<uint32_t>(2 * i + 1); }

TEST(Http2Frames, AreTheSameHoweverTheBytesCome) {
  const std::string bytes = kPreface + FrameBytes(Http2Frame::kSettings, 0, 0, "123456") +
                            Headers(1) + FrameBytes(Http2Frame::kData, 1, 0x8000'0001, "") +
                            Headers(0x7fff'ffff);
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    std::vector<Http2Frame> frames;
    Http2Frames reader(kHttp2PrefaceBytes);
    for (size_t i = 0; i < bytes.size(); i += piece) {
      reader.Read(absl::string_view(bytes).substr(i, piece),
                  [&frames](const Http2Frame& frame) { frames.push_back(frame); });
    }
    EXPECT_THAT(frames, ElementsAre(FieldsAre(Http2Frame::kSettings, 0, 0, 6),
                                    FieldsAre(Http2Frame::kHeaders, 4, 1, 4),
                                    FieldsAre(Http2Frame::kData, 1, 1, 0),
                                    FieldsAre(Http2Frame::kHeaders, 4, 0x7fff'ffff, 4)));
  }
}

class StreamLimitsTest : public testing::Test {
 protected:
  using Connection = std::shared_ptr<ConnectionStreams>;

  Connection Connect(const std::string& host = "ipv4:10.0.0.1") {
    Connection out = limits_->Connect(host);
    if (out != nullptr) {
      out->OnClose([this] { ++closed_; });
      EXPECT_TRUE(out->Received(kPreface));
    }
    return out;
  }
  // One that has agreed to the server's limit.
  Connection Agreed(const std::string& host = "ipv4:10.0.0.1") {
    Connection out = Connect(host);
    EXPECT_TRUE(out->Received(Acknowledgement()));
    return out;
  }
  bool Open(const Connection& connection, int from, int to) {
    bool open = true;
    for (int i = from; i < to; ++i) open = connection->Received(Headers(Stream(i)));
    return open;
  }
  std::vector<std::pair<std::string, double>> ClosedByReason() const {
    std::vector<std::pair<std::string, double>> out;
    const std::vector<prometheus::MetricFamily> families = limits_->Collect();
    for (const prometheus::ClientMetric& metric : families[1].metric) {
      out.emplace_back(metric.label[0].value, metric.counter.value);
    }
    return out;
  }

  StreamClock::time_point now_ = StreamClock::time_point(seconds(1000));
  int closed_ = 0;
  std::shared_ptr<StreamLimits> limits_ = std::make_shared<StreamLimits>(StreamLimitOptions{
      .most_of_host = 1000, .most_of_all = 1500, .most_connections_of_host = 3, .now = [this] {
        return now_;
      }});
};

TEST_F(StreamLimitsTest, ACallerThatAcknowledgesNothingIsHeldToTheServersLimit) {
  const Connection connection = Connect();
  EXPECT_TRUE(Open(connection, 0, 256));
  EXPECT_FALSE(Open(connection, 256, 257));
  EXPECT_EQ(closed_, 1);
  EXPECT_EQ(limits_->open_count(), 0);
  EXPECT_FALSE(connection->Received(Acknowledgement())) << "it stays closed";
  EXPECT_THAT(ClosedByReason(), ElementsAre(Pair("connection_streams", 1)));
}

TEST_F(StreamLimitsTest, StreamsThatTheServerHasEndedAreNotOpen) {
  const Connection connection = Connect();
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(connection->Received(Headers(Stream(i))));
    connection->Sent(FrameBytes(Http2Frame::kData, 0, Stream(i), "answer"));
    EXPECT_EQ(connection->open_count(), 1);
    connection->Sent(i % 2 == 0 ? Trailers(Stream(i)) : Reset(Stream(i)));
    EXPECT_EQ(connection->open_count(), 0);
  }
}

TEST_F(StreamLimitsTest, ResetsAtOnceAreCountedAsEnvoyDoes) {
  const Connection honest = Agreed();
  // One call in two misses its deadline, over ten minutes.
  for (int i = 0; i < 3000; ++i) {
    now_ += milliseconds(200);
    ASSERT_TRUE(Open(honest, i, i + 1));
    if (i % 2 == 0) honest->Sent(Trailers(Stream(i)));
    if (i % 2 == 1) {
      ASSERT_TRUE(honest->Received(Reset(Stream(i))));
    }
  }
  const Connection slow = Agreed();
  for (int i = 0; i < 600; ++i) {
    ASSERT_TRUE(Open(slow, i, i + 1));
    now_ += milliseconds(1100);
    ASSERT_TRUE(slow->Received(Reset(Stream(i)))) << "it waited for a second";
  }
  const Connection flood = Agreed("ipv4:10.0.0.2");
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(Open(flood, i, i + 1));
    ASSERT_TRUE(flood->Received(Reset(Stream(i))));
  }
  ASSERT_TRUE(Open(flood, 500, 501));
  EXPECT_FALSE(flood->Received(Reset(Stream(500))));
  EXPECT_THAT(ClosedByReason(), ElementsAre(Pair("resets", 1)));
}

TEST_F(StreamLimitsTest, WhatAHostGaveUpCountsForFiveSeconds) {
  for (int round = 0; round < 3; ++round) {
    const Connection connection = Agreed();
    EXPECT_TRUE(Open(connection, 0, 333));
  }
  const Connection other = Agreed("ipv4:10.0.0.2");
  const Connection last = Connect();
  EXPECT_TRUE(Open(last, 0, 1));
  EXPECT_FALSE(Open(last, 1, 2)) << "999 were given up with their connections";
  EXPECT_EQ(Connect(), nullptr);
  EXPECT_TRUE(Open(other, 0, 1)) << "another host";
  now_ += seconds(5);
  EXPECT_TRUE(Open(Agreed(), 0, 200));
  EXPECT_THAT(ClosedByReason(), ElementsAre(Pair("host_streams", 2)));
}

TEST_F(StreamLimitsTest, AHostHasSoManyConnections) {
  std::vector<Connection> open = {Connect(), Connect(), Connect()};
  EXPECT_EQ(Connect(), nullptr);
  EXPECT_NE(Connect("unix"), nullptr);
  open.pop_back();
  EXPECT_NE(Connect(), nullptr);
  EXPECT_THAT(ClosedByReason(), ElementsAre(Pair("host_connections", 1)));
}

TEST_F(StreamLimitsTest, BeyondAllThatIsTakenTheLargestConnectionEnds) {
  const Connection small = Agreed("ipv4:10.0.0.1");
  const Connection large = Agreed("ipv4:10.0.0.2");
  const Connection third = Agreed("ipv4:10.0.0.3");
  const Connection fourth = Agreed("ipv4:10.0.0.4");
  EXPECT_TRUE(Open(small, 0, 100));
  EXPECT_TRUE(Open(large, 0, 500));
  EXPECT_TRUE(Open(third, 0, 450));
  EXPECT_TRUE(Open(fourth, 0, 450));
  EXPECT_EQ(closed_, 0);
  EXPECT_TRUE(Open(small, 100, 101));
  EXPECT_EQ(closed_, 1);
  EXPECT_FALSE(Open(large, 500, 501));
  EXPECT_EQ(limits_->open_count(), 1001);
  EXPECT_THAT(ClosedByReason(), ElementsAre(Pair("all_streams", 1)));
  EXPECT_TRUE(limits_->CloseLargest(Excess::kMemory));
  EXPECT_EQ(limits_->open_count(), 551);
}

TEST_F(StreamLimitsTest, HeadersAreAtMost64KiBInHoweverManyFrames) {
  const std::string payload(16'000, 'x');
  const auto more = FrameBytes(Http2Frame::kContinuation, 0, 1, payload);
  const Connection by_size = Connect();
  EXPECT_TRUE(by_size->Received(FrameBytes(Http2Frame::kHeaders, 0, 1, payload)));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(by_size->Received(more));
  EXPECT_FALSE(by_size->Received(more));
  const Connection by_count = Connect();
  const auto empty = FrameBytes(Http2Frame::kContinuation, 0, 1, "");
  EXPECT_TRUE(by_count->Received(FrameBytes(Http2Frame::kHeaders, 0, 1, "")));
  int taken = 0;
  while (taken < kFar && by_count->Received(empty)) ++taken;
  EXPECT_EQ(taken, 65'536 / 9);
  EXPECT_THAT(ClosedByReason(), ElementsAre(Pair("header_bytes", 2)));
}

TEST_F(StreamLimitsTest, FramesThatCarryNothingAreCounted) {
  for (const std::string& idle :
       {FrameBytes(kPing, 0, 0, "12345678"), FrameBytes(Http2Frame::kSettings, 0, 0, ""),
        FrameBytes(Http2Frame::kData, 0, 1, ""), Reset(1), FrameBytes(0xbe, 0, 0, "unknown")}) {
    const Connection connection = Connect();
    int taken = 0;
    while (taken < kFar && connection->Received(idle)) ++taken;
    EXPECT_EQ(taken, 1000);
  }
  const Connection client = Agreed();
  for (int i = 0; i < 6000; ++i) {
    now_ += milliseconds(100);  // it measures its bandwidth
    ASSERT_TRUE(client->Received(FrameBytes(kPing, 0, 0, "12345678")));
  }
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(client->Received(FrameBytes(Http2Frame::kWindowUpdate, 0, 0, "1234")));
    ASSERT_TRUE(client->Received(FrameBytes(Http2Frame::kData, 0, 1, "x")));
  }
}

TEST_F(StreamLimitsTest, CountsWhatIsOpen) {
  const Connection connection = Connect();
  Open(connection, 0, 7);
  const std::vector<prometheus::MetricFamily> families = limits_->Collect();
  EXPECT_EQ(families[0].name, "sextant_grpc_streams_open");
  EXPECT_EQ(families[0].metric[0].gauge.value, 7);
}

}  // namespace
}  // namespace sextant::server
