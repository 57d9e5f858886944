#include "server/security/tls_files.h"

#include <fcntl.h>
#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "server/base/log.h"

namespace sextant::server {
namespace {

constexpr unsigned kRefreshSeconds = 1;

// The first that OpenSSL says of its last failure; forgets the rest.
std::string LastError() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const reason = ERR_reason_error_string(code);
  return reason == nullptr ? "it can't be read" : reason;
}

absl::Status Wrong(absl::string_view flag, absl::string_view path, absl::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat(flag, "=", path, ": ", reason));
}

std::string TextOf(const ASN1_STRING* text) {
  return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                     static_cast<size_t>(ASN1_STRING_length(text)));
}

// The first URI of the subject's other names; empty: none.
std::string UriOf(X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, void (*)(GENERAL_NAMES*)> names(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      GENERAL_NAMES_free);
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_URI) return TextOf(name->d.uniformResourceIdentifier);
  }
  return "";
}

std::string CommonNameOf(X509* certificate) {
  X509_NAME* const subject = X509_get_subject_name(certificate);
  const int place = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  return place < 0 ? "" : TextOf(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, place)));
}

// RFC 3986 section 3.1.
bool BeginsAsUri(absl::string_view text) {
  const size_t colon = text.find(':');
  if (colon == absl::string_view::npos ||
      !absl::ascii_isalpha(static_cast<unsigned char>(text[0]))) {
    return false;
  }
  const absl::string_view scheme = text.substr(0, colon);
  return std::all_of(scheme.begin(), scheme.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '+' || c == '-' || c == '.';
  });
}

using Bio = std::unique_ptr<BIO, int (*)(BIO*)>;

Bio BioOf(absl::string_view text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free};
}

// Has `store` refuse what the lists of `text` revoke, and authorities without a list: a chain
// is looked up whole. Returns what is wrong; empty: nothing.
std::string AddRevocations(absl::string_view text, X509_STORE* store) {
  const Bio in = BioOf(text);
  int count = 0;
  while (true) {
    const std::unique_ptr<X509_CRL, void (*)(X509_CRL*)> list(
        PEM_read_bio_X509_CRL(in.get(), nullptr, nullptr, nullptr), X509_CRL_free);
    if (list == nullptr) break;
    const ASN1_TIME* const next = X509_CRL_get0_nextUpdate(list.get());
    if (next != nullptr && X509_cmp_current_time(next) < 0) return "a list has expired";
    if (X509_STORE_add_crl(store, list.get()) != 1) return LastError();
    ++count;
  }
  const bool is_at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (count == 0 || !is_at_end) return LastError();
  ERR_clear_error();
  X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
  return "";
}

// gRPC reads no list from memory: it checks a chain by its own copy of the authorities, and then
// asks here.
class RevocationCheck final : public grpc::experimental::ExternalCertificateVerifier {
 public:
  explicit RevocationCheck(const TlsContext& context) : context_(context) {}

  bool Verify(grpc::experimental::TlsCustomVerificationCheckRequest* request,
              std::function<void(grpc::Status)>, grpc::Status* sync_status) override {
    const grpc::string_ref own = request->peer_cert();
    const grpc::string_ref chain = request->peer_cert_full_chain();  // may lack it
    if (!context_.LetsIn({own.data(), own.size()}, {chain.data(), chain.size()})) {
      *sync_status = {grpc::StatusCode::UNAUTHENTICATED, "the certificate is revoked"};
    }
    return true;  // done
  }
  void Cancel(grpc::experimental::TlsCustomVerificationCheckRequest*) override {}

 private:
  const TlsContext& context_;
};

// A wrong certificate of a caller ends the handshake; a missing one does not.
int RefuseWrong(int is_good, X509_STORE_CTX*) { return is_good; }

}  // namespace

MemoryFile::MemoryFile(absl::string_view content)
    : descriptor_(memfd_create("sextantd", MFD_CLOEXEC)) {
  while (!content.empty()) {
    const ssize_t written = write(descriptor_, content.data(), content.size());
    if (written <= 0) return;  // out of memory: what is read is then refused
    content.remove_prefix(static_cast<size_t>(written));
  }
}

MemoryFile::~MemoryFile() { close(descriptor_); }

std::string MemoryFile::path() const { return absl::StrCat("/proc/self/fd/", descriptor_); }

void MemoryFile::Replace(const MemoryFile& other) {
  dup3(other.descriptor_, descriptor_, O_CLOEXEC);
}

std::string NameOfHolder(std::string uri, std::string common_name) {
  if (!uri.empty()) return uri;
  return BeginsAsUri(common_name) ? "" : std::move(common_name);
}

std::string NameOfCertificate(X509* certificate) {
  return NameOfHolder(UriOf(certificate), CommonNameOf(certificate));
}

absl::StatusOr<std::unique_ptr<TlsContext>> TlsContext::Load(const TlsFiles& files) {
  std::unique_ptr<TlsContext> out(new TlsContext(files));
  out->versions_ = out->Versions();
  SEXTANT_RETURN_IF_ERROR(out->Read());
  return out;
}

std::shared_ptr<grpc::ServerCredentials> TlsContext::GrpcCredentials() const {
  using grpc::experimental::FileWatcherCertificateProvider;
  const auto provider = std::make_shared<FileWatcherCertificateProvider>(
      identity_.path(), identity_.path(), files_.client_ca.empty() ? "" : client_ca_.path(),
      kRefreshSeconds);
  grpc::experimental::TlsServerCredentialsOptions options(provider);
  options.watch_identity_key_cert_pairs();
  if (!files_.client_ca.empty()) {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    if (!files_.client_crl.empty()) {
      options.set_certificate_verifier(
          grpc::experimental::ExternalCertificateVerifier::Create<RevocationCheck>(*this));
    }
  }
  return grpc::experimental::TlsServerCredentials(options);
}

