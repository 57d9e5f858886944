// An HTTP request without a connection, and what is answered to it.
#ifndef SEXTANT_TESTS_SERVER_FAKE_EXCHANGE_H_
#define SEXTANT_TESTS_SERVER_FAKE_EXCHANGE_H_

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/listen/http_exchange.h"

namespace sextant::server {

struct FakeRequest {
  std::string method = "POST";
  std::string path = {};
  std::map<std::string, std::string> headers = {{"content-type", "application/json"}};
  std::string body = {};
  std::map<std::string, std::string> parameters = {};
  std::string peer = "ipv4:192.0.2.7:40312";
  std::string certificate_name = {};
};

// Leave() is called on any thread, all else by one.
class FakeExchange final : public HttpExchange {
 public:
  explicit FakeExchange(FakeRequest request)
      : request_(std::move(request)), left_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~FakeExchange() override { close(left_); }

  void Leave() { eventfd_write(left_, 1); }

  absl::string_view method() const override { return request_.method; }
  absl::string_view path() const override { return request_.path; }
  absl::optional<std::string> Parameter(const std::string& name) const override {
    const auto found = request_.parameters.find(name);
    if (found == request_.parameters.end()) return {};
    return found->second;
  }
  absl::string_view Header(const std::string& name) const override {
    const auto found = request_.headers.find(absl::AsciiStrToLower(name));
    return found == request_.headers.end() ? "" : absl::string_view(found->second);
  }
  std::string peer() const override { return request_.peer; }
  std::string certificate_name() const override { return request_.certificate_name; }

  using HttpExchange::ReadBody;
  absl::StatusOr<std::string> ReadBody(absl::Status* place) override {
    if (place != nullptr) *place = no_place;
    ++body_reads;
    if (!body_error.ok()) return body_error;
    return request_.body;
  }

  Woken Await(int event, std::chrono::system_clock::time_point deadline) override {
    pollfd both[] = {{.fd = event, .events = POLLIN, .revents = 0},
                     {.fd = left_, .events = POLLIN, .revents = 0}};
    // A call without a deadline may be woken after any time: a handler works for as long as it
    // needs.
    int wait = -1;
    if (deadline != std::chrono::system_clock::time_point::max()) {
      const auto left = deadline - std::chrono::system_clock::now();
      const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
      wait = static_cast<int>(std::clamp<int64_t>(milliseconds, 0, INT_MAX));
    }
    poll(both, 2, wait);
    if (both[1].revents != 0) return Woken::kClientLeft;
    if (both[0].revents != 0) return Woken::kEvent;
    return Woken::kDeadline;
  }

  void Answer(HttpAnswer whole) override {
    EXPECT_EQ(answers++, 0);
    EXPECT_TRUE(stream_type.empty());
    answer = std::move(whole);
  }
  void BeginStream(absl::string_view content_type) override {
    EXPECT_TRUE(stream_type.empty());
    stream_type = std::string(content_type);
  }
  bool Write(absl::string_view bytes) override {
    EXPECT_FALSE(stream_type.empty());
    if (!takes_bytes) return false;
    absl::StrAppend(&stream, bytes);
    return true;
  }
  void EndStream() override { ++stream_ends; }

  // A header of the answer; "" where there is none.
  std::string AnswerHeader(const std::string& name) const {
    for (const auto& [key, value] : answer.headers) {
      if (key == name) return value;
    }
    return "";
  }

  // The stream's envelopes, each with its flags.
  std::vector<std::pair<int, std::string>> Envelopes() const {
    std::vector<std::pair<int, std::string>> out;
    for (size_t at = 0; at < stream.size();) {
      const auto byte = [this, at](size_t i) {
        return size_t{static_cast<unsigned char>(stream[at + i])};
      };
      const size_t length = byte(1) << 24 | byte(2) << 16 | byte(3) << 8 | byte(4);
      out.emplace_back(static_cast<int>(byte(0)), stream.substr(at + 5, length));
      at += 5 + length;
    }
    return out;
  }
  // The error's of the answer, or of the stream's last envelope; "" for none.
  std::string Code() const { return Error().value("code", ""); }
  std::string Message() const { return Error().value("message", ""); }

  int body_reads = 0;
  absl::Status body_error;
  absl::Status no_place;  // of ReadBody(place)
  bool takes_bytes = true;
  int answers = 0;
  HttpAnswer answer;
  std::string stream_type;
  std::string stream;
  int stream_ends = 0;

 private:
  nlohmann::json Error() const {
    using nlohmann::json;
    if (stream_type.empty())
      return answer.status == 200 ? json::object() : json::parse(answer.body);
    const auto envelopes = Envelopes();
    if (envelopes.empty() || envelopes.back().first != 2) return json::object();
    return json::parse(envelopes.back().second).value("error", json::object());
  }

  const FakeRequest request_;
  const int left_;
};

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_FAKE_EXCHANGE_H_
