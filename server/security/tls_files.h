// The server's certificate, and whose certificates it takes from callers.
#ifndef SEXTANT_SERVER_SECURITY_TLS_FILES_H_
#define SEXTANT_SERVER_SECURITY_TLS_FILES_H_

#include <grpcpp/security/server_credentials.h>
#include <openssl/ssl.h>
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/security/watched_file.h"

namespace sextant::server {

// Paths of PEM files.
struct TlsFiles {
  std::string certificate;  // and the chain to its root
  std::string key;
  std::string client_ca = {};   // empty: callers show no certificate
  std::string client_crl = {};  // lists of revoked ones; empty: none is
};

// A file in memory, under a path that stays as its content is replaced as a whole.
class MemoryFile {
 public:
  explicit MemoryFile(absl::string_view content = "");
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile();

  std::string path() const;
  // Has what `other` holds.
  void Replace(const MemoryFile& other);

 private:
  int descriptor_;
};

// The name of a certificate's holder: its first URI, as SPIFFE has it, else its common name. An
// authority checks the two differently, so that a common name which begins as a URI does
// ("spiffe:") is none. Empty: it has no name.
std::string NameOfHolder(std::string uri, std::string common_name);
std::string NameOfCertificate(X509* certificate);

// The content of the files, read again as they change: both ports have it from here, and neither
// sees a wrong version. Thread-safe. Its metric is when the certificate in use expires: a server
// whose files nobody renews goes on, and callers refuse it.
class TlsContext final : public prometheus::Collectable {
 public:
  // Errors: kInvalidArgument naming the flag: a file can't be read, the key is not the
  // certificate's, or the certificate is not valid now.
  static absl::StatusOr<std::unique_ptr<TlsContext>> Load(const TlsFiles& files);

  // Credentials of a gRPC port, where callers show a certificate if there is a client_ca. They use
  // this context.
  std::shared_ptr<grpc::ServerCredentials> GrpcCredentials() const;

  // Looks whether the files have changed, at most once a second.
  void Refresh();

  // A new HTTP connection's end, with the newest files that are good. A caller's certificate is
  // asked for where there is a client_ca, and may be missing.
  std::unique_ptr<SSL, void (*)(SSL*)> NewConnection();

  // Returns true where the newest files let in the holder of `certificate`, which sent the
  // authorities of `chain` with it. Both are PEM.
  bool LetsIn(absl::string_view certificate, absl::string_view chain) const;

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  using Context = std::shared_ptr<SSL_CTX>;

  explicit TlsContext(const TlsFiles& files) : files_(files) {}
  // Reads and checks the files, and takes them as the newest.
  absl::Status Read();
  // Has `context` check the certificates that callers show.
  absl::Status CheckCallers(const MemoryFile& client_ca, absl::string_view crl_text,
                            SSL_CTX* context) const;
  std::vector<FileVersion> Versions() const;
  Context Newest() const;

  const TlsFiles files_;
  // The files that gRPC reads: certificate and key in one, and the CA.
  MemoryFile identity_;
  MemoryFile client_ca_;
  mutable std::mutex mutex_;
  std::vector<FileVersion> versions_;
  std::chrono::steady_clock::time_point next_look_;
  Context context_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_SECURITY_TLS_FILES_H_
