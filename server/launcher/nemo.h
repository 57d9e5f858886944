// NVIDIA's programs on Megatron-Core: configurations of NeMo 1, NeMo 2 and Megatron-Bridge.
#ifndef SEXTANT_SERVER_LAUNCHER_NEMO_H_
#define SEXTANT_SERVER_LAUNCHER_NEMO_H_

#include "absl/status/statusor.h"
#include "server/launcher/launch_text.h"
#include "server/launcher/launched_run.h"

namespace sextant::server {

// Megatron-Bridge's ConfigContainer, as YAML or as the Python of a recipe.
bool IsMegatronBridge(const LaunchText& text);
absl::StatusOr<LauncherRead> ReadMegatronBridge(const LaunchText& text, bool with_model);
// A recipe in Python. The tokenizer is the user's.
absl::StatusOr<LauncherFile> WriteMegatronBridge(const LaunchedRun& run);

// NeMo 2: a recipe in Python, or the YAML that nemo-run writes of one.
bool IsNemo2(const LaunchText& text);
absl::StatusOr<LauncherRead> ReadNemo2(const LaunchText& text, bool with_model);

// NeMo 1: megatron_gpt_config.yaml and its kin.
bool IsNemo1(const LaunchText& text);
absl::StatusOr<LauncherRead> ReadNemo1(const LaunchText& text, bool with_model);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_NEMO_H_
