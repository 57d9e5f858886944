// An HTTP port whose API is the test's, and callers that read one answer at a time.
#ifndef SEXTANT_TESTS_SERVER_HTTP_FIXTURE_H_
#define SEXTANT_TESTS_SERVER_HTTP_FIXTURE_H_

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/listen/http_server.h"
#include "tests/server/raw_caller.h"

namespace sextant::server {

inline std::string HttpRequestOf(const std::string& line, const std::string& headers = "",
                                 const std::string& body = "") {
  return absl::StrCat(line, " HTTP/1.1\r\nHost: localhost\r\n", headers, "\r\n", body);
}

// A POST with the length of `body`, after which the connection ends.
inline std::string PostOf(const std::string& body, const std::string& headers = "") {
  return HttpRequestOf(
      "POST /call",
      absl::StrCat("Content-Length: ", body.size(), "\r\nConnection: close\r\n", headers), body);
}

// The code of a Connect error at the end of `answer`, "" where it ends with none.
inline std::string ConnectCodeOf(const std::string& answer) {
  const size_t end = answer.find("\r\n\r\n");
  if (end == std::string::npos ||
      !absl::StrContains(answer, "\r\nContent-Type: application/json")) {
    return "";
  }
  const auto error = nlohmann::json::parse(answer.substr(end + 4), nullptr, false);
  if (!error.is_object() || !error.contains("message")) return "";
  return error.value("code", "");
}

// A count that threads raise and wait for.
class CallCount {
 public:
  void Add() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  void WaitFor(int count) {
    std::unique_lock<std::mutex> lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::minutes(1), [&] { return count_ >= count; }));
  }
  int count() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

class Event {
 public:
  Event() : descriptor_(eventfd(0, EFD_CLOEXEC)) {}
  ~Event() { close(descriptor_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  int descriptor() const { return descriptor_; }
  void Set() const { EXPECT_EQ(eventfd_write(descriptor_, 1), 0); }

 private:
  const int descriptor_;
};

inline HttpAnswer TextAnswer(std::string text) {
  return {.status = 200, .content_type = "text/plain", .body = std::move(text)};
}

// By default its API answers every path with the length of the body.
class HttpPortOf {
 public:
  using Api = std::function<bool(HttpExchange&)>;

  explicit HttpPortOf(Api api = AnswerLength, HttpOptions options = {}) {
    options.address = "127.0.0.1:0";
    if (options.max_connections == 0) options.max_connections = 64;
    options.ready = [] { return true; };
    options.registry = std::make_shared<prometheus::Registry>();
    options.api = std::move(api);
    auto started = HttpServer::Start(std::move(options));
    EXPECT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
  }

  static bool AnswerLength(HttpExchange& exchange) {
    const auto body = exchange.ReadBody();
    exchange.Answer(TextAnswer(body.ok() ? absl::StrCat("length ", body->size())
                                         : std::string(body.status().message())));
    return true;
  }

  const std::string& address() const { return server_->address(); }
  void Stop() { server_.reset(); }

  // The answer to `bytes`, up to the end that it puts to the connection.
  std::string AnswerTo(const std::string& bytes, int host = 1) const {
    const RawCaller caller(address(), host);
    EXPECT_TRUE(caller.Send(bytes));
    return caller.ReadToEnd();
  }

 private:
  std::unique_ptr<HttpServer> server_;
};

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_HTTP_FIXTURE_H_
