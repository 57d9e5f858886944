// Calls that no transport carries.
#ifndef SEXTANT_TESTS_SERVER_FAKE_CALL_H_
#define SEXTANT_TESTS_SERVER_FAKE_CALL_H_

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/call/call.h"
#include "server/call/service.h"
#include "server/call/transport.h"
#include "sextant/v1/hardware_service.pb.h"

namespace sextant::server {

struct FakeCaller {
  std::string peer = "ipv4:192.0.2.7:40312";
  std::string certificate_name = {};
  std::string authorization = {};
  std::string traceparent = {};
  std::chrono::system_clock::time_point deadline = std::chrono::system_clock::time_point::max();
};

struct Ended {
  absl::Status status;
  std::string trace_id;
};

template <typename Kind>
class FakeCall : public Kind {
 public:
  explicit FakeCall(FakeCaller caller,
                    const google::protobuf::Message& request = v1::RunProbeRequest())
      : caller_(std::move(caller)) {
    EXPECT_TRUE(Encode(request, &request_).ok());
  }

  std::string peer() const override { return caller_.peer; }
  std::string certificate_name() const override { return caller_.certificate_name; }
  absl::string_view authorization() const override { return caller_.authorization; }
  absl::string_view traceparent() const override { return caller_.traceparent; }
  std::chrono::system_clock::time_point deadline() const override { return caller_.deadline; }
  bool IsCancelled() const override { return cancelled_; }
  void Cancel() override { cancelled_ = true; }
  Protocol protocol() const override { return Protocol::kGrpc; }
  const grpc::ByteBuffer& request() const override { return request_; }
  void End(const absl::Status& status, absl::string_view trace_id) override {
    end_.set_value({status, std::string(trace_id)});
  }

  // Waits for it: a handler that works still uses this call.
  Ended End() { return end_.get_future().get(); }

 private:
  const FakeCaller caller_;
  grpc::ByteBuffer request_;
  std::atomic<bool> cancelled_{false};
  std::promise<Ended> end_;
};

class FakeUnaryCall final : public FakeCall<UnaryTransport> {
 public:
  using FakeCall::FakeCall;

  grpc::ByteBuffer* response() override { return &response_; }

 private:
  grpc::ByteBuffer response_;
};

class FakeStreamCall final : public FakeCall<StreamTransport> {
 public:
  using FakeCall::FakeCall;

  void Write(const grpc::ByteBuffer* bytes) override { EXPECT_TRUE(Decode(*bytes, &written).ok()); }

  v1::RunProbeResponse written;  // the last
};

// Has `call` answered by `service`, as a transport does.
inline Ended Answer(Service& service, const std::string& rpc, FakeUnaryCall& call) {
  for (Method& method : service.methods()) {
    if (method.name != absl::StrCat(service.name(), "/", rpc)) continue;
    std::get<UnaryHandler>(method.handler)(method, call);
    return call.End();
  }
  return {absl::UnimplementedError(rpc), ""};
}

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_FAKE_CALL_H_
