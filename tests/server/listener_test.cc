#include "server/listen/listener.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/base/address.h"
#include "tests/server/descriptor_limit.h"
#include "tests/server/test_server.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::HasSubstr;

// One end of a connection to `address`, closed with it.
class Caller {
 public:
  explicit Caller(const std::string& address) : descriptor_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in name = {};
    name.sin_family = AF_INET;
    name.sin_port = htons(static_cast<uint16_t>(SplitHostPort(address)->port));
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(descriptor_, reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
  }
  Caller(Caller&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  ~Caller() { Close(); }

  void Close() {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = -1;
  }
  bool Send(const std::string& text) const {
    return send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }
  // Waits until the other end closes; gives up after half a minute.
  bool IsClosed() const {
    while (true) {
      pollfd polled = {.fd = descriptor_, .events = POLLIN, .revents = 0};
      if (poll(&polled, 1, 30'000) != 1) return false;
      char byte[512];
      if (recv(descriptor_, byte, sizeof(byte), 0) <= 0) return true;
    }
  }

 private:
  int descriptor_;
};

// The sockets that a listener hands out, closed at its end.
class Taken {
 public:
  ~Taken() {
    for (const int connection : all_) close(connection);
  }
  void Add(int connection) {
    const std::lock_guard<std::mutex> lock(mutex_);
    all_.push_back(connection);
    changed_.notify_all();
  }
  void WaitFor(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return all_.size() >= count; });
  }
  void CloseOne() {
    const std::lock_guard<std::mutex> lock(mutex_);
    close(all_.back());
    all_.pop_back();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> all_;
};

void WaitUntil(const std::function<bool()>& holds) {
  while (!holds()) std::this_thread::yield();
}

std::unique_ptr<Listener> ListenerFor(size_t max_connections, Taken& taken) {
  auto listener = Listener::Open(
      {.addresses = {"127.0.0.1:0"}, .flag = "--listen", .max_connections = max_connections});
  EXPECT_TRUE(listener.ok()) << listener.status();
  (*listener)->Serve([&taken](int connection) { taken.Add(connection); });
  return *std::move(listener);
}

TEST(Listener, ClosesWhatIsBeyondItsLimitUntilAnotherEnds) {
  Taken taken;
  const auto listener = ListenerFor(2, taken);
  const std::string address = listener->addresses()[0];
  const Caller first(address);
  const Caller second(address);
  taken.WaitFor(2);
  EXPECT_FALSE(listener->HasRoom());
  EXPECT_TRUE(Caller(address).IsClosed());
  taken.CloseOne();
  WaitUntil([&] { return listener->HasRoom(); });
  const Caller third(address);
  taken.WaitFor(2);
}

TEST(Listener, GoesOnWhenDescriptorsAreFreeAgain) {
  Taken taken;
  const auto listener = ListenerFor(100, taken);
  const std::string address = listener->addresses()[0];
  absl::optional<DescriptorLimit> limit(FirstFreeDescriptor() + 1);
  const Caller waits(address);  // takes the last one
  WaitUntil([&] { return !listener->HasRoom(); });
  limit.reset();
  taken.WaitFor(1);
  WaitUntil([&] { return listener->HasRoom(); });
}

TEST(Listener, NamesAnAddressThatCantBeHad) {
  Taken taken;
  const auto listener = ListenerFor(1, taken);
  const std::string& address = listener->addresses()[0];
  const auto second =
      Listener::Open({.addresses = {address}, .flag = "--listen", .max_connections = 1});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr(address + ": Address already in use (--listen)"));
  for (const char* wrong :
       {"no-such-host.invalid:1", "192.0.2.1:0", "unix:", "unix:/no/such/folder/socket"}) {
    const auto none = Listener::Open({.addresses = {wrong}, .flag = "--listen"});
    EXPECT_THAT(std::string(none.status().message()), HasSubstr(wrong));
  }
}

// A thousand idle connections once closed the port for good, while /readyz said ready.
TEST(Server, ServesAgainWhenIdleConnectionsEnd) {
  ServerOptions options = TestServer::Options();
  options.max_connections = 8;
  const TestServer server(options);
  httplib::Client http("http://" + server.server().http_address());
  std::vector<Caller> idle;
  for (int i = 0; i < 20; ++i) idle.emplace_back(server.server().grpc_addresses()[0]);
  WaitUntil([&] { return http.Get("/readyz")->status == 503; });
  idle.clear();
  WaitUntil([&] { return http.Get("/readyz")->status == 200; });
  v1::PlanRunResponse response;
  EXPECT_TRUE(server.PlanRun(TestServer::GoodRequest(), &response).ok());
}

TEST(Http, AnswersWhileClientsSendAByteNowAndThen) {
  const TestServer server;
  const std::string address = server.server().http_address();
  std::vector<Caller> slow;
  for (int i = 0; i < 80; ++i) slow.emplace_back(address);
  for (int round = 0; round < 3; ++round) {
    for (const Caller& caller : slow) caller.Send("G");
    const auto answer = httplib::Client("http://" + address).Get("/healthz");
    ASSERT_TRUE(answer) << httplib::to_string(answer.error());
    EXPECT_EQ(answer->status, 200);
  }
}

TEST(Http, EndsARequestWithoutEnd) {
  const TestServer server;
  const Caller caller(server.server().http_address());
  ASSERT_TRUE(caller.Send("GET / HTTP/1.1\r\n"));
  int lines = 0;
  while (lines < 1000 && caller.Send("X-Name: " + std::string(992, 'x') + "\r\n")) ++lines;
  EXPECT_TRUE(caller.IsClosed());
}

}  // namespace
}  // namespace sextant::server
