// Certificates of authorities that live as long as a test.
#ifndef SEXTANT_TESTS_SERVER_TEST_CERTIFICATES_H_
#define SEXTANT_TESTS_SERVER_TEST_CERTIFICATES_H_

#include <openssl/evp.h>
#include <openssl/x509.h>

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

// Signs certificates for localhost and 127.0.0.1.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name);

  const std::string& pem() const { return pem_; }
  CertificatePem Sign(const CertificateSpec& spec) const;

 private:
  std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key_;
  std::unique_ptr<X509, void (*)(X509*)> certificate_;
  std::string pem_;
};

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_TEST_CERTIFICATES_H_
