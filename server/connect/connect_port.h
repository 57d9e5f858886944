// The API by the Connect protocol: POST /<package.Service>/<Method>, and GET where a method has no
// side effects. Source: connectrpc.com, "Connect Protocol Reference".
#ifndef SEXTANT_SERVER_CONNECT_CONNECT_PORT_H_
#define SEXTANT_SERVER_CONNECT_CONNECT_PORT_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/call/service.h"
#include "server/connect/connect_call.h"
#include "server/connect/open_calls.h"
#include "server/listen/http_exchange.h"

namespace sextant::server {

// Thread-safe. Handlers run where they do for gRPC, but for the start of each on the connection's
// thread.
class ConnectPort {
 public:
  // Offers all methods of `services`, which outlive it.
  //
  // Errors: kInternal naming a method that no .proto file has.
  static absl::StatusOr<std::unique_ptr<ConnectPort>> Of(const std::vector<Service*>& services);

  // Cancels the calls that are under way, and waits for their handlers. No Answer() is.
  ~ConnectPort();

  // Answers the request, or returns false where its path is of no method.
  bool Answer(HttpExchange& exchange);

  // Ends the calls that are under way, and further ones, with Draining().
  void CancelCalls() { open_->CancelAll(); }
  // Waits for the calls that are under way to end, and for their answers to be sent.
  void AwaitCalls() { open_->AwaitNone(); }

 private:
  ConnectPort() = default;

  std::map<std::string, ConnectMethod, std::less<>> methods_;  // by path
  const ConnectMethod* admit_ = nullptr;                       // null: a role without it
  const std::shared_ptr<OpenCalls> open_ = std::make_shared<OpenCalls>();
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONNECT_CONNECT_PORT_H_
