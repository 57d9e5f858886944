// The sizes of a mixture of experts in a config.json.
#ifndef SEXTANT_ENGINE_MODEL_CONFIG_EXPERT_FIELDS_H_
#define SEXTANT_ENGINE_MODEL_CONFIG_EXPERT_FIELDS_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/model/config/config_reader.h"
#include "engine/model/config/decoder_draft.h"

namespace sextant {

// The config's names of them.
struct ExpertNames {
  absl::string_view expert_count;
  absl::string_view experts_per_token = "num_experts_per_tok";
};

// Reads how many gated experts of `size` there are, and how many a token meets, into
// draft.experts. No token meets more than there are.
void ReadExperts(ConfigReader& config, const ExpertNames& names, int64_t size, DecoderDraft& draft);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_CONFIG_EXPERT_FIELDS_H_
