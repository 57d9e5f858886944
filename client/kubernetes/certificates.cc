#include "client/kubernetes/certificates.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace sextant::client {
namespace {

constexpr absl::Duration kAuthorityLife = absl::Hours(24 * 3650);
constexpr absl::Duration kServerLife = absl::Hours(24 * 90);
constexpr char kCertificate[] = "tls.crt";
constexpr char kKey[] = "tls.key";

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Memory = std::unique_ptr<BIO, decltype(&BIO_free_all)>;

Memory Reading(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free_all};
}

Certificate ReadCertificate(const std::string& pem) {
  return {PEM_read_bio_X509(Reading(pem).get(), nullptr, nullptr, nullptr), X509_free};
}

std::string Written(const Memory& memory) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &bytes);
  return {bytes, static_cast<size_t>(size)};
}

// Adds an extension as openssl.cnf words it.
bool Extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const made = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  const bool added = made != nullptr && X509_add_ext(certificate, made, -1) == 1;
  X509_EXTENSION_free(made);
  return added;
}

// Valid from a day ago, by clocks that differ.
bool Fill(X509* certificate, const std::string& name, absl::Duration life, EVP_PKEY* key) {
  std::array<unsigned char, 16> serial;
  if (RAND_bytes(serial.data(), serial.size()) != 1) return false;
  serial[0] &= 0x7F;
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> number(
      BN_bin2bn(serial.data(), serial.size(), nullptr), BN_free);
  // A common name has 64 characters at most.
  const std::string common = name.substr(0, 64);
  return X509_set_version(certificate, X509_VERSION_3) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr &&
         X509_gmtime_adj(X509_getm_notBefore(certificate), -86'400) != nullptr &&
         X509_gmtime_adj(X509_getm_notAfter(certificate), absl::ToInt64Seconds(life)) != nullptr &&
         X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(common.c_str()), -1, -1,
                                    0) == 1 &&
         X509_set_pubkey(certificate, key) == 1;
}

// The value of a Secret; "" where it lacks it.
std::string SecretText(const Json& secret, const char* name) {
  const Json& data = At(secret, "data");
  std::string out;
  const bool is_there = data.is_object() && data.contains(name) && data[name].is_string() &&
                        absl::Base64Unescape(data[name].get<std::string>(), &out);
  return is_there ? out : "";
}

// Writes a Secret, new or in the place of `there`.
absl::Status WriteSecret(const KubernetesApi& api, const std::string& name_space,
                         const std::string& name, const absl::StatusOr<Json>& there,
                         const Identity& identity) {
  Json secret = there.ok() ? *there
                           : Json{{"apiVersion", "v1"},
                                  {"kind", "Secret"},
                                  {"type", "kubernetes.io/tls"},
                                  {"metadata", {{"name", name}, {"namespace", name_space}}}};
  secret["data"][kCertificate] = absl::Base64Escape(identity.certificate);
  secret["data"][kKey] = absl::Base64Escape(identity.key);
  if (!identity.authority.empty()) {  // for planners' callers
    secret["data"]["ca.crt"] = absl::Base64Escape(identity.authority);
  }
  const std::string all = absl::StrCat("/api/v1/namespaces/", name_space, "/secrets");
  return there.ok() ? api.Replace(absl::StrCat(all, "/", name), secret).status()
                    : api.Create(all, secret).status();
}

// The identity in a Secret, made anew by `make` where it has less than a third of `life` left.
template <typename Make>
absl::StatusOr<Identity> KeptIdentity(const KubernetesApi& api, const std::string& name_space,
                                      const std::string& name, absl::Duration life, Make make) {
  const absl::StatusOr<Json> there =
      api.Get(absl::StrCat("/api/v1/namespaces/", name_space, "/secrets/", name));
  if (!there.ok() && !absl::IsNotFound(there.status())) return there.status();
  Identity kept;
  if (there.ok()) {
    kept = {.certificate = SecretText(*there, kCertificate), .key = SecretText(*there, kKey)};
    if (LifeLeft(kept.certificate) > life / 3) return kept;
  }
  absl::StatusOr<Identity> made = make(kept);
  if (!made.ok()) return made;
  const absl::Status written = WriteSecret(api, name_space, name, there, *made);
  if (!written.ok()) return written;
  return made;
}

