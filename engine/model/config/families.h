// The families whose config.json can be read: for each, the names of its sizes, its common
// properties, and its options. docs/config_json.md is the user's version.
//
// Only families that an ArchitectureSpec counts exactly are included.
#ifndef SEXTANT_ENGINE_MODEL_CONFIG_FAMILIES_H_
#define SEXTANT_ENGINE_MODEL_CONFIG_FAMILIES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/base/near_names.h"
#include "engine/model/config/config_reader.h"
#include "engine/model/config/decoder_draft.h"

namespace sextant {

// The config's name of a size; some families use one of two names.
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

// A true or false of the file, and what stands for it where it is absent. Without a name the style
// says it.
struct FlagName {
  absl::string_view name = "";
  bool if_absent = false;
};

// The config's names of the experts in a decoder's layers.
struct ExpertFields {
  absl::string_view expert_count = "";  // empty: the family has none, or its own reader
  absl::string_view experts_per_token = "num_experts_per_tok";
  absl::string_view expert_size = "moe_intermediate_size";
  absl::string_view shared_count = "";  // null and 0: none
  absl::string_view shared_size = "";   // of one shared expert; absent: expert_size
  absl::string_view first_dense = "";   // the number of first layers without experts
  // True: shared_count and first_dense are 0 where they are absent. False: they are required,
  // because the family's code takes one model's.
  bool none_if_absent = false;
  FlagName correction_bias = {};  // of the router; without a name: if_absent
};

// Sizes that stand for absent ones; 0: as Family says.
struct SizeDefaults {
  int64_t head_count = 0;
  int64_t key_value_head_count = 0;
  int64_t head_size = 0;
  int64_t vocabulary_size = 0;
};

// The family of Llama's and Mistral's params.json, which names none.
inline constexpr absl::string_view kParamsFile = "params.json";

// One row says all that a family's models have in common, and the names of what differs.
struct Family {
  absl::string_view model_type;    // "llama"
  absl::string_view architecture;  // the class with an output head: "LlamaForCausalLM"
  absl::Span<const absl::string_view> also_architectures = {};  // other classes that are read
  SizeNames names = {};
  DecoderStyle style = {};
  SizeDefaults defaults = {};
  // True where the text model's fields stand among those of a multimodal model.
  bool multimodal = false;
  // True for a size that the family's code defaults to a fixed number: the field is required,
  // because that number is one model's.
  bool key_value_head_count_required = false;
  bool head_size_required = false;
  // True: if absent, feed_forward_size is 4 * hidden_size. False: it is required.
  bool feed_forward_is_four_hidden = false;
  // True: feed_forward_size is required only where a layer has a dense feed-forward.
  bool feed_forward_of_dense_layers = false;
  FlagName query_key_value_bias = {};
  FlagName attention_output_bias = {};
  FlagName feed_forward_bias = {};
  FlagName query_key_norm = {};  // false: none, whatever the style has
  ExpertFields experts = {};
  absl::string_view prediction_modules = "";  // the number of multi-token prediction modules
  // Parts that the published files don't hold, and so are named instead of counted.
  absl::Span<const absl::string_view> left_out = {};
  // Reads the number of layers; null: it is names.layer_count.
  int64_t (*count_layers)(ConfigReader& config) = nullptr;
  // Reads the other options but tie_word_embeddings; null: none.
  void (*read_options)(ConfigReader& config, DecoderDraft& draft) = nullptr;
  // Reads a whole model that is not such a decoder; the result is valid only if nothing was
  // rejected. Null: a decoder. Otherwise only `model_type` and the architectures above are used.
  ArchitectureSpec (*read_model)(ConfigReader& config) = nullptr;
};

absl::Span<const Family> GptFamilies();       // in GPT-2's style
absl::Span<const Family> AlibiFamilies();     // BLOOM and MPT
absl::Span<const Family> LlamaFamilies();     // in Llama's style
absl::Span<const Family> MixedFamilies();     // neither
absl::Span<const Family> MixtureFamilies();   // mixtures of experts
absl::Span<const Family> GroupedFamilies();   // experts on grouped-query attention, from 2024 on
absl::Span<const Family> WindowedFamilies();  // the same, with other heads in layers with a window
absl::Span<const Family> LatentFamilies();    // multi-head latent attention
absl::Span<const Family> DeltaFamilies();     // delta rules and short convolutions
absl::Span<const Family> MambaFamilies();     // state-space layers
absl::Span<const Family> BlockFamilies();     // a file that describes each layer
absl::Span<const Family> EncoderFamilies();   // encoders, and encoders with decoders

// The option attention_bias, default false; for queries, keys, values and output alike.
void ReadAttentionBias(ConfigReader& config, DecoderDraft& draft);
// The same, and mlp_bias for every feed-forward matrix.
void ReadBothBiases(ConfigReader& config, DecoderDraft& draft);
// The options that `family` names by its fields.
void ReadNamedOptions(const Family& family, ConfigReader& config, DecoderDraft& draft);
// Sizes of multi-head latent attention.
void ReadLatentAttention(ConfigReader& config, DecoderDraft& draft);
// Qwen's experts: every `decoder_sparse_step`-th layer has them, except mlp_only_layers.
void ReadQwenExperts(ConfigReader& config, DecoderDraft& draft);
// Qwen's shared expert, whose output a gate scales.
void ReadGatedSharedExpert(ConfigReader& config, ExpertsSpec& experts);
// One bias for every matrix of a layer.
void SetAllBiases(bool bias, DecoderDraft& draft);

// True where `family` has the class `architecture`.
bool HasArchitecture(const Family& family, absl::string_view architecture);

// The family of a model_type or an architecture; null if there is none.
const Family* FindFamily(absl::string_view model_type);
const Family* FindFamilyOfArchitecture(absl::string_view architecture);

// The model_types of all families.
std::vector<KnownName> KnownModelTypes();

// Why a config.json's model is of no family: the part that is missing, where that is known, and the
// remedy. Each ends with the place where all families are listed, and is short enough that an
// answer, which cuts descriptions at 256 bytes, keeps it whole. No other family is suggested: its
// count would be wrong.
std::string ModelTypeMissing();
std::string WhyModelTypeUnsupported(absl::string_view model_type);
std::string WhyArchitectureUnsupported(absl::string_view architecture);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_CONFIG_FAMILIES_H_
