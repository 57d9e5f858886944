// A model's shape as arguments of Megatron-LM, written and read.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "server/launcher/megatron.h"
#include "server/launcher/setting_file.h"

namespace sextant::server {
namespace {

constexpr int64_t kMaxLayers = 1 << 16;
constexpr int64_t kMaxHiddenSize = 10'000'000;  // the API's

// The whole model; --num-layers is in the launcher's table.
constexpr Setting kModelSettings[] = {
    Other("--hidden-size"),
    Other("--ffn-hidden-size"),
    Present("--swiglu"),
    Other("--glu-activation"),
    Present("--embed-layernorm"),
    Present("--disable-bias-linear"),
    Present("--add-qkv-bias"),
    Other("--position-embedding-type"),
    Present("--no-position-embedding"),
    Other("--max-position-embeddings"),
};
constexpr Setting kNormSettings[] = {
    Choice("--normalization", "norm", "LayerNorm=layer-norm|RMSNorm=rms-norm").Absent("layer-norm"),
};
constexpr Setting kVocabularySettings[] = {
    Switch("--untie-embeddings-and-output-weights", "output.head", "untied").Absent("tied"),
    Whole("--vocab-size", "embedding.vocabulary_size"),
    Whole("--mtp-num-layers", "multi_token_prediction.module_count"),
};

// A layer's attention.
constexpr Setting kHeadSettings[] = {
    Whole("--num-attention-heads", "head_count"),
};
constexpr Setting kLatentSettings[] = {
    Present("--multi-latent-attention"),
    Whole("--q-lora-rank", "latent.query_rank"),
    Whole("--kv-lora-rank", "latent.key_value_rank").Absent("32"),
};
constexpr Setting kLatentHeadSettings[] = {
    Whole("--qk-head-dim", "query_key_head_size").Absent("128"),
    Whole("--qk-pos-emb-head-dim", "latent.rotary_size").Absent("64"),
    Whole("--v-head-dim", "value_head_size").Absent("128"),
};
constexpr Setting kGroupSettings[] = {
    Whole("--kv-channels", "query_key_head_size"),
    Present("--group-query-attention"),
    Whole("--num-query-groups", "key_value_head_count"),
    Present("--qk-layernorm"),
};

// A layer's experts.
constexpr Setting kExpertSettings[] = {
    Whole("--num-experts", "expert_count").Absent("1"),
    Whole("--moe-router-topk", "experts_per_token").Absent("2"),
    Whole("--moe-ffn-hidden-size", "expert.size"),
    Other("--moe-shared-expert-intermediate-size"),
    Other("--moe-layer-freq"),
};
constexpr Setting kRouterSettings[] = {
    Whole("--moe-router-num-groups", "group_count"),
    Whole("--moe-router-group-topk", "groups_per_token"),
    Switch("--moe-router-enable-expert-bias", "router_correction_bias"),
    Other("--moe-router-score-function"),
};

// Rows of a learned table of positions.
int64_t ReadPositions(SettingFile& file) {
  const std::string type = file.Choose("--position-embedding-type",
                                       "learned_absolute|rope|none|~mrope|~yarn|"
                                       "~absolute=learned_absolute|~rotary=rope|~alibi=none",
                                       "learned_absolute");
  const std::optional<int64_t> rows = file.Count("--max-position-embeddings");
  if (type != "learned_absolute" || file.Has("--no-position-embedding")) return 0;
  // The least that Megatron-LM takes is the sequence (validate_args()).
  return rows.has_value() ? *rows : file.Count("--seq-length").value_or(0);
}

void ReadLatents(SettingFile& file, v1::Attention& out) {
  ReadFields(kLatentSettings, file, out);
  ReadFields(kLatentHeadSettings, file, out);
  const auto most = [](int64_t size) { return std::min(size, int64_t{1} << 40); };
  v1::Attention::Latent& latent = *out.mutable_latent();
  latent.set_key_value_rank(most(latent.key_value_rank()));
  latent.set_rotary_size(most(latent.rotary_size()));
  out.set_query_key_head_size(most(out.query_key_head_size()) + latent.rotary_size());
  out.set_value_head_size(most(out.value_head_size()));
  if (out.value_head_size() == out.query_key_head_size()) out.clear_value_head_size();
}

void ReadAttention(int64_t hidden_size, SettingFile& file, v1::Attention& out) {
  const bool linear = !file.Has("--disable-bias-linear");
  ReadFields(kHeadSettings, file, out);
  if (out.head_count() == 0) {
    file.Refuse("--num-attention-heads", "a model takes it");
    out.set_head_count(1);
  }
  out.set_query_bias(linear || file.Has("--add-qkv-bias"));
  out.set_key_bias(out.query_bias());
  out.set_value_bias(out.query_bias());
  out.set_output_bias(linear);
  if (file.Has("--multi-latent-attention")) return ReadLatents(file, out);
  ReadFields(kGroupSettings, file, out);
  if (file.Has("--qk-layernorm")) {
    out.set_query_key_norm(v1::Attention::QUERY_KEY_NORM_PER_HEAD);
  }
  const int64_t groups = std::max(out.key_value_head_count(), int64_t{1});
  out.clear_key_value_head_count();
  if (file.Has("--group-query-attention") && groups != out.head_count()) {
    out.set_key_value_head_count(groups);
  }
  if (out.query_key_head_size() > 0) return;
  if (hidden_size % out.head_count() != 0) {
    file.Refuse("--kv-channels", "--num-attention-heads does not divide --hidden-size");
  }
  out.set_query_key_head_size(hidden_size / out.head_count());
}

// The width inside a feed-forward that Megatron-LM takes by default: 4 h, of gated ones two thirds
// of it down to a multiple of 64 (validate_args()).
int64_t UsualWidth(int64_t hidden_size, bool gated) {
  return gated ? hidden_size * 8 / 3 / 64 * 64 : 4 * hidden_size;
}

v1::FeedForward ReadFeedForward(int64_t hidden_size, SettingFile& file) {
  const bool gated = file.Has("--swiglu") || file.Has("--glu-activation");
  const bool bias = !file.Has("--disable-bias-linear");
  v1::FeedForward out;
  out.set_kind(gated ? v1::FeedForward::KIND_GATED : v1::FeedForward::KIND_PLAIN);
  out.set_size(file.Count("--ffn-hidden-size").value_or(UsualWidth(hidden_size, gated)));
  out.set_input_bias(bias);
  out.set_output_bias(bias);
  return out;
}

void ReadExperts(const v1::FeedForward& dense, SettingFile& file, v1::Experts& out) {
  *out.mutable_expert() = dense;
  ReadFields(kExpertSettings, file, out);
  ReadFields(kRouterSettings, file, out);
  if (out.group_count() == 0) {
    out.clear_groups_per_token();
  } else if (out.groups_per_token() == 0) {
    out.set_groups_per_token(1);
  }
  if (const auto size = file.Count("--moe-shared-expert-intermediate-size")) {
    out.set_shared_expert_count(1);
    *out.mutable_shared_expert() = dense;
    out.mutable_shared_expert()->set_size(*size);
  }
}

// True for each layer that has experts.
std::vector<bool> ReadLayerPattern(int64_t layer_count, SettingFile& file) {
  constexpr char kFrequency[] = "--moe-layer-freq";
  std::vector<bool> dense(static_cast<size_t>(layer_count));
  if (!file.Has("--num-experts")) return dense;
  absl::StatusOr<std::vector<bool>> read =
      ExpertLayers(file.Text(kFrequency).value_or("1"), layer_count);
  if (read.ok()) return *std::move(read);
  file.Refuse(kFrequency, std::string(read.status().message()));
  return dense;
}

void ReadLayers(const std::vector<bool>& layers, int64_t hidden_size, SettingFile& file,
                v1::Architecture& out) {
  v1::LayerKind common;
  common.set_norm(out.norm());
  ReadAttention(hidden_size, file, *common.mutable_attention());
  const v1::FeedForward feed_forward = ReadFeedForward(hidden_size, file);
  for (size_t i = 0; i < layers.size();) {
    size_t end = i;
    while (end < layers.size() && layers[end] == layers[i]) ++end;
    const std::string name = layers[i] ? "experts" : "dense";
    v1::Architecture::LayerRun& run = *out.mutable_decoder()->add_layers();
    run.set_layer_kind(name);
    run.set_count(static_cast<int64_t>(end - i));
    i = end;
    if (absl::c_any_of(out.layer_kinds(), [&](auto& kind) { return kind.name() == name; }))
      continue;
    v1::LayerKind& kind = *out.add_layer_kinds();
    kind = common;
    kind.set_name(name);
    if (name == "dense") {
      *kind.mutable_feed_forward() = feed_forward;
    } else {
      ReadExperts(feed_forward, file, *kind.mutable_experts());
    }
  }
}

void WriteAttention(const v1::Attention& attention, SettingList& out) {
  WriteFields(kHeadSettings, attention, out);
  if (attention.has_latent()) {
    v1::Attention heads = attention;
    heads.set_query_key_head_size(attention.query_key_head_size() -
                                  attention.latent().rotary_size());
    if (!attention.has_value_head_size())
      heads.set_value_head_size(attention.query_key_head_size());
    out.Add("--multi-latent-attention", true);
    WriteFields(kLatentSettings, attention, out);
    WriteFields(kLatentHeadSettings, heads, out);
  } else {
    out.Add("--kv-channels", attention.query_key_head_size());
    if (attention.has_key_value_head_count()) {
      out.Add("--group-query-attention", true);
      out.Add("--num-query-groups", attention.key_value_head_count());
    }
  }
  // With latents it is the norms of those, which Sextant counts.
  if (attention.has_latent() || attention.query_key_norm() != 0) out.Add("--qk-layernorm", true);
}

void WriteExperts(const v1::Experts& experts, const std::vector<bool>& layers, SettingList& out) {
  WriteFields(kExpertSettings, experts, out);
  if (experts.shared_expert_count() > 0) {
    out.Add("--moe-shared-expert-intermediate-size",
            experts.shared_expert_count() * experts.shared_expert().size());
  }
  if (!absl::c_all_of(layers, [](bool e) { return e; })) {
    out.Add("--moe-layer-freq", ExpertLayersText(layers));
  }
  WriteFields(kRouterSettings, experts, out);
  // The only one that a bias of experts takes.
  if (experts.router_correction_bias()) out.Add("--moe-router-score-function", "sigmoid");
}

}  // namespace

std::vector<absl::Span<const Setting>> ModelTables() {
  return {kModelSettings,      kNormSettings,  kVocabularySettings, kHeadSettings,  kLatentSettings,
          kLatentHeadSettings, kGroupSettings, kExpertSettings,     kRouterSettings};
}

void WriteModel(const Setting& setting, Writing& writing) {
  const v1::Architecture& model = writing.run.model;
  SettingList& out = writing.list;
  GptShape shape;
  const std::string why = FindGptShape(model, &shape);
  if (!why.empty()) {
    return writing.refusals.Add("model", absl::StrCat("no argument gives ", why),
                                writing.run.model_name);
  }
  const v1::FeedForward& dense = shape.any().feed_forward();
  const bool gated = (shape.dense != nullptr ? dense : shape.experts->experts().expert()).kind() ==
                     v1::FeedForward::KIND_GATED;
  const int64_t learned = model.decoder().learned_position_count();
  out.Add(setting.name, static_cast<int64_t>(shape.layers.size()));
  out.Add("--hidden-size", model.hidden_size());
  if (shape.dense != nullptr) out.Add("--ffn-hidden-size", dense.size());
  WriteAttention(shape.any().attention(), out);
  if (gated) out.Add("--swiglu", true);
  if (!shape.linear_bias) out.Add("--disable-bias-linear", true);
  if (shape.query_key_value_bias) out.Add("--add-qkv-bias", true);
  WriteFields(kNormSettings, model, out);
  out.Add("--position-embedding-type", learned > 0 ? "learned_absolute" : "rope");
  out.Add("--max-position-embeddings",
          learned > 0 ? learned : writing.training().sequence_length());
  WriteFields(kVocabularySettings, model, out);
  if (shape.experts != nullptr) WriteExperts(shape.experts->experts(), shape.layers, out);
}

void ReadModel(const Setting& setting, Reading& reading) {
  constexpr char kWidth[] = "--hidden-size";
  SettingFile& file = reading.file;
  if (!reading.with_model) return;
  v1::ModelSpec& model = *reading.request().mutable_model();
  const std::optional<int64_t> layers = file.Count(setting.name);
  const std::optional<int64_t> hidden_size = file.Count(kWidth);
  if (!file.Has(setting.name) && !file.Has(kWidth)) return;
  for (const char* name : {setting.name, kWidth}) {
    if (!file.Has(name)) file.Refuse(name, "a model takes it");
  }
  if (!layers.has_value() || !hidden_size.has_value()) return;
  if (*layers > kMaxLayers || *hidden_size > kMaxHiddenSize) {
    return file.Refuse(setting.name, "write at most 65536 layers of at most 10000000");
  }
  v1::Architecture& out = *model.mutable_architecture();
  out.set_hidden_size(*hidden_size);
  ReadFields(kNormSettings, file, out);
  ReadFields(kVocabularySettings, file, out);
  // Megatron-DeepSpeed's, of the padded table.
  const std::optional<int64_t> padded = file.Count("--pad-vocab-size-to");
  if (out.embedding().vocabulary_size() == 0) {
    out.mutable_embedding()->set_vocabulary_size(padded.value_or(0));
  }
  if (out.embedding().vocabulary_size() == 0) {
    file.Refuse("--vocab-size",
                "the tokenizer's is not among the arguments: add it, or name the model");
  }
  ReadLayers(ReadLayerPattern(*layers, file), *hidden_size, file, out);
  out.mutable_decoder()->set_learned_position_count(ReadPositions(file));
  if (file.Has("--embed-layernorm")) out.mutable_decoder()->set_embedding_norm(true);
  if (out.has_multi_token_prediction()) {
    out.mutable_multi_token_prediction()->set_layer_kind(
        out.decoder().layers().rbegin()->layer_kind());
  }
}

}  // namespace sextant::server
