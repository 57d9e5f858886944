// Who calls, and what each caller may call.
#ifndef SEXTANT_SERVER_SECURITY_ACCESS_H_
#define SEXTANT_SERVER_SECURITY_ACCESS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/security/watched_file.h"

namespace sextant::server {

// The properties of a caller that are known before its request is read.
struct Caller {
  bool is_by_unix_socket = false;
  bool is_on_this_host = false;          // by a Unix socket or a loopback address
  std::string certificate_name = {};     // of the certificate that it showed; empty: none
  absl::string_view authorization = {};  // "Bearer <token>"; empty: none
};

struct AccessOptions {
  bool demands_certificate = false;
  std::string token_file = {};  // empty: no tokens
  std::string access_file =
      {};  // empty: every known caller may call everything that is not privileged
  bool allows_remote_probe = false;
  bool allows_remote_reports = false;
};

// A line of the token file: who sends which token, until when.
struct Token {
  std::string name;
  std::string sha256;
  absl::Time expires = absl::InfiniteFuture();
};

// Reads lines "NAME TOKEN [EXPIRES]", EXPIRES as RFC 3339 has it; "#" begins a comment.
//
// Errors: kInvalidArgument naming the line, never the token.
absl::StatusOr<std::vector<Token>> ParseTokens(absl::string_view text);

// A line of the access file: the callers of one method, or of all that no line names.
struct AccessRule {
  std::string method;              // "RunProbe", or "*"
  std::vector<std::string> names;  // or "*": every known caller
};

// Reads lines "METHOD NAME...".
//
// Errors: kInvalidArgument naming the line.
absl::StatusOr<std::vector<AccessRule>> ParseAccessRules(absl::string_view text);

// Thread-safe. Callers by a Unix socket are let in: who may open it, the file's mode says. All
// others show what the options demand, a certificate, a token or both, and are then held against
// the rules. RunProbe, which takes GPUs from their jobs, and ReportProgress, which says what jobs
// do, are closed to other hosts unless a rule or an option opens them.
class Access {
 public:
  // Errors: kInvalidArgument naming the flag and file that can't be read.
  static absl::StatusOr<std::unique_ptr<Access>> Load(const AccessOptions& options);

  // False where every caller may call `method`.
  bool Concerns(absl::string_view method) const;

  // The name of `caller`, empty where none is demanded.
  //
  // Errors: kUnauthenticated with reason IDENTITY_MISSING.
  absl::StatusOr<std::string> NameOf(const Caller& caller, absl::Time now) const;

  // The same, if it may call `method`, e.g. "sextant.v1.PlanningService/PlanRun".
  //
  // Errors: kUnauthenticated with reason IDENTITY_MISSING, kPermissionDenied with IDENTITY_REFUSED.
  absl::StatusOr<std::string> Admit(absl::string_view method, const Caller& caller,
                                    absl::Time now) const;

 private:
  explicit Access(const AccessOptions& options) : options_(options) {}

  absl::Status Check(absl::string_view method, const Caller& caller, absl::string_view name) const;

  const AccessOptions options_;
  std::unique_ptr<WatchedFile<std::vector<Token>>> tokens_;
  std::unique_ptr<WatchedFile<std::vector<AccessRule>>> rules_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_SECURITY_ACCESS_H_
