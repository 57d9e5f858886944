// Families with an encoder: BERT, and T5 with its decoder.
//
// Read in huggingface/transformers src/transformers/models: configuration_bert.py @008f5c8c29be,
// configuration_t5.py @038869d4d54d. From memory, and confirmed by the published counts that the
// tests compare with: the output of each class, and the matrices with a bias.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/config/decoder_draft.h"
#include "engine/model/config/families.h"

namespace sextant {
namespace {

constexpr char kBert[] = "BertModel";
constexpr char kMaskedBert[] = "BertForMaskedLM";
constexpr char kPreTrainingBert[] = "BertForPreTraining";
constexpr absl::string_view kBertAlso[] = {kBert, kMaskedBert};
constexpr absl::string_view kT5Also[] = {"T5WithLMHeadModel"};

// The output of the class that the config names; of BertModel where it names none.
OutputSpec BertOutput(ConfigReader& config) {
  const auto names = config.Texts("architectures");
  const std::string name = names.has_value() && !names->empty() ? names->front() : kBert;
  const bool tied = config.Flag("tie_word_embeddings", true);
  if (name == kBert) return {.head = OutputHeadKind::kNone, .pooler = true};
  OutputSpec out = {.head = tied ? OutputHeadKind::kTied : OutputHeadKind::kUntied,
                    .head_bias = true,
                    .transform = true};
  if (name == kPreTrainingBert) {
    out.pooler = true;
    out.pooled_class_count = 2;  // next-sentence prediction: follows or not
  }
  return out;
}

LayerSpec BertLayer(ConfigReader& config, int64_t hidden_size) {
  const int64_t heads = config.RequiredSize("num_attention_heads", kMaxHeadCount);
  if (heads > 0 && hidden_size % heads != 0) {
    config.Refuse("num_attention_heads", absl::StrCat("must divide hidden_size (", hidden_size,
                                                      "), which ", heads, " does not"));
  }
  const int64_t head_size = heads > 0 ? hidden_size / heads : 0;
  if (head_size > kMaxHeadSize) {
    config.Refuse("num_attention_heads",
                  absl::StrCat("makes heads of more than ", kMaxHeadSize, ": write more heads"));
  }
  const int64_t inner = config.RequiredSize("intermediate_size", kMaxFeedForwardSize);
  return {
      .name = "dense",
      .norm = NormVariant::kLayerNorm,
      .norms = kNormsAfter,
      .attention = AttentionSpec{.head_count = heads,
                                 .key_value_head_count = heads,
                                 .query_key_head_size = head_size,
                                 .value_head_size = head_size,
                                 .query_bias = true,
                                 .key_bias = true,
                                 .value_bias = true,
                                 .output_bias = true,
                                 .mask = AttentionMask::kFull},
      .feed_forward = FeedForwardSpec{
          .kind = FeedForwardKind::kPlain, .size = inner, .input_bias = true, .output_bias = true}};
}

ArchitectureSpec ReadBert(ConfigReader& config) {
  ArchitectureSpec out;
  out.hidden_size = config.RequiredSize("hidden_size", kMaxHiddenSize);
  out.norm = NormVariant::kLayerNorm;
  out.embedding.vocabulary_size = config.RequiredSize("vocab_size", kMaxVocabularySize);
  out.embedding.token_type_count = config.Count("type_vocab_size", 2);  // 0: an empty table
  out.layer_kinds = {BertLayer(config, out.hidden_size)};
  out.encoder = {
      .layers = {{.count = config.RequiredSize("num_hidden_layers", kMaxLayerCount)}},
      .learned_position_count = config.RequiredSize("max_position_embeddings", kMaxVocabularySize),
      .embedding_norm = true,
      .final_norm = false};
  out.output = BertOutput(config);
  if (config.Flag("is_decoder", false)) {
    config.Refuse("is_decoder", "must be false: BERT as a decoder is not supported yet");
  }
  if (config.Text("position_embedding_type", "absolute") != "absolute") {
    config.Refuse("position_embedding_type",
                  "must be absolute: others have further parameters, and are not supported yet");
  }
  return out;
}

// Reads "relu", "gated-gelu": gated or not. transformers accepts at most one dash, and only after
// "gated"; it finds no function for an empty name or the name "gated".
FeedForwardKind T5FeedForwardKind(ConfigReader& config) {
  const std::string words = config.Text("feed_forward_proj", "relu");
  const std::vector<absl::string_view> parts = absl::StrSplit(words, '-');
  const bool gated = parts.size() == 2 && parts[0] == "gated";
  const bool plain = parts.size() == 1;
  if (!(gated || plain) || parts.back().empty() || parts.back() == "gated") {
    config.Refuse("feed_forward_proj", "must be a function, such as relu, or gated-gelu");
  }
  if (config.Has("is_gated_act") && config.Flag("is_gated_act", gated) != gated) {
    config.Refuse("is_gated_act", "says something else than feed_forward_proj: remove it");
  }
  return gated ? FeedForwardKind::kGated : FeedForwardKind::kPlain;
}

LayerSpec T5Layer(ConfigReader& config, absl::string_view name) {
  const int64_t heads = config.RequiredSize("num_heads", kMaxHeadCount);
  const int64_t head_size = config.RequiredSize("d_kv", kMaxHeadSize);
  return {
      .name = std::string(name),
      .norm = NormVariant::kRmsNorm,
      .attention = AttentionSpec{.head_count = heads,
                                 .key_value_head_count = heads,
                                 .query_key_head_size = head_size,
                                 .value_head_size = head_size},
      .feed_forward = FeedForwardSpec{.kind = T5FeedForwardKind(config),
                                      .size = config.RequiredSize("d_ff", kMaxFeedForwardSize)}};
}

// Rejects an unread or second name of a size with another value.
void ReadT5Aliases(ConfigReader& config) {
  constexpr absl::string_view kAliases[][2] = {{"hidden_size", "d_model"},
                                               {"num_attention_heads", "num_heads"},
                                               {"num_hidden_layers", "num_layers"}};
  for (const auto& [alias, name] : kAliases) {
    const int64_t size = config.Size(alias);
    if (size != 0 && size != config.Size(name)) {
      config.Refuse(alias, absl::StrCat("is not ", name, ": remove it, or correct them"));
    }
  }
}

// No biases, and one table of relative positions per stack.
ArchitectureSpec ReadT5(ConfigReader& config) {
  ArchitectureSpec out;
  out.hidden_size = config.RequiredSize("d_model", kMaxHiddenSize);
  out.norm = NormVariant::kRmsNorm;
  out.embedding.vocabulary_size = config.RequiredSize("vocab_size", kMaxVocabularySize);
  const int64_t layers = config.RequiredSize("num_layers", kMaxLayerCount);
  const int64_t own_layers = config.Find("num_decoder_layers") == nullptr
                                 ? layers
                                 : config.RequiredSize("num_decoder_layers", kMaxLayerCount);
  int64_t buckets = config.Size("relative_attention_num_buckets");
  if (buckets == 0) buckets = 32;
  LayerSpec encoder = T5Layer(config, "encoder");
  encoder.attention->mask = AttentionMask::kFull;
  LayerSpec decoder = T5Layer(config, "decoder");
  decoder.cross_attention = encoder.attention;
  decoder.norms.before_cross_attention = true;
  out.layer_kinds = {encoder, decoder};
  out.encoder = {.layers = {{.layer_kind = 0, .count = layers}},
                 .relative_position_bucket_count = buckets};
  out.decoder = {.layers = {{.layer_kind = 1, .count = own_layers}},
                 .relative_position_bucket_count = buckets};
  const bool tied = config.Flag("tie_word_embeddings", true);
  out.output.head = tied ? OutputHeadKind::kTied : OutputHeadKind::kUntied;
  if (!config.Flag("is_encoder_decoder", true)) {
    config.Refuse("is_encoder_decoder", "must be true: T5's encoder alone is not supported yet");
  }
  ReadT5Aliases(config);
  return out;
}

constexpr Family kEncoderFamilies[] = {
    {.model_type = "bert",
     .architecture = kPreTrainingBert,
     .also_architectures = kBertAlso,
     .read_model = ReadBert},
    {.model_type = "t5",
     .architecture = "T5ForConditionalGeneration",
     .also_architectures = kT5Also,
     .read_model = ReadT5},
};

}  // namespace

absl::Span<const Family> EncoderFamilies() { return kEncoderFamilies; }

}  // namespace sextant
