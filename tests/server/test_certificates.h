// Certificates of authorities that live as long as a test.
#ifndef SEXTANT_TESTS_SERVER_TEST_CERTIFICATES_H_
#define SEXTANT_TESTS_SERVER_TEST_CERTIFICATES_H_

#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

namespace sextant::server {

// A certificate and its key as PEM.
struct CertificatePem {
  std::string certificate;
  std::string key;
};

struct CertificateSpec {
  std::string common_name = {};
  std::string uri = {};       // of the subject's other names; empty: none
  long valid_seconds = 3600;  // from an hour ago; below 0: it has expired
};

using TestKey = std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)>;
using TestCertificate = std::unique_ptr<X509, void (*)(X509*)>;

inline constexpr long kHourSeconds = 3600;

inline std::string PemOf(const std::function<int(BIO*)>& write) {
  const std::unique_ptr<BIO, int (*)(BIO*)> memory(BIO_new(BIO_s_mem()), BIO_free);
  EXPECT_EQ(write(memory.get()), 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

inline void AddExtension(X509* certificate, int id, const std::string& value) {
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value.c_str());
  ASSERT_NE(extension, nullptr) << value;
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// A certificate that nobody signed yet.
inline TestCertificate NewCertificate(const std::string& name, long valid_seconds, EVP_PKEY* key) {
  static std::atomic<long> serial{1};
  TestCertificate out(X509_new(), X509_free);
  X509_set_version(out.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(out.get()), serial++);
  X509_gmtime_adj(X509_getm_notBefore(out.get()), -kHourSeconds);
  X509_gmtime_adj(X509_getm_notAfter(out.get()), valid_seconds);
  X509_set_pubkey(out.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(out.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return out;
}

inline TestKey NewKey() { return TestKey(EVP_EC_gen("P-256"), EVP_PKEY_free); }

inline std::string PemOf(X509* certificate) {
  return PemOf([certificate](BIO* out) { return PEM_write_bio_X509(out, certificate); });
}

// Signs certificates for localhost and 127.0.0.1.
class TestAuthority {
 public:
  // `parent`: who signs its certificate; null: itself.
  explicit TestAuthority(const std::string& name, const TestAuthority* parent = nullptr);

  const std::string& pem() const { return pem_; }
  CertificatePem Sign(const CertificateSpec& spec) const;
  // A list without a revoked certificate, from an hour ago on; below 0: it has expired.
  std::string Revocations(long valid_seconds) const;

 private:
  std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key_;
  std::unique_ptr<X509, void (*)(X509*)> certificate_;
  std::string pem_;
};

inline TestAuthority::TestAuthority(const std::string& name, const TestAuthority* parent)
    : key_(NewKey()), certificate_(NewCertificate(name, kHourSeconds, key_.get())) {
  const TestAuthority& signer = parent == nullptr ? *this : *parent;
  X509_set_issuer_name(certificate_.get(), X509_get_subject_name(signer.certificate_.get()));
  AddExtension(certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(certificate_.get(), signer.key_.get(), EVP_sha256());
  pem_ = PemOf(certificate_.get());
}

inline std::string TestAuthority::Revocations(long valid_seconds) const {
  const std::unique_ptr<X509_CRL, void (*)(X509_CRL*)> list(X509_CRL_new(), X509_CRL_free);
  const std::unique_ptr<ASN1_TIME, void (*)(ASN1_TIME*)> time(ASN1_TIME_new(), ASN1_TIME_free);
  X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(certificate_.get()));
  X509_CRL_set1_lastUpdate(list.get(), X509_gmtime_adj(time.get(), -kHourSeconds));
  X509_CRL_set1_nextUpdate(list.get(), X509_gmtime_adj(time.get(), valid_seconds));
  X509_CRL_sign(list.get(), key_.get(), EVP_sha256());
  return PemOf([&list](BIO* out) { return PEM_write_bio_X509_CRL(out, list.get()); });
}

inline CertificatePem TestAuthority::Sign(const CertificateSpec& spec) const {
  const TestKey key = NewKey();
  const TestCertificate signed_one =
      NewCertificate(spec.common_name, spec.valid_seconds, key.get());
  X509_set_issuer_name(signed_one.get(), X509_get_subject_name(certificate_.get()));
  AddExtension(signed_one.get(), NID_subject_alt_name,
               "DNS:localhost,IP:127.0.0.1" + (spec.uri.empty() ? "" : ",URI:" + spec.uri));
  X509_sign(signed_one.get(), key_.get(), EVP_sha256());
  return {.certificate = PemOf(signed_one.get()),
          .key = PemOf([&key](BIO* out) {
            return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_TEST_CERTIFICATES_H_
