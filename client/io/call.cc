#include "client/io/call.h"

#include <grpc/grpc.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <chrono>
#include <iostream>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "client/io/call_error.h"
#include "client/io/message_file.h"
#include "client/io/text_file.h"

namespace sextant::client {
namespace {

// Details that are not a google.rpc.Status.
constexpr char kPrinted[] = "a request, printed";
constexpr absl::string_view kInterrupted = "interrupted by signal ";

bool IsOnThisHost(absl::string_view address) {
  for (const char* start : {"unix:", "127.", "localhost:", "[::1]:"}) {
    if (absl::StartsWith(address, start)) return true;
  }
  return false;
}

// Empty for "", and where the file can't be read: the call then fails, and its error says why.
std::string ContentOf(const std::string& file) {
  if (file.empty()) return "";
  return ReadText(file, std::cin).value_or("");
}

// Why `token` can't be one, quoting none of it; "" where it can. Tokens have printable characters
// of ASCII alone (RFC 6750, section 2.1): gRPC would end the program over any other, and log it.
std::string WhyNoToken(absl::string_view token) {
  if (token.empty()) return "holds no token";
  if (absl::c_linear_search(token, '\n')) return "holds more than one line";
  if (absl::c_all_of(token, absl::ascii_isgraph)) return "";
  return "holds a blank, or a byte outside of printable ASCII";
}

// The token in `file`; "" where its content can't be one.
std::string TokenOf(const std::string& file) {
  const std::string content = ContentOf(file);
  const absl::string_view token = absl::StripAsciiWhitespace(content);
  return WhyNoToken(token).empty() ? std::string(token) : "";
}

std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const IdentityFiles& files) {
  if (files.ca.empty()) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({.pem_root_certs = ContentOf(files.ca),
                               .pem_private_key = ContentOf(files.key),
                               .pem_cert_chain = ContentOf(files.certificate)});
}

}  // namespace

const char* ClientVersion() { return SEXTANT_VERSION; }

std::shared_ptr<grpc::Channel> NewChannel(const ServerAddress& server) {
  grpc::ChannelArguments arguments;
  arguments.SetUserAgentPrefix(absl::StrCat("sextant/", ClientVersion()));
  // Otherwise gRPC would send even 127.0.0.1 through $http_proxy, which clusters often set.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(server.address, CredentialsOf(server.files), arguments);
}

std::string CheckIdentityFiles(const ServerAddress& server) {
  const IdentityFiles& files = server.files;
  for (const auto& [flag, file] : {std::pair{"--tls-ca", files.ca},
                                   {"--tls-certificate", files.certificate},
                                   {"--tls-key", files.key},
                                   {"--token-file", files.token}}) {
    const std::string why = file.empty() ? "" : WhyUnreadable(file);
    if (!why.empty()) return absl::StrCat(flag, ": cannot read ", file, ": ", why);
  }
  if (files.certificate.empty() != files.key.empty()) {
    return "--tls-certificate and --tls-key go together";
  }
  if (files.ca.empty() && !files.certificate.empty()) {
    return "--tls-certificate needs --tls-ca: who signed the server's certificate";
  }
  if (files.ca.empty() && !files.token.empty() && !IsOnThisHost(server.address)) {
    return "--token-file needs --tls-ca: the token would travel in plain text";
  }
  if (files.token.empty()) return "";
  const std::string wrong = WhyNoToken(absl::StripAsciiWhitespace(ContentOf(files.token)));
  return wrong.empty() ? "" : absl::StrCat("--token-file: ", files.token, " ", wrong);
}

void PrepareContext(const ServerAddress& server, grpc::ClientContext* context) {
  const std::string token = TokenOf(server.files.token);
  if (!token.empty()) context->AddMetadata("authorization", absl::StrCat("Bearer ", token));
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

grpc::Status Interrupted(int signal_number, const std::string& what_stopped) {
  return {grpc::StatusCode::CANCELLED, absl::StrCat("interrupted: ", what_stopped),
          absl::StrCat(kInterrupted, signal_number)};
}

int SignalOf(const grpc::Status& status) {
  const std::string details = status.error_details();
  absl::string_view number = details;
  int out = 0;
  if (!absl::ConsumePrefix(&number, kInterrupted)) return 0;
  return absl::SimpleAtoi(number, &out) ? out : 0;
}

}  // namespace sextant::client
