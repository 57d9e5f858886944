#include "server/call/grpc_service.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <memory>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/call/status.h"
#include "server/call/stream_call.h"
#include "server/security/tls_files.h"

namespace sextant::server {
namespace {

using Bytes = grpc::ByteBuffer;

// The common part of both kinds of calls. Deletes itself when gRPC is done with the call.
template <typename Reactor, typename TransportOfKind>
class GrpcCall : public Reactor, public TransportOfKind {
 public:
  GrpcCall(UnreadAnswers* unread, grpc::CallbackServerContext* context, const Bytes* request)
      : unread_(unread), context_(*context), request_(*request) {}

  std::string peer() const override { return context_.peer(); }
  std::string certificate_name() const override {
    const auto first = [identity = context_.auth_context()](const char* property) {
      const auto names = identity->FindPropertyValues(property);
      return names.empty() ? std::string() : std::string(names[0].data(), names[0].size());
    };
    return NameOfHolder(first(GRPC_PEER_URI_PROPERTY_NAME), first(GRPC_X509_CN_PROPERTY_NAME));
  }
  absl::string_view authorization() const override { return Metadata("authorization"); }
  absl::string_view traceparent() const override { return Metadata("traceparent"); }
  std::chrono::system_clock::time_point deadline() const override { return context_.deadline(); }
  bool IsCancelled() const override { return context_.IsCancelled(); }
  void Cancel() override { context_.TryCancel(); }

  Protocol protocol() const override { return Protocol::kGrpc; }
  const Bytes& request() const override { return request_; }
  void End(const absl::Status& status, absl::string_view trace_id) override {
    Reactor::Finish(ToGrpcStatus(status, trace_id));
  }

  void OnDone() override {
    if (unread_ != nullptr) unread_->Release(*this);
    delete this;
  }

 private:
  // gRPC copies all metadata at the first.
  absl::string_view Metadata(const char* name) const {
    const auto& all = context_.client_metadata();
    const auto sent = all.find(name);
    if (sent == all.end()) return "";
    return absl::string_view(sent->second.data(), sent->second.size());
  }

  UnreadAnswers* const unread_;
  grpc::CallbackServerContext& context_;
  const Bytes& request_;
};

class GrpcUnaryCall final : public GrpcCall<grpc::ServerUnaryReactor, UnaryTransport> {
 public:
  GrpcUnaryCall(UnreadAnswers* unread, grpc::CallbackServerContext* context, const Bytes* request,
                Bytes* response)
      : GrpcCall(unread, context, request), response_(response) {}

  Bytes* response() override { return response_; }

 private:
  // gRPC would run OnDone(), which is short, on a thread of another pool.
  bool InternalInlineable() override { return true; }

  Bytes* const response_;
};

class GrpcStreamCall final : public GrpcCall<grpc::ServerWriteReactor<Bytes>, StreamTransport> {
 public:
  using GrpcCall::GrpcCall;

  void Answer(Method& method) { call_ = std::get<StreamHandler>(method.handler)(method, *this); }

  void Write(const Bytes* bytes) override { StartWrite(bytes); }
  void OnWriteDone(bool ok) override { call_->OnWriteDone(ok); }
  void OnCancel() override { call_->OnCancel(); }

 private:
  std::unique_ptr<StreamCall> call_;
};

grpc::internal::MethodHandler* HandlerOf(Method& method) {
  if (std::holds_alternative<StreamHandler>(method.handler)) {
    return new grpc::internal::CallbackServerStreamingHandler<Bytes, Bytes>(
        [&method](grpc::CallbackServerContext* context, const Bytes* request) {
          auto* call = new GrpcStreamCall(method.unread, context, request);
          call->Answer(method);  // gRPC reports nothing to the call before this returns
          return call;
        });
  }
  return new grpc::internal::CallbackUnaryHandler<Bytes, Bytes>(
      [&method](grpc::CallbackServerContext* context, const Bytes* request, Bytes* response) {
        auto* call = new GrpcUnaryCall(method.unread, context, request, response);
        std::get<UnaryHandler>(method.handler)(method, *call);
        return call;
      });
}

}  // namespace

GrpcService::GrpcService(server::Service& service) {
  for (Method& method : service.methods()) {
    paths_.push_back(absl::StrCat("/", method.name));
    const bool streams = std::holds_alternative<StreamHandler>(method.handler);
    AddMethod(new grpc::internal::RpcServiceMethod(paths_.back().c_str(),
                                                   streams
                                                       ? grpc::internal::RpcMethod::SERVER_STREAMING
                                                       : grpc::internal::RpcMethod::NORMAL_RPC,
                                                   nullptr));
    MarkMethodRawCallback(static_cast<int>(paths_.size()) - 1, HandlerOf(method));
  }
}

}  // namespace sextant::server
