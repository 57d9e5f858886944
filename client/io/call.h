// Calls to the server.
#ifndef SEXTANT_CLIENT_IO_CALL_H_
#define SEXTANT_CLIENT_IO_CALL_H_

#include <google/protobuf/message.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>

namespace sextant::client {

// Files by which server and caller show each other who they are; empty: none is used.
struct IdentityFiles {
  std::string ca;           // PEM: who signed the server's certificate
  std::string certificate;  // PEM: the caller's, and its chain
  std::string key;          // PEM
  std::string token;        // the caller's bearer token
};

// The server's address, how to show who calls, and how long to wait for its answer.
struct ServerAddress {
  std::string address = "127.0.0.1:50051";  // or "unix:PATH"
  IdentityFiles files = {};
  double timeout_seconds = 10;
  bool prints_requests = false;  // in place of sending them
};

// The client's version, which it sends to the server, as CMakeLists.txt's project() states it, e.g.
// "0.1.0".
const char* ClientVersion();

std::shared_ptr<grpc::Channel> NewChannel(const ServerAddress& server);

// Puts the caller's token into `context`, and the time when the call ends unanswered.
void PrepareContext(const ServerAddress& server, grpc::ClientContext* context);

// Checks `server`'s files: returns an error text if one can't be read, needs another, holds no
// token where it should, or would send the token to another host in plain text, else "".
std::string CheckIdentityFiles(const ServerAddress& server);

// Checks that the server takes a request of this size. Errors: INVALID_ARGUMENT with reason
// REQUEST_TOO_LARGE above kMaxRequestBytes.
grpc::Status CheckSize(const google::protobuf::Message& request);

// The status of a call whose request is to be printed in place of being sent, which its message
// holds in JSON; no call fails with it.
grpc::Status Printed(const google::protobuf::Message& request);
bool IsPrinted(const grpc::Status& status);

// The status of a call that the user's signal cancelled; and that signal, 0 of any other status.
grpc::Status Interrupted(int signal_number, const std::string& what_stopped);
int SignalOf(const grpc::Status& status);

// Calls `method` of a service's stub, e.g. &v1::PlanningService::Stub::PlanRun.
//
// Errors: CheckSize()'s, with nothing sent; Printed(), if server.prints_requests; else the
// server's, and gRPC's own.
template <typename Stub, typename Request, typename Response>
grpc::Status Call(const ServerAddress& server,
                  grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                  const Request& request, Response* response) {
  grpc::Status checked = CheckSize(request);
  if (!checked.ok()) return checked;
  if (server.prints_requests) return Printed(request);
  grpc::ClientContext context;
  PrepareContext(server, &context);
  Stub stub(NewChannel(server));
  return (stub.*method)(&context, request, response);
}

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_IO_CALL_H_
