// Launchers of training runs: their files are written from a plan, and read into a request. Each
// has a table of its settings.
//
// WriteX() and ReadX() fail with kInvalidArgument, which names every flag of the request that the
// launcher has no setting for, or every wrong setting of its file.
#ifndef SEXTANT_SERVER_LAUNCHER_LAUNCHER_H_
#define SEXTANT_SERVER_LAUNCHER_LAUNCHER_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/launcher/launch_text.h"
#include "server/launcher/launched_run.h"
#include "server/launcher/setting.h"

namespace sextant::server {

// The names of --emit: those of words::kLaunchers.
std::vector<std::string> LauncherNames();

// The framework that a launcher of that name runs; of those that start processes, unless a request
// names another.
v1::FrameworkMemory::Kind FrameworkOf(const std::string& launcher);

// The name that the launcher's file usually has: "ds_config.json".
const char* FileNameOf(const std::string& launcher);

// Checks what is known before the plan. Errors: as WriteLauncher().
absl::Status CheckLauncher(const std::string& launcher, const v1::PlanRunRequest& request);

// Writes the launcher's file. Errors: kInvalidArgument naming every flag of the request that it
// cannot express.
absl::StatusOr<LauncherFile> WriteLauncher(const std::string& launcher, const LaunchedRun& run);

// Megatron-LM: arguments of its pretrain_gpt.py.

// layout.deferred_head_gradients if Megatron-LM's limit is 0, which means no limit.
inline constexpr int64_t kAllMicroBatches = 1'000'000'000;

absl::Span<const Setting> MegatronSettings();

// The arguments that are read, those of a model too.
SettingFile::Names MegatronNames();

// The arguments, "--num-layers 32" each. Values hold no blanks, but characters that shells know.
absl::StatusOr<std::vector<std::string>> MegatronLines(const LaunchedRun& run);

// The same, a line each.
absl::StatusOr<LauncherFile> WriteMegatron(const LaunchedRun& run);

// Reads arguments as a command line has them. Where `with_model` is false the model's shape is
// passed over.
absl::StatusOr<LauncherRead> ReadMegatron(const std::string& text, bool with_model);
absl::StatusOr<LauncherRead> ReadMegatron(absl::StatusOr<SettingFile> file, bool with_model);
// The same of words that a shell has split.
absl::StatusOr<LauncherRead> ReadMegatronWords(std::vector<std::string> words, bool with_model);

// torchtitan: its job configuration in TOML.
// Source: torchtitan/config/job_config.py of v0.2.2; later ones are configured in Python.

// A model that torchtitan knows, and the preset of the same shape.
struct TorchtitanModel {
  const char* name;
  const char* flavor;
  const char* preset;
  int64_t layer_count;
};

// Those known; nullptr where none is.
const TorchtitanModel* ModelOfPreset(const std::string& preset);
const TorchtitanModel* ModelOfFlavor(const std::string& name, const std::string& flavor);

// Gives settings of older releases their present names. Where a configuration has both, takes the
// older one out, and returns its name.
std::vector<std::string> RenameOlderSettings(nlohmann::json* document);

// Layers of each of `stages` chunks as torchtitan deals them out, the embedding counted as `first`
// layers and the output head as `last` (generate_llm_fqn_per_model_part() of
// torchtitan/distributed/pipeline_parallel.py). Empty where it refuses to.
std::vector<int64_t> LayersPerChunk(int64_t layers, int64_t stages, int64_t first, int64_t last);

// The row of its table for pipelines: all that is said about stages.
void ReadPipelineDegree(const Setting& setting, Reading& reading);
void WritePipelineDegree(const Setting& setting, Writing& writing);

// Its rows of software, in torchtitan_software.cc.
void ReadLoweringSwitch(const Setting& setting, Reading& reading);
void ReadOfConverter(const Setting& setting, Reading& reading);
void ReadCompilation(const Setting& setting, Reading& reading);
void WriteCompilation(const Setting& setting, Writing& writing);
void ReadImplementation(const Setting& setting, Reading& reading);
void WriteImplementation(const Setting& setting, Writing& writing);
void WriteCopies(const Setting& setting, Writing& writing);

absl::Span<const Setting> TorchtitanSettings();
// The rows of it that are not read, in torchtitan_unread.cc.
absl::Span<const Setting> TorchtitanUnread();

// The configuration's sections that a plan decides. Dataset, checkpoints and learning rate are the
// user's, on the command line or in a file of their own.
absl::StatusOr<LauncherFile> WriteTorchtitan(const LaunchedRun& run);

// Reads one. Where `with_model` is false its model is passed over.
absl::StatusOr<LauncherRead> ReadTorchtitan(const std::string& text, bool with_model);
absl::StatusOr<LauncherRead> ReadTorchtitan(absl::StatusOr<SettingFile> file, bool with_model);

// The present release's configuration in Python.
bool IsTorchtitanPython(const LaunchText& text);
absl::StatusOr<LauncherRead> ReadTorchtitanPython(const LaunchText& text, bool with_model);
absl::StatusOr<LauncherFile> WriteTorchtitanPython(const LaunchedRun& run);

// MaxText: its configuration in YAML.

absl::Span<const Setting> MaxtextSettings();
bool IsMaxtext(const LaunchText& text);
absl::StatusOr<LauncherRead> ReadMaxtext(const LaunchText& text, bool with_model);

// DeepSpeed: its configuration in JSON.
// Source: docs/_pages/config-json.md, runtime/constants.py and runtime/config.py of 0.19.6.

absl::Span<const Setting> DeepspeedSettings();
// The rows of it that are not read, in deepspeed_unread.cc.
absl::Span<const Setting> DeepspeedUnread();

// The configuration. The model, its kernels and the data are the training script's.
absl::StatusOr<LauncherFile> WriteDeepspeed(const LaunchedRun& run);

// Reads one. Settings that are "auto", which Hugging Face's accelerate fills in, are open.
absl::StatusOr<LauncherRead> ReadDeepspeed(const std::string& text);

// accelerate: its configuration in YAML. hugging_face.h reads it.

// The engine, its sharding and the precision. The model, the batch and the kernels are the training
// script's.
absl::StatusOr<LauncherFile> WriteAccelerate(const LaunchedRun& run);

// axolotl: its configuration in YAML.

absl::Span<const Setting> AxolotlSettings();

// The settings that a plan decides: data, learning rate and the adapters' alpha are the user's.
absl::StatusOr<LauncherFile> WriteAxolotl(const LaunchedRun& run);

// Reads one.
absl::StatusOr<LauncherRead> ReadAxolotl(const LaunchText& text, bool with_model);

// LLaMA-Factory and ms-swift: a file's settings, or a command's arguments by their names
// (ArgumentsOf()).

// True where a document has names that no other program's has.
bool IsLlamaFactory(const nlohmann::json& document);
bool IsSwift(const nlohmann::json& document);

absl::Span<const Setting> LlamaFactorySettings();
absl::StatusOr<LauncherRead> ReadLlamaFactory(nlohmann::json document, bool with_model);
absl::Span<const Setting> SwiftSettings();
absl::StatusOr<LauncherRead> ReadSwift(nlohmann::json document, bool with_model);
// The devices of its environment: NPROC_PER_NODE times NNODES; 0 where it does not say it.
int64_t SwiftDevices(const nlohmann::json& environment);
// Arguments of its `megatron sft`: Megatron-LM's with underscores, and a model by its name.
absl::StatusOr<LauncherRead> ReadSwiftMegatron(nlohmann::json document, bool with_model);

// MLPerf Training: a submission's config_*.sh, which exports the settings of a run.
// Source: mlcommons/training_results_v4.0 @62f111b7690f and v5.1 @4da2d1cd71eb, NVIDIA/benchmarks:
// gpt3, llama2_70b_lora (conf/megatron_gpt_peft_tuning_config.yaml), llama31_405b and llama31_8b.
absl::Span<const Setting> MlperfSettings();

// Rows of what hides exchanges, and of graphs, in mlperf_overlap.cc.
void ReadMlperfTensorOverlap(const Setting& setting, Reading& reading);
void ReadMlperfSends(const Setting& setting, Reading& reading);
void ReadMlperfGraphs(const Setting& setting, Reading& reading);

// Once the sharding and the precision are known.
void ReadMlperfDataOverlap(Reading& reading);

// True of a script that says how many servers a submission runs on, and how it divides a model.
bool IsMlperf(const std::string& text);

// Reads one. The files that it sources are to be given too. Where `with_model` is false its model
// is passed over.
absl::StatusOr<LauncherRead> ReadMlperf(const std::string& text, bool with_model);

// Slurm: a job script that starts a run by torchrun.

// The script. It runs run.script, or else the script that it is given as its first argument, with
// the arguments that follow; of a run of Megatron-LM also with its arguments.
//
// Errors: kInvalidArgument where the devices of a node are not known, or don't divide those of the
// run; and those of MegatronLines().
absl::StatusOr<LauncherFile> WriteSlurm(const LaunchedRun& run);

// True where the script carries Megatron-LM's arguments: of its runs.
bool StartsMegatron(const v1::PlanRunRequest& request);

// Slurm's form of a time, rounded up to a minute: "2-03:04:00".
std::string SlurmTime(double seconds);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_LAUNCHER_H_