absl::Status TrustAuthority(const KubernetesApi& api, const std::string& webhook,
                            const std::string& bundle) {
  const std::string path = absl::StrCat(
      "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/", webhook);
  absl::StatusOr<Json> there = api.Get(path);
  if (!there.ok()) return there.status();
  const std::string text = absl::Base64Escape(bundle);
  bool is_known = true;
  for (Json& hook : (*there)["webhooks"]) {
    is_known = is_known && TextAt(hook, "clientConfig.caBundle") == text;
    hook["clientConfig"]["caBundle"] = text;
  }
  return is_known ? absl::OkStatus() : api.Replace(path, *there).status();
}

}  // namespace

absl::StatusOr<Identity> NewIdentity(const std::string& name, absl::Duration life,
                                     const Identity* authority) {
  const Key key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const Certificate certificate(X509_new(), X509_free);
  Certificate issuer(nullptr, X509_free);
  Key issuer_key(nullptr, EVP_PKEY_free);
  if (authority != nullptr) {
    issuer = ReadCertificate(authority->certificate);
    issuer_key.reset(
        PEM_read_bio_PrivateKey(Reading(authority->key).get(), nullptr, nullptr, nullptr));
    if (issuer == nullptr || issuer_key == nullptr) {
      return absl::InvalidArgumentError("the authority's certificate or key can't be read");
    }
  }
  X509* const signer = issuer == nullptr ? certificate.get() : issuer.get();
  bool made = key != nullptr && certificate != nullptr &&
              Fill(certificate.get(), name, life, key.get()) &&
              X509_set_issuer_name(certificate.get(), X509_get_subject_name(signer)) == 1;
  if (authority == nullptr) {
    made = made && Extend(certificate.get(), signer, NID_basic_constraints, "critical,CA:TRUE") &&
           Extend(certificate.get(), signer, NID_key_usage, "critical,keyCertSign");
  } else {
    made = made && Extend(certificate.get(), signer, NID_basic_constraints, "critical,CA:FALSE") &&
           Extend(certificate.get(), signer, NID_ext_key_usage, "serverAuth") &&
           Extend(certificate.get(), signer, NID_subject_alt_name, absl::StrCat("DNS:", name));
  }
  EVP_PKEY* const signing = issuer_key == nullptr ? key.get() : issuer_key.get();
  made = made && X509_sign(certificate.get(), signing, EVP_sha256()) > 0;
  const Memory text(BIO_new(BIO_s_mem()), BIO_free_all);
  const Memory key_text(BIO_new(BIO_s_mem()), BIO_free_all);
  made = made && PEM_write_bio_X509(text.get(), certificate.get()) == 1 &&
         PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr,
                                  nullptr) == 1;
  if (!made) return absl::InternalError("OpenSSL makes no certificate");
  return Identity{.certificate = Written(text),
                  .key = Written(key_text),
                  .authority = authority == nullptr ? "" : authority->certificate};
}

absl::Duration LifeLeft(const std::string& pem) {
  const Certificate certificate = ReadCertificate(pem);
  int days = 0;
  int seconds = 0;
  if (certificate == nullptr ||
      ASN1_TIME_diff(&days, &seconds, nullptr, X509_get0_notAfter(certificate.get())) != 1) {
    return absl::ZeroDuration();
  }
  return absl::Hours(24) * days + absl::Seconds(seconds);
}

absl::Status RenewCertificate(const KubernetesApi& api, const WebhookCertificate& what) {
  const auto new_authority = [](const Identity& old) {
    absl::StatusOr<Identity> made = NewIdentity("sextant webhook", kAuthorityLife, nullptr);
    if (made.ok()) absl::StrAppend(&made->certificate, old.certificate);
    return made;
  };
  const absl::StatusOr<Identity> authority =
      KeptIdentity(api, what.name_space, what.authority, kAuthorityLife, new_authority);
  if (!authority.ok()) return authority.status();
  const std::string name = absl::StrCat(what.service, ".", what.name_space, ".svc");
  const auto new_server = [&](const Identity&) {
    return NewIdentity(name, kServerLife, &*authority);
  };
  const absl::StatusOr<Identity> server =
      KeptIdentity(api, what.name_space, what.secret, kServerLife, new_server);
  if (!server.ok()) return server.status();
  return TrustAuthority(api, what.webhook, authority->certificate);
}

}  // namespace sextant::client