std::vector<FileVersion> TlsContext::Versions() const {
  return {FileVersion(files_.certificate), FileVersion(files_.key), FileVersion(files_.client_ca),
          FileVersion(files_.client_crl)};
}

absl::Status TlsContext::CheckCallers(const MemoryFile& client_ca, absl::string_view crl_text,
                                      SSL_CTX* context) const {
  if (SSL_CTX_load_verify_file(context, client_ca.path().c_str()) != 1) {
    return Wrong("--tls_client_ca", files_.client_ca, LastError());
  }
  if (!files_.client_crl.empty()) {
    const std::string wrong = AddRevocations(crl_text, SSL_CTX_get_cert_store(context));
    if (!wrong.empty()) return Wrong("--tls_client_crl", files_.client_crl, wrong);
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, RefuseWrong);
  // A resumed session would skip the check against a CA that was replaced meanwhile.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  return absl::OkStatus();
}

absl::Status TlsContext::Read() {
  const auto content = [](absl::string_view flag,
                          const std::string& path) -> absl::StatusOr<std::string> {
    if (path.empty()) return std::string();
    absl::StatusOr<std::string> text = ReadSmallFile(path);
    return text.ok() ? std::move(text) : Wrong(flag, path, text.status().message());
  };
  SEXTANT_ASSIGN_OR_RETURN(const std::string certificate_text,
                           content("--tls_certificate", files_.certificate));
  SEXTANT_ASSIGN_OR_RETURN(const std::string key_text, content("--tls_key", files_.key));
  SEXTANT_ASSIGN_OR_RETURN(const std::string ca_text, content("--tls_client_ca", files_.client_ca));
  SEXTANT_ASSIGN_OR_RETURN(const std::string crl_text,
                           content("--tls_client_crl", files_.client_crl));
  const MemoryFile identity(absl::StrCat(certificate_text, "\n", key_text));
  const MemoryFile client_ca(ca_text);

  const Context context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (context == nullptr) return absl::InternalError("OpenSSL gives no context");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  if (SSL_CTX_use_certificate_chain_file(context.get(), identity.path().c_str()) != 1) {
    return Wrong("--tls_certificate", files_.certificate, LastError());
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), identity.path().c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1) {
    return Wrong("--tls_key", files_.key, LastError());
  }
  const X509* const certificate = SSL_CTX_get0_certificate(context.get());
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0) {
    return Wrong("--tls_certificate", files_.certificate, "the certificate has expired");
  }
  if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0) {
    return Wrong("--tls_certificate", files_.certificate, "the certificate is not valid yet");
  }
  if (!files_.client_ca.empty()) {
    SEXTANT_RETURN_IF_ERROR(CheckCallers(client_ca, crl_text, context.get()));
  }
  context_ = context;
  identity_.Replace(identity);
  client_ca_.Replace(client_ca);
  return absl::OkStatus();
}

void TlsContext::Refresh() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return;
  next_look_ = now + std::chrono::seconds(kRefreshSeconds);
  std::vector<FileVersion> versions = Versions();
  if (versions == versions_) return;
  versions_ = std::move(versions);
  if (const absl::Status read = Read(); read.ok()) {
    LogEvent(LogLevel::kInfo, "certificate_read_again", {{"path", files_.certificate}});
  } else {
    LogEvent(LogLevel::kError, "certificate_not_read_again",
             {{"reason", std::string(read.message())}});
  }
}

std::unique_ptr<SSL, void (*)(SSL*)> TlsContext::NewConnection() {
  Refresh();
  const std::lock_guard<std::mutex> lock(mutex_);
  return {SSL_new(context_.get()), SSL_free};
}

TlsContext::Context TlsContext::Newest() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return context_;
}

bool TlsContext::LetsIn(absl::string_view certificate, absl::string_view chain) const {
  using Certificate = std::unique_ptr<X509, void (*)(X509*)>;
  const Context context = Newest();
  const auto next = [](const Bio& in) {
    return Certificate(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr), X509_free);
  };
  const Certificate own = next(BioOf(certificate));
  const std::unique_ptr<STACK_OF(X509), void (*)(STACK_OF(X509)*)> others(
      sk_X509_new_null(), [](STACK_OF(X509) * all) { sk_X509_pop_free(all, X509_free); });
  const Bio in = BioOf(chain);
  while (Certificate other = next(in)) sk_X509_push(others.get(), other.release());
  const std::unique_ptr<X509_STORE_CTX, void (*)(X509_STORE_CTX*)> check(X509_STORE_CTX_new(),
                                                                         X509_STORE_CTX_free);
  const bool lets_in = X509_STORE_CTX_init(check.get(), SSL_CTX_get_cert_store(context.get()),
                                           own.get(), others.get()) == 1 &&
                       X509_STORE_CTX_set_default(check.get(), "ssl_client") == 1 &&
                       X509_verify_cert(check.get()) == 1;
  ERR_clear_error();  // of this thread, which is gRPC's
  return lets_in;
}

std::vector<prometheus::MetricFamily> TlsContext::Collect() const {
  const Context context = Newest();
  const X509* const certificate = SSL_CTX_get0_certificate(context.get());
  std::tm expires = {};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &expires) != 1) return {};
  prometheus::ClientMetric metric;
  metric.gauge.value = static_cast<double>(timegm(&expires));
  return {{.name = "sextant_tls_certificate_expiry_timestamp_seconds",
           .help = "When the certificate in use expires, in Unix time.",
           .type = prometheus::MetricType::Gauge,
           .metric = {metric}}};
}

}  // namespace sextant::server
