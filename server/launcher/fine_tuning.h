// Programs that tune models on Hugging Face's Trainer, whatever they call their settings: adapters,
// quantised bases, the DeepSpeed configurations that come with a program.
#ifndef SEXTANT_SERVER_LAUNCHER_FINE_TUNING_H_
#define SEXTANT_SERVER_LAUNCHER_FINE_TUNING_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/launcher/setting.h"

namespace sextant::server {

// Low-rank adapters of `rank` on modules by their names in transformers; the rest is frozen.
// "all-linear" and "all" are every matrix inside layers, as are names that are not known, which
// are ignored. Without modules: PEFT's own of most families, query and value
// (TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING of src/peft/utils/constants.py).
void SetAdapters(int64_t rank, const std::string& path, const std::vector<std::string>& modules,
                 Reading& reading);
// A rate above 0 is dropout. `absent`: the rate of a program's own default.
void SetAdapterDropout(const std::string& path, double absent, Reading& reading);
void ReadAdapterDropout(const Setting& setting, Reading& reading);
void WriteAdapterDropout(const Setting& setting, Writing& writing);
// The modules that SetAdapters() takes for these targets; empty where one has no name.
std::vector<std::string> ModulesOf(const v1::ModelChanges::Adapters& adapters);

// A base that bitsandbytes quantises to 8 bits by rows, or to 4 by blocks of 64.
// Source: bitsandbytes 0.50.1, bitsandbytes/nn/modules.py.
void SetQuantizedBase(int64_t bits, bool double_quantization, Reading& reading);

// Experts of `model`, where its name is known, are none of the layers that bitsandbytes quantises:
// transformers 5 holds them as parameters of one module (MixtralExperts of
// src/transformers/models/mixtral/modeling_mixtral.py), and replaces linear layers alone
// (src/transformers/integrations/bitsandbytes.py). No field stands for both, so that `setting` is
// ignored.
void CheckQuantizedExperts(const std::string& model, const std::string& setting, Reading& reading);

// The texts of a setting that is a list, or a text with commas or blanks.
std::vector<std::string> TextsAt(const std::string& path, Reading& reading);

// Settings of DeepSpeed's that come with a program, by the name that its user writes.
struct DeepspeedPreset {
  const char* name;
  int stage;
  bool offloads_optimizer = false;
  bool offloads_parameters = false;
  int64_t bucket_elements = 0;  // reduced and gathered at a time; 0: DeepSpeed's own
};
// The one of that name, whatever folder is before it; nullptr where there is none.
const DeepspeedPreset* FindDeepspeedPreset(absl::Span<const DeepspeedPreset> presets,
                                           absl::string_view file);
// Its configuration, as far as a plan depends on it.
nlohmann::json DeepspeedDocument(const DeepspeedPreset& preset);

// Logits chunk by chunk. Liger's kernel takes a power of two of tokens: those of a micro-batch over
// the vocabulary's size in hidden sizes, rounded up, which is 4 in Llama-2-70B and more in most
// others, so that 4 bounds the chunk's memory from above.
// Source: linkedin/Liger-Kernel, src/liger_kernel/ops/fused_linear_cross_entropy.py @ead96b61.
int64_t LigerChunkTokens(const v1::PlanRunRequest& request);
void SetChunkedLoss(v1::PlanRunRequest* request);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_FINE_TUNING_H_
