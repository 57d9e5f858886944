// The families whose config.json is read: for each, the names of its sizes, what all its members
// share, and its options. docs/config_json.md says the same to users.
//
// Only those are here that an ArchitectureSpec counts to the parameter.
#ifndef SEXTANT_ENGINE_MODEL_CONFIG_FAMILIES_H_
#define SEXTANT_ENGINE_MODEL_CONFIG_FAMILIES_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/base/near_names.h"
#include "engine/model/config/config_reader.h"
#include "engine/model/config/decoder_draft.h"

namespace sextant {

// How the config spells a size; some families' files have it under one of two names.
struct SizeName {
  constexpr SizeName(const char* spelling, const char* other = "")  // NOLINT: implicit by design
      : name(spelling), also(other) {}
  absl::string_view name;  // empty where the family has no such field
  absl::string_view also;
};

struct SizeNames {
  SizeName layer_count = "num_hidden_layers";
  SizeName hidden_size = "hidden_size";
  SizeName feed_forward_size = "intermediate_size";
  SizeName head_count = "num_attention_heads";
  SizeName key_value_head_count = "num_key_value_heads";
  SizeName head_size = "head_dim";
  SizeName vocabulary_size = "vocab_size";
  SizeName learned_position_count = "";
  SizeName embedding_size = "";
};

struct Family {
  absl::string_view model_type;    // "llama"
  absl::string_view architecture;  // the class with an output head: "LlamaForCausalLM"
  absl::Span<const absl::string_view> also_architectures = {};  // others that are read as well
  SizeNames names = {};
  DecoderStyle style = {};
  // A size that the family's code sets to a bare number where it is absent has to be given:
  // that number is one model's, not this one's.
  bool key_value_head_count_required = false;
  bool head_size_required = false;
  // Where it is absent, feed_forward_size is 4 * hidden_size; else it has to be given.
  bool feed_forward_is_four_hidden = false;
  // Reads the options beyond tie_word_embeddings; null: there are none.
  void (*read_options)(ConfigReader& config, DecoderDraft& draft) = nullptr;
  // Reads a model that is no such decoder, all of it; what it returns counts only where it has
  // refused nothing. Null: a decoder, and nothing but `model_type` and the architectures is used
  // above otherwise.
  ArchitectureSpec (*read_model)(ConfigReader& config) = nullptr;
};

absl::Span<const Family> GptFamilies();      // in GPT-2's style
absl::Span<const Family> AlibiFamilies();    // BLOOM and MPT
absl::Span<const Family> LlamaFamilies();    // in Llama's style
absl::Span<const Family> MixedFamilies();    // neither
absl::Span<const Family> MixtureFamilies();  // mixtures of experts
absl::Span<const Family> LatentFamilies();   // multi-head latent attention
absl::Span<const Family> EncoderFamilies();  // encoders, and encoders with decoders

// The option attention_bias, absent: false; of the queries, keys, values and output alike.
void ReadAttentionBias(ConfigReader& config, DecoderDraft& draft);
// That, and mlp_bias of every feed-forward matrix.
void ReadBothBiases(ConfigReader& config, DecoderDraft& draft);
// One bias for every matrix of a layer.
void SetAllBiases(bool bias, DecoderDraft& draft);

// Whether `family` is that of `architecture`.
bool HasArchitecture(const Family& family, absl::string_view architecture);

// The family of that model_type or architecture; null if there is none.
const Family* FindFamily(absl::string_view model_type);
const Family* FindFamilyOfArchitecture(absl::string_view architecture);

// The model_types of all families.
std::vector<KnownName> KnownModelTypes();

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_CONFIG_FAMILIES_H_
