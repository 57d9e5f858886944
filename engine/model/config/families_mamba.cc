// Decoders with state-space layers: Mamba-2, alone, between layers of attention or in parallel with
// it, and Jamba's Mamba-1.
//
// Read in huggingface/transformers src/transformers/models (August 2026): modeling_*.py and
// configuration_*.py of nemotron_h, granitemoehybrid, falcon_h1, mamba2, bamba and jamba. The
// published totals that the tests compare with confirm all but bamba's. Modules of multi-token
// prediction of nemotron_h: NVIDIA/Megatron-LM,
// megatron/core/transformer/multi_token_prediction.py, from memory.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/config/families.h"
#include "engine/model/config/layer_patterns.h"

namespace sextant {
namespace {

constexpr SizeNames kMamba2Names = {
    .feed_forward_size = "", .head_count = "", .key_value_head_count = "", .head_size = ""};

constexpr SizeNames kNemotronHNames = {.head_size = {"head_dim", "attention_head_dim"}};

constexpr SizeNames kNoHeadDim = {.head_size = ""};

constexpr SizeNames kGraniteNames = {.feed_forward_size = "shared_intermediate_size"};

constexpr DecoderStyle kNemotronHStyle = {.feed_forward = FeedForwardKind::kPlain};

// Channels of a mixer over the width.
constexpr int64_t kMaxExpansion = 1000;

// A family's names of the sizes of Mamba-2, and the channels of all heads that the file says; 0:
// none.
struct Mamba2Fields {
  absl::string_view head_count = "mamba_n_heads";
  absl::string_view head_size = "mamba_d_head";
  absl::string_view group_count = "mamba_n_groups";
  absl::string_view state_size = "mamba_d_state";
  absl::string_view convolution_size = "mamba_d_conv";
  absl::string_view convolution_bias = "mamba_conv_bias";
  absl::string_view projection_bias = "mamba_proj_bias";
  int64_t channels = 0;
};

// The channels that an expansion of the width makes; 0 where it is absent.
int64_t ReadExpansion(absl::string_view name, const DecoderDraft& draft, ConfigReader& config) {
  if (config.Find(name) == nullptr) return 0;
  return config.RequiredSize(name, kMaxExpansion) * draft.hidden_size;
}

// A file may say "auto": all channels over all heads.
int64_t ReadMambaHeadSize(const Mamba2Fields& fields, int64_t head_count, ConfigReader& config) {
  const ConfigValue* value = config.Find(fields.head_size);
  const bool divides = head_count > 0 && fields.channels % head_count == 0;
  if (value == nullptr || value->text != "auto" || fields.channels == 0 || !divides) {
    return config.RequiredSize(fields.head_size, kMaxHeadSize);
  }
  return fields.channels / head_count;
}

MixerSpec ReadMamba2(const Mamba2Fields& fields, ConfigReader& config) {
  MixerSpec out = {
      .kind = MixerKind::kMamba2,
      .head_count = config.RequiredSize(fields.head_count, kMaxHeadCount),
      .group_count = config.RequiredSize(fields.group_count, kMaxHeadCount),
      .state_size = config.RequiredSize(fields.state_size, kMaxHeadSize),
      .convolution_size = config.RequiredSize(fields.convolution_size, kMaxConvolutionSize),
      .convolution_bias = config.Flag(fields.convolution_bias, true),
      .projection_bias = config.Flag(fields.projection_bias, false),
      .output_norm = true};
  out.head_size = ReadMambaHeadSize(fields, out.head_count, config);
  if (out.group_count > 0 && out.head_count % out.group_count != 0) {
    config.Refuse(fields.group_count, absl::StrCat("must divide ", fields.head_count));
  }
  if (fields.channels > 0 && config.ok() && MixerChannels(out) != fields.channels) {
    config.Refuse(fields.head_count,
                  absl::StrCat("makes ", MixerChannels(out), " channels of ", fields.head_size,
                               " each, but other fields say ", fields.channels, ": correct them"));
  }
  return out;
}

// Fields that change no size.
void PassMambaFields(ConfigReader& config) {
  for (const auto& [name, value] : config.fields()) {
    if (name.rfind("time_step_", 0) == 0) config.Find(name);
  }
  Pass(config, {"chunk_size", "mamba_chunk_size", "mamba_hidden_act", "mamba_inner_layernorms",
                "mamba_norm_before_gate", "use_mamba_kernels", "z_loss_coefficient"});
}

// The letters of nemotron_h's layers, one a layer: M Mamba-2, * attention, - a feed-forward, E
// experts. `letters` and `words` are the two fields that may say them.
std::string ReadLetters(absl::string_view letters, absl::string_view words, ConfigReader& config) {
  std::string out = config.Text(letters, "");
  const auto types = config.Texts(words);
  if (out.empty() && types.has_value()) {
    for (const std::string& type : *types) {
      out += type == "mamba"       ? 'M'
             : type == "attention" ? '*'
             : type == "mlp"       ? '-'
             : type == "moe"       ? 'E'
                                   : '?';
    }
  }
  if (out.find_first_not_of("M*-E") != std::string::npos) {
    config.Refuse(types.has_value() ? words : letters,
                  "must be of M, *, - and E, or of mamba, attention, mlp and moe: others are not "
                  "supported yet");
  }
  return out;
}

std::string ReadNemotronHLetters(ConfigReader& config) {
  return ReadLetters("hybrid_override_pattern", "layers_block_type", config);
}

int64_t CountNemotronHLayers(ConfigReader& config) {
  const auto layers = static_cast<int64_t>(ReadNemotronHLetters(config).size());
  const int64_t given = config.Size("num_hidden_layers");
  if (layers == 0 || layers > kMaxLayerCount) {
    config.Refuse("hybrid_override_pattern",
                  "is required: write a letter for each layer, or layers_block_type");
    return 0;
  }
  if (given != 0 && given != layers) {
    config.Refuse("num_hidden_layers", absl::StrCat("must be the number of layers that the pattern "
                                                    "names, ",
                                                    layers, ", not ", given));
  }
  return layers;
}

// Experts of two matrices, narrower than the residual where there is a moe_latent_size.
void ReadNemotronHExperts(ConfigReader& config, DecoderDraft& draft) {
  const int64_t size = config.RequiredSize("moe_intermediate_size", kMaxFeedForwardSize);
  ReadExperts(config, {.expert_count = "n_routed_experts"}, size, draft);
  ExpertsSpec& experts = *draft.experts;
  experts.expert.kind = FeedForwardKind::kPlain;
  experts.router_correction_bias = true;
  ReadExpertGroups(config, experts);
  if (config.Find("moe_latent_size") != nullptr) {
    experts.latent_size = config.RequiredSize("moe_latent_size", kMaxHiddenSize);
  }
  experts.shared_expert_count = config.Count("n_shared_experts", 0);
  if (experts.shared_expert_count > 0) {
    experts.shared_expert = {
        .kind = FeedForwardKind::kPlain,
        .size = config.RequiredSize("moe_shared_expert_intermediate_size", kMaxFeedForwardSize)};
  }
  if (experts.shared_expert_count > 1) {
    config.Refuse("n_shared_experts",
                  "must be 0 or 1: moe_shared_expert_intermediate_size is one's");
  }
  if (draft.style.feed_forward_bias) {
    config.Refuse("mlp_bias", "must be false: whether experts then have a bias is not known");
  }
}

// A module's layers of attention and of experts are one layer of both here: the parameters,
// products and kept tensors are the same.
void ReadNemotronHModules(ConfigReader& config, DecoderDraft& draft) {
  const int64_t modules = config.Count("num_nextn_predict_layers", 0);
  const std::string letters =
      ReadLetters("mtp_hybrid_override_pattern", "mtp_layers_block_type", config);
  if (modules == 0) return;
  if (letters != "*E" || !draft.experts.has_value() || modules > kMaxLayerCount) {
    return config.Refuse("mtp_hybrid_override_pattern",
                         "must be *E: modules of other layers are not supported yet");
  }
  draft.prediction_module_count = modules;
  draft.prediction_layer = LayerTraits{.experts = true};
}

// One norm and one branch a layer.
void ReadNemotronHOptions(ConfigReader& config, DecoderDraft& draft) {
  ReadBothBiases(config, draft);
  PassMambaFields(config);
  Pass(config, {"expand", "mlp_hidden_act", "moe_shared_expert_overlap", "sliding_window"});
  draft.mixer = ReadMamba2({.head_count = "mamba_num_heads",
                            .head_size = "mamba_head_dim",
                            .group_count = "n_groups",
                            .state_size = "ssm_state_size",
                            .convolution_size = "conv_kernel",
                            .convolution_bias = "use_conv_bias",
                            .projection_bias = "use_bias"},
                           config);
  const std::string letters = ReadNemotronHLetters(config);
  if (letters.find('E') != std::string::npos) ReadNemotronHExperts(config, draft);
  for (const char letter : letters) {
    draft.parts.push_back(letter == 'M'   ? kMixerAlone
                          : letter == '*' ? kAttentionAlone
                                          : kFeedForwardAlone);
    draft.expert_layers.push_back(letter == 'E');
  }
  ReadNemotronHModules(config, draft);
}

// A layer's feed-forward is a shared expert where it has experts. Fields of state-space layers say
// nothing where all are attention.
void ReadGraniteHybridOptions(ConfigReader& config, DecoderDraft& draft) {
  ReadAttentionBias(config, draft);
  PassMambaFields(config);
  if (!ReadMixerTypes("layer_types", {.attention = "attention", .mixer = "mamba"},
                      kMixerAndFeedForward, config, draft)) {
    SetParts([](int64_t) { return false; }, kMixerAndFeedForward, draft);
  }
  const bool mixes = std::any_of(draft.parts.begin(), draft.parts.end(),
                                 [](const LayerParts& parts) { return parts.mixer; });
  if (mixes) {
    draft.mixer = ReadMamba2({.channels = ReadExpansion("mamba_expand", draft, config)}, config);
  } else {
    for (const auto& [name, value] : config.fields()) {
      if (name.rfind("mamba_", 0) == 0) config.Find(name);
    }
  }
  const int64_t experts = config.Count("num_local_experts", 8);
  config.Count("num_experts_per_tok", 2);
  config.Find("intermediate_size");
  if (experts == 0) return;
  const int64_t size = config.RequiredSize("intermediate_size", kMaxFeedForwardSize);
  ReadExperts(config, {.expert_count = "num_local_experts"}, size, draft);
  draft.experts->shared_expert_count = 1;
  draft.experts->shared_expert = {.kind = FeedForwardKind::kGated, .size = draft.feed_forward_size};
}

// Attention and Mamba-2 in parallel after one norm, in each layer.
void ReadFalconH1Options(ConfigReader& config, DecoderDraft& draft) {
  ReadBothBiases(config, draft);
  PassMambaFields(config);
  Pass(config, {"attention_in_multiplier", "attention_out_multiplier", "key_multiplier",
                "lm_head_multiplier", "mlp_multipliers", "ssm_in_multiplier", "ssm_multipliers",
                "ssm_out_multiplier"});
  const int64_t expanded = ReadExpansion("mamba_expand", draft, config);
  const int64_t channels = config.Size("mamba_d_ssm");
  draft.mixer = ReadMamba2({.channels = channels > 0 ? channels : expanded}, config);
  if (!config.Has("mamba_rms_norm")) {
    config.Refuse("mamba_rms_norm", "is required, true or false: it is one size's alone");
  }
  draft.mixer->output_norm = config.Flag("mamba_rms_norm", false);
  if (config.Flag("projectors_bias", false) != draft.mixer->projection_bias) {
    config.Refuse("projectors_bias", "must be mamba_proj_bias: one of two is not supported here");
  }
  if (!config.Flag("mamba_use_mlp", true)) config.Refuse("mamba_use_mlp", "must be true");
  draft.parts.assign(static_cast<size_t>(draft.layer_count), {.mixer = true});
}

void ReadMamba2Options(ConfigReader& config, DecoderDraft& draft) {
  PassMambaFields(config);
  draft.mixer = ReadMamba2({.head_count = "num_heads",
                            .head_size = "head_dim",
                            .group_count = "n_groups",
                            .state_size = "state_size",
                            .convolution_size = "conv_kernel",
                            .convolution_bias = "use_conv_bias",
                            .projection_bias = "use_bias",
                            .channels = ReadExpansion("expand", draft, config)},
                           config);
  if (!config.Flag("rms_norm", true)) {
    config.Refuse("rms_norm", "must be true: this family's code has the norm whatever it says");
  }
  draft.parts.assign(static_cast<size_t>(draft.layer_count), kMixerAlone);
}

void ReadBambaOptions(ConfigReader& config, DecoderDraft& draft) {
  ReadBothBiases(config, draft);
  PassMambaFields(config);
  draft.mixer = ReadMamba2({.channels = ReadExpansion("mamba_expand", draft, config)}, config);
  const auto attends = ReadLayerNumbers(config, "attn_layer_indices", draft);
  SetParts([&](int64_t i) { return attends.has_value() && (*attends)[static_cast<size_t>(i)]; },
           kMixerAndFeedForward, draft);
}

// True where `i` is `offset` modulo `period`.
struct EveryOther {
  int64_t period = 1;
  int64_t offset = 0;

