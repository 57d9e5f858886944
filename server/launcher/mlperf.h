// MLPerf Training: a submission's config_*.sh, which exports the settings of a run.
#ifndef SEXTANT_SERVER_LAUNCHER_MLPERF_H_
#define SEXTANT_SERVER_LAUNCHER_MLPERF_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/launcher/launched_run.h"
#include "server/launcher/setting.h"

namespace sextant::server {

// Source: mlcommons/training_results_v4.0 @62f111b7690f and v5.1 @4da2d1cd71eb, NVIDIA/benchmarks:
// gpt3, llama2_70b_lora (conf/megatron_gpt_peft_tuning_config.yaml), llama31_405b and llama31_8b.
absl::Span<const Setting> MlperfSettings();

// True of a script that says how many servers a submission runs on, and how it divides a model.
bool IsMlperf(const std::string& text);

// Reads one. The files that it sources are to be given too. Where `with_model` is false its model
// is passed over.
absl::StatusOr<LauncherRead> ReadMlperf(const std::string& text, bool with_model);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_MLPERF_H_
