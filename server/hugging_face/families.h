// The families of dense decoders whose config.json is read: for each, the names of its sizes,
// what all its members share, and its options. docs/config_json.md says the same to users.
//
// Only those are here that a TransformerSpec counts to the parameter.
#ifndef SEXTANT_SERVER_HUGGING_FACE_FAMILIES_H_
#define SEXTANT_SERVER_HUGGING_FACE_FAMILIES_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/base/near_names.h"
#include "engine/model/transformer_spec.h"
#include "server/hugging_face/config_reader.h"

namespace sextant {

// The config's names of a TransformerSpec's sizes; empty where the family has no such field.
struct SizeNames {
  absl::string_view layer_count = "num_hidden_layers";
  absl::string_view hidden_size = "hidden_size";
  absl::string_view feed_forward_size = "intermediate_size";
  absl::string_view attention_head_count = "num_attention_heads";
  absl::string_view key_value_head_count = "num_key_value_heads";
  absl::string_view head_size = "head_dim";
  absl::string_view vocabulary_size = "vocab_size";
  absl::string_view learned_position_count = "";
  absl::string_view embedding_size = "";
};

struct Family {
  absl::string_view model_type;    // "llama"
  absl::string_view architecture;  // the class with an output head: "LlamaForCausalLM"
  SizeNames names = {};
  // What all members share, and the default of what is an option; sizes are 0.
  TransformerSpec shape = {};
  // A size that the family's code sets to a bare number where it is absent has to be given:
  // that number is one model's, not this one's.
  bool key_value_head_count_required = false;
  bool head_size_required = false;
  // Where it is absent, feed_forward_size is 4 * hidden_size; else it has to be given.
  bool feed_forward_is_four_hidden = false;
  // Reads the options beyond tie_word_embeddings; null: there are none.
  void (*read_options)(ConfigReader& config, TransformerSpec& shape) = nullptr;
};

absl::Span<const Family> GptFamilies();    // in GPT-2's style
absl::Span<const Family> LlamaFamilies();  // in Llama's style
absl::Span<const Family> MixedFamilies();  // neither

// The option attention_bias, absent: false; of the queries, keys, values and output alike.
void ReadAttentionBias(ConfigReader& config, TransformerSpec& shape);
// That, and mlp_bias of every feed-forward matrix.
void ReadBothBiases(ConfigReader& config, TransformerSpec& shape);

// The family of that model_type or architecture; null if there is none.
const Family* FindFamily(absl::string_view model_type);
const Family* FindFamilyOfArchitecture(absl::string_view architecture);

// The model_types of all families.
std::vector<KnownName> KnownModelTypes();

}  // namespace sextant

#endif  // SEXTANT_SERVER_HUGGING_FACE_FAMILIES_H_
