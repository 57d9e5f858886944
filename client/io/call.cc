#include "client/io/call.h"

#include <grpc/grpc.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <chrono>

#include "absl/strings/str_cat.h"
#include "client/io/call_error.h"
#include "client/io/message_file.h"
#include "client/io/text_file.h"

namespace sextant::client {
namespace {

constexpr char kPrinted[] = "a request, printed";  // no google.rpc.Status

}  // namespace

const char* ClientVersion() { return SEXTANT_VERSION; }

std::shared_ptr<grpc::Channel> NewChannel(const ServerAddress& server) {
  grpc::ChannelArguments arguments;
  arguments.SetUserAgentPrefix(absl::StrCat("sextant/", ClientVersion()));
  // Otherwise gRPC would send even 127.0.0.1 through $http_proxy, which clusters often set.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(server.address, grpc::InsecureChannelCredentials(), arguments);
}

void SetDeadline(const ServerAddress& server, grpc::ClientContext* context) {
  const std::chrono::duration<double> timeout(server.timeout_seconds);
  context->set_deadline(std::chrono::system_clock::now() +
                        std::chrono::duration_cast<std::chrono::system_clock::duration>(timeout));
}

grpc::Status CheckSize(const google::protobuf::Message& request) {
  const size_t size = request.ByteSizeLong();
  if (size <= kMaxRequestBytes) return grpc::Status::OK;
  return RefusalStatus("REQUEST_TOO_LARGE",
                       absl::StrCat("the request takes ", size, " bytes; the limit is 1 MiB (",
                                    kMaxRequestBytes, " bytes)"));
}

grpc::Status Printed(const google::protobuf::Message& request) {
  return {grpc::StatusCode::OUT_OF_RANGE, ProtoJson(request), kPrinted};
}

bool IsPrinted(const grpc::Status& status) { return status.error_details() == kPrinted; }

}  // namespace sextant::client
