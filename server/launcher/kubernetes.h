// Manifests of Kubernetes that start a training run.
#ifndef SEXTANT_SERVER_LAUNCHER_KUBERNETES_H_
#define SEXTANT_SERVER_LAUNCHER_KUBERNETES_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/launcher/launched_run.h"
#include "server/launcher/setting.h"

namespace sextant::server {

// The fields of manifests that are read, and those that change nothing that is planned.
absl::Span<const Setting> KubernetesSettings();

// Reads the manifest among `documents` that starts a run, the first of several. What its containers
// and resources say counts before its annotation. Where `with_model` is false the model is passed
// over.
//
// Errors: kInvalidArgument where none of them starts a run; where a number of it is none.
absl::StatusOr<LauncherRead> ReadKubernetes(const std::vector<nlohmann::json>& documents,
                                            bool with_model);

// Writes a manifest of `kind`, "PyTorchJob", "TrainJob" or "JobSet": a pod on each node, that
// starts run.script by torchrun, and the request as an annotation.
//
// Errors: kInvalidArgument where the devices of a node are not known, or don't divide those of the
// run; and those of MegatronLines().
absl::StatusOr<LauncherFile> WriteKubernetes(const std::string& kind, const LaunchedRun& run);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_KUBERNETES_H_
