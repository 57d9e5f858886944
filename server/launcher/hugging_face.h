// Files and commands of Hugging Face's programs: TrainingArguments of transformers and TRL, and
// accelerate's configuration.
#ifndef SEXTANT_SERVER_LAUNCHER_HUGGING_FACE_H_
#define SEXTANT_SERVER_LAUNCHER_HUGGING_FACE_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/launcher/launched_run.h"
#include "server/launcher/setting.h"

namespace sextant::server {

// TrainingArguments, with the arguments of TRL's SFTConfig and ModelConfig and of common scripts.
// Source: src/transformers/training_args.py of huggingface/transformers @00349ae8;
// trl/trainer/sft_config.py, base_config.py and model_config.py of huggingface/trl @f2cd5771.

absl::Span<const Setting> TrainerSettings();

// True where `document` has names of TrainingArguments that no other program's files have.
bool IsTrainer(const nlohmann::json& document);

// True for arguments of trainers with a second model or with sampling: DPO, KTO, GRPO, PPO, RLOO.
bool IsPreferenceTrainer(const nlohmann::json& document);
inline constexpr char kPreferenceTrainer[] =
    "preference and reinforcement learning (DPO, KTO, GRPO, PPO) are not planned: the reference "
    "model and the sampling are not counted; give the arguments of a supervised run";

// Reads them, with TRL's defaults where they have its names, or `trl`. Errors: kInvalidArgument
// naming every wrong setting; kPreferenceTrainer.
absl::StatusOr<LauncherRead> ReadTrainer(nlohmann::json document, bool with_model, bool trl = false,
                                         const UnknownNames& unknown = Unknown::kRefusedNearName);

// The ranks of FSDP's mesh: those that divide a copy of the state, and the copies.
struct StateMesh {
  int64_t shards = 1;
  int64_t copies = 1;
};

// Refuses a run that FSDP cannot hold: it divides all of the state, and offloads all of it or none.
// False where it does not divide.
bool CheckFsdpState(Writing& writing);

// The mesh of a run that FSDP shards, or that is not `sharded`; absent where it is refused.
std::optional<StateMesh> StateMeshOf(bool sharded, Writing& writing);

// Reads the tensor parallel ranks of a program whose models keep whole sequences on each.
void ReadTensorRanks(const Setting& setting, Reading& reading);

// accelerate's configuration, as `accelerate config` writes it.
// Source: src/accelerate/commands/config/ and commands/launch.py of huggingface/accelerate
// @16cb6eb8.

absl::Span<const Setting> AccelerateSettings();
absl::StatusOr<LauncherRead> ReadAccelerate(nlohmann::json document);

// Writers of its rows, in accelerate_write.cc. Source: parallelism_config.py and utils/launch.py,
// too.
void WriteAccelerateEngine(const Setting& setting, Writing& writing);
void WriteAcceleratePrecision(const Setting& setting, Writing& writing);
void WriteAccelerateState(const Setting& setting, Writing& writing);
void WriteAccelerateZero(const Setting& setting, Writing& writing);
void WriteAccelerateOffload(const Setting& setting, Writing& writing);
void WriteAccelerateGroups(const Setting& setting, Writing& writing);
void WriteAccelerateRecompute(const Setting& setting, Writing& writing);

// Fields that the training script decides, listed as left out where a run has them.
void LeaveToScript(const Setting& setting, Writing& writing);
constexpr Setting Scripts(const char* field, const char* only = nullptr) {
  return Takes(field, only).Written(LeaveToScript);
}

// A row that is read alone.
inline void WriteNothing(const Setting&, Writing&) {}

// The file that --fsdp_config names.
bool IsFsdpFile(const nlohmann::json& document);
absl::StatusOr<LauncherRead> ReadFsdpFile(nlohmann::json document);

// DeepSpeed's configuration, read from a text before.
absl::StatusOr<LauncherRead> ReadDeepspeedDocument(nlohmann::json document);

// Reads the settings of fsdp_config, with or without "fsdp_" before their names, and what the
// strategy in `fsdp` says besides: "full_shard auto_wrap". "": none is named.
void ReadFsdp(const std::string& fsdp, Reading& reading);

// Its settings without "fsdp_" before their names, as TrainingArguments takes them.
nlohmann::json WithoutFsdpPrefix(const nlohmann::json& config);

// Settings of it that count where they are on.
inline constexpr const char* kFsdpOffNames[] = {"fsdp_config.min_num_params", "fsdp_config.xla",
                                                "fsdp_config.xla_fsdp_v2",
                                                "fsdp_config.xla_fsdp_grad_ckpt"};

// Reads a model by its repository's name. A local folder is wanted as its config.json.
void ReadModelName(const Setting& setting, Reading& reading);

// The framework of a run on the Trainer: DeepSpeed's, or the Trainer's own unless another file says
// otherwise. Its models multiply query, key and value apart, and its loss is of whole logits.
void SetTrainerFramework(bool deepspeed, Reading& reading);

// Reads the name of an optimizer: one of OptimizerNames.
void ReadTrainerOptimizer(const Setting& setting, Reading& reading);

// The document with texts "true" and "12" as what they stand for, as HfArgumentParser and
// TrainingArguments read them.
nlohmann::json Typed(nlohmann::json document);

// Takes settings at `paths` out of `*document` that are off: false, 0, empty or "no". Returns them.
std::vector<std::string> TakeOff(absl::Span<const char* const> paths, nlohmann::json* document);

// Adds what `part` says to `*whole`; its settings are named "prefix" + name there.
void Join(const LauncherRead& part, absl::string_view prefix, LauncherRead* whole);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_HUGGING_FACE_H_