  bool operator()(int64_t i) const { return i % period == offset; }
};

EveryOther ReadEvery(absl::string_view period, absl::string_view offset, const EveryOther& absent,
                     ConfigReader& config) {
  EveryOther out = {.period = config.Size(period), .offset = config.Count(offset, absent.offset)};
  if (out.period == 0) out.period = absent.period;
  if (out.offset >= out.period) {
    config.Refuse(offset, absl::StrCat("must be below ", period, " (", out.period, ")"));
  }
  return out;
}

// The rank of step sizes; a file may say "auto": a sixteenth of the width, rounded up.
int64_t ReadStepRank(const DecoderDraft& draft, ConfigReader& config) {
  constexpr absl::string_view kName = "mamba_dt_rank";
  const ConfigValue* value = config.Find(kName);
  const bool given =
      value != nullptr && !(value->kind == ConfigValue::Kind::kText && value->text == "auto");
  return given ? config.RequiredSize(kName, kMaxHiddenSize)
               : CeilDivide(draft.hidden_size, int64_t{16});
}

void ReadJambaOptions(ConfigReader& config, DecoderDraft& draft) {
  PassMambaFields(config);
  Pass(config, {"sliding_window"});
  const int64_t expansion = config.RequiredSize("mamba_expand", kMaxExpansion);
  draft.mixer =
      MixerSpec{.kind = MixerKind::kMamba1,
                .head_count = expansion * draft.hidden_size,
                .head_size = 1,
                .group_count = 1,
                .state_size = config.RequiredSize("mamba_d_state", kMaxHeadSize),
                .convolution_size = config.RequiredSize("mamba_d_conv", kMaxConvolutionSize),
                .convolution_bias = config.Flag("mamba_conv_bias", true),
                .projection_bias = config.Flag("mamba_proj_bias", false),
                .decay_rank = ReadStepRank(draft, config),
                .inner_norms = true};
  if (draft.mixer->head_count > kMaxHeadCount) {
    config.Refuse("mamba_expand", absl::StrCat("makes more than ", kMaxHeadCount, " channels"));
  }
  const EveryOther attends =
      ReadEvery("attn_layer_period", "attn_layer_offset", {.period = 8, .offset = 4}, config);
  SetParts(attends, kMixerAndFeedForward, draft);
  const EveryOther experts =
      ReadEvery("expert_layer_period", "expert_layer_offset", {.period = 2, .offset = 1}, config);
  if (config.Count("num_experts", 16) <= 1) {
    config.Count("num_experts_per_tok", 2);
    return;
  }
  ReadExperts(config, {.expert_count = "num_experts"}, draft.feed_forward_size, draft);
  SetExpertLayers(experts, draft);
}

constexpr Family kMambaFamilies[] = {
    {.model_type = "nemotron_h",
     .architecture = "NemotronHForCausalLM",
     .names = kNemotronHNames,
     .style = kNemotronHStyle,
     .key_value_head_count_required = true,
     .head_size_required = true,
     .feed_forward_of_dense_layers = true,
     .count_layers = CountNemotronHLayers,
     .read_options = ReadNemotronHOptions},
    {.model_type = "granitemoehybrid",
     .architecture = "GraniteMoeHybridForCausalLM",
     .names = kGraniteNames,
     .read_options = ReadGraniteHybridOptions},
    {.model_type = "falcon_h1",
     .architecture = "FalconH1ForCausalLM",
     .key_value_head_count_required = true,
     .read_options = ReadFalconH1Options},
    {.model_type = "mamba2",
     .architecture = "Mamba2ForCausalLM",
     .names = kMamba2Names,
     .read_options = ReadMamba2Options},
    {.model_type = "bamba",
     .architecture = "BambaForCausalLM",
     .names = kNoHeadDim,
     .key_value_head_count_required = true,
     .read_options = ReadBambaOptions},
    {.model_type = "jamba",
     .architecture = "JambaForCausalLM",
     .names = kNoHeadDim,
     .key_value_head_count_required = true,
     .read_options = ReadJambaOptions},
};

}  // namespace

absl::Span<const Family> MambaFamilies() { return kMambaFamilies; }

}  // namespace sextant
