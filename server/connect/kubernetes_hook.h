// POST /v1/hooks/kubernetes: a validating admission webhook of Kubernetes, as a call of Admit.
// Source: Kubernetes' documentation, "Dynamic Admission Control"; API admission.k8s.io/v1.
#ifndef SEXTANT_SERVER_CONNECT_KUBERNETES_HOOK_H_
#define SEXTANT_SERVER_CONNECT_KUBERNETES_HOOK_H_

#include <memory>

#include "server/connect/connect_call.h"
#include "server/connect/open_calls.h"
#include "server/listen/http_exchange.h"

namespace sextant::server {

// Answers the request by `admit`, the method Admit, or returns false where its path is not the
// hook's: kHookPath, which warns, and below it "/deny", which refuses; an object's annotation
// sextant.dev/mode decides before either.
//
// Each review is answered within a second, and before Kubernetes' own `timeout`: an object is
// refused where its run does not fit or its words are wrong. Where there is any doubt it is allowed
// with one warning: then Kubernetes, which says nothing of a hook that fails, tells the user.
bool AnswerKubernetes(const ConnectMethod& admit, HttpExchange& exchange,
                      const std::shared_ptr<OpenCalls>& open);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONNECT_KUBERNETES_HOOK_H_
