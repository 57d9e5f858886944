// Runs of DeepSpeed: its configuration in JSON, written and read.
// Source: docs/_pages/config-json.md, runtime/constants.py and runtime/config.py of 0.19.6.
#ifndef SEXTANT_CLIENT_LAUNCHER_DEEPSPEED_H_
#define SEXTANT_CLIENT_LAUNCHER_DEEPSPEED_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/launcher/launched_run.h"

namespace sextant::client {

// The fields that it can express.
absl::Span<const Expressible> DeepspeedFields();

// The configuration. The model, its kernels and the data are the training script's.
//
// Errors: kInvalidArgument naming every flag of the request that DeepSpeed has no setting for.
absl::StatusOr<LauncherFile> WriteDeepspeed(const LaunchedRun& run);

// Reads one. Settings that are "auto", which Hugging Face's accelerate fills in, are open.
//
// Errors: kInvalidArgument naming every wrong setting.
absl::StatusOr<LauncherRead> ReadDeepspeed(const std::string& text);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_LAUNCHER_DEEPSPEED_H_
