// A private server for the length of one command, where no other serves.
#ifndef SEXTANT_CLIENT_IO_LOCAL_SERVER_H_
#define SEXTANT_CLIENT_IO_LOCAL_SERVER_H_

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"

namespace sextant::client {

// False where `address` is "HOST:PORT" with a numeric host, and connections to it are refused.
bool IsServed(const std::string& address);

// A sextantd on a unix socket in a folder that only this user can enter. Ends, and its folder goes,
// with this object, and with this process where SIGINT, SIGTERM or SIGHUP end it. One at a time.
class LocalServer {
 public:
  LocalServer() = default;
  ~LocalServer();
  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;

  // Starts the sextantd in the folder of this program, else that in $PATH, and waits until it
  // serves. Before any use of gRPC: it forks.
  //
  // Errors: kNotFound where there is no sextantd; kUnavailable, with its last words, where it does
  // not serve.
  absl::Status Start();

  const std::string& address() const { return address_; }  // "unix:PATH"

 private:
  pid_t child_ = -1;
  int log_ = -1;  // the read end of its stderr
  std::string folder_;
  std::string address_;
};

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_IO_LOCAL_SERVER_H_
