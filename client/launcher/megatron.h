// Runs of Megatron-LM: arguments of its pretrain_gpt.py, written and read.
#ifndef SEXTANT_CLIENT_LAUNCHER_MEGATRON_H_
#define SEXTANT_CLIENT_LAUNCHER_MEGATRON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/launcher/launched_run.h"

namespace sextant::client {

// layout.deferred_head_gradients if Megatron-LM's limit is 0, which means no limit.
inline constexpr int64_t kAllMicroBatches = 1'000'000'000;

// The fields that it can express.
absl::Span<const Expressible> MegatronFields();

// The arguments, "--num-layers 32" each. Values hold no blanks, but characters that shells know.
//
// Errors: kInvalidArgument naming every flag of the request that Megatron-LM has no argument for.
absl::StatusOr<std::vector<std::string>> MegatronLines(const LaunchedRun& run);

// The same, a line each.
absl::StatusOr<LauncherFile> WriteMegatron(const LaunchedRun& run);

// Reads arguments as a command line has them. Where `with_model` is false the model's shape is
// passed over.
//
// Errors: kInvalidArgument naming every wrong argument.
absl::StatusOr<LauncherRead> ReadMegatron(const std::string& text, bool with_model);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_LAUNCHER_MEGATRON_H_
