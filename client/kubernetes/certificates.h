// The certificate of a webhook: an authority of a cluster's own, which it keeps in a Secret, and a
// server's certificate that the authority signs anew before the last one expires.
#ifndef SEXTANT_CLIENT_KUBERNETES_CERTIFICATES_H_
#define SEXTANT_CLIENT_KUBERNETES_CERTIFICATES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/kubernetes/api.h"

namespace sextant::client {

// PEM.
struct Identity {
  std::string certificate;
  std::string key;
  std::string authority = {};  // who signed it; empty: itself
};

// A new key (P-256), and a certificate for it: of an authority that signs itself where `authority`
// is null, else for the server `name`, signed by it.
//
// Errors: kInternal where OpenSSL fails; kInvalidArgument where `authority` can't be read.
absl::StatusOr<Identity> NewIdentity(const std::string& name, absl::Duration life,
                                     const Identity* authority);

// How long the first certificate in `pem` is valid from now on; none where it can't be read.
absl::Duration LifeLeft(const std::string& pem);

struct WebhookCertificate {
  std::string name_space;
  std::string service;    // "sextant": the certificate is for "sextant.NAMESPACE.svc"
  std::string authority;  // the Secret of the authority, which planners don't mount
  std::string secret;     // the Secret of planners
  std::string webhook;    // the ValidatingWebhookConfiguration that gets the authority
};

// Makes what is missing or has less than a third of its life left, and has the webhook trust it. A
// new authority is added to the old one, which planners' certificates are still signed by.
//
// Errors: of the API and of NewIdentity().
absl::Status RenewCertificate(const KubernetesApi& api, const WebhookCertificate& what);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_KUBERNETES_CERTIFICATES_H_
