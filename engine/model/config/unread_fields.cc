#include "engine/model/config/unread_fields.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sextant {
namespace {

using Kind = ConfigValue::Kind;

// Fields without parameters; "name=text" for that text alone. Source: huggingface/transformers
// src/transformers/configuration_utils.py and generation/configuration_utils.py, whose fields every
// file may have, and the published files of the families that are read.
constexpr absl::string_view kHarmless[] = {
    // Names, and how the file was written.
    "_name_or_path", "architectures", "auto_map", "finetuning_task", "for_llm_compressor",
    "id2label", "inference_runner", "label2id", "license", "model_name", "name_or_path", "prefix",
    "problem_type", "task_specific_params", "tokenizer_class", "tokenizer_name", "torchscript",
    "transformers_version", "unsloth_fixed", "unsloth_version", "use_bfloat16",
    "validate_runner_input", "verbose", "attn_config.model_type", "ffn_config.model_type",
    // Types of numbers, and quantisation.
    "attention_softmax_in_fp32", "compression_config", "dtype", "expert_dtype", "params_dtype",
    "quantization", "quantization_config", "residual_in_fp32", "scale_attention_softmax_in_fp32",
    "torch_dtype",
    // Positions.
    "alibi", "alibi_bias_max", "attn_rotary_emb", "initial_context_length", "llama_4_scaling",
    "max_length", "max_position_embeddings", "max_seq_len", "max_seq_length", "max_sequence_length",
    "model_max_length", "mrope_section", "n_ctx", "n_positions", "offset_alibi",
    "original_max_position_embeddings", "partial_rotary_factor", "partial_rotary_factors",
    "position_embedding_type=alibi", "position_embedding_type=nope", "position_embedding_type=rope",
    "position_embedding_type=rope_gptj", "relative_attention_max_distance", "rope_impl",
    "rope_interleave", "rope_interleaved", "rope_local_base_freq", "rope_parameters", "rope_ratio",
    "rope_scaling", "rope_theta", "rope_theta_local", "rope_traditional", "rope_type", "rotary",
    "rotary_dim", "rotary_emb_base", "rotary_emb_fraction", "rotary_pct", "rotary_percentage",
    "seq_length", "use_mrope", "use_rope", "use_scaled_rope", "yarn", "use_rotary",
    // Windows that this family's code does not read.
    "attention_layers", "layer_switch", "max_window_layers", "order_of_interleaved_layers",
    "sliding_window", "sliding_window_pattern", "sliding_window_size", "use_sliding_window",
    // Tokens and generation.
    "bad_words_ids", "begin_suppress_tokens", "decoder_start_token_id", "directionality",
    "diversity_penalty", "do_sample", "early_stopping", "exponential_decay_length_penalty",
    "is_decoder", "length_penalty", "max_batch_size", "max_new_tokens", "min_length",
    "no_repeat_ngram_size", "num_beam_groups", "num_beams", "num_logits_to_keep",
    "num_return_sequences", "output_attentions", "output_hidden_states", "output_past",
    "output_router_logits", "output_scores", "pad_key_length", "remove_invalid_values",
    "repetition_penalty", "return_dict", "return_dict_in_generate", "suppress_tokens",
    "temperature", "top_k", "top_p", "typical_p",
    // Caches and kernels.
    "_attn_implementation", "_attn_implementation_autoset", "_flash_attn_2_enabled", "attn_impl",
    "attn_implementation", "attn_uses_sequence_id", "bias_dropout_fusion", "cache_implementation",
    "chunk_size_feed_forward", "embedding_fraction", "flash_attention", "masked_softmax_fusion",
    "pre_allocate_kv_cache", "prefix_lm", "use_cache", "use_cache_quantization", "use_flash_attn",
    "use_flash_attention", "use_return_dict", "causal",
    // Functions and factors without parameters.
    "activation_function", "activation_type", "apply_residual_connection_post_layernorm",
    "attention_multiplier", "attn_logit_softcapping", "attn_scale", "attn_temperature_tuning",
    "clip_qkv", "embedding_multiplier", "emb_scale", "final_logit_softcapping", "floor_scale",
    "hidden_act", "hidden_activation", "hidden_factor", "logit_scale", "logits_scaling",
    "mlp_type=default", "mup_enabled", "norm_type=layer_norm", "norm_type=rms", "norm_type=rmsnorm",
    "normalization_function=rmsnorm", "query_pre_attn_scalar", "residual_multiplier",
    "scale_attn_by_inverse_layer_idx", "scale_attn_weights", "slow_but_exact", "softmax_scale",
    "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
    "summary_use_proj", "swiglu_alpha", "swiglu_limit", "use_embedding_sharing",
    "use_gated_activation", "use_gemma_norm", "use_parallel_block", "use_parallel_embedding",
    "use_parallel_residual", "use_rmsnorm", "skip_bias_add", "skip_bias_add_qkv",
    // A pooler, and a vision tower without its vit_type, that the classes that are read do not
    // have.
    "anyres_pooling_size", "vit_input_resolution", "vit_mapping_type", "vit_norm_type", "vit_patch",
    "vit_token", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers",
    "pooler_size_per_head", "pooler_type",
    // Routing of the experts that the family reads.
    "moe_normalize_expert_weights", "moe_renormalize", "moe_router_activation_func", "n_group",
    "norm_topk_prob", "route_norm", "route_scale", "score_func", "score_function", "scoring_func",
    "topk_group", "num_limited_groups", "use_grouped_mm", "use_grouped_topk",
    // Training.
    "attn_dropout", "aux_loss_alpha", "cross_entropy_loss_fusion", "dropout", "ep_size",
    "fused_cross_entropy", "gradient_checkpointing", "init_device", "init_method",
    "init_scale_factor", "init_std", "initializer_factor", "initializer_range", "layerdrop",
    "pretraining_tp", "reduce_results", "rescale_prenorm_residual", "seq_aux", "tf_legacy_loss"};

// Ends of such names.
constexpr absl::string_view kHarmlessEnds[] = {
    "_act",          "_aux_loss",       "_capacity_factor",
    "_dropout",      "_dropout_prob",   "_dropout_rate",
    "_eps",          "_epsilon",        "_jitter_eps",
    "_jitter_noise", "_loss_coef",      "_loss_weight",
    "_pdrop",        "_scaling_factor", "_id",
    "_token_ids",    "_token_index",    "_initializer_range",
    "_dtype"};

// Last words in the names of rates and weights: fractions of these change no count.
constexpr absl::string_view kRateWords[] = {"alpha", "coef", "coeff", "dropout", "jitter",
                                            "loss",  "prob", "rate",  "scale",   "weight"};

// Words in the names of a multimodal model's other parts.
constexpr absl::string_view kOtherParts[] = {"audio",  "boa",   "boi",       "eoa",    "eoi",
                                             "ignore", "image", "img",       "media",  "mm",
                                             "patch",  "pixel", "projector", "select", "spatial",
                                             "speech", "video", "vision",    "visual", "vit"};

// Sizes that a reader compares with the model's own where it has not read them.
constexpr absl::string_view kComparedSizes[] = {"head_dim",          "hidden_size",
                                                "intermediate_size", "num_attention_heads",
                                                "num_hidden_layers", "num_key_value_heads"};

// A field of Gemma's embedding models.
constexpr char kBothWays[] = "use_bidirectional_attention";

// Activations that hold parameters.
constexpr absl::string_view kLearnedActivations[] = {"prelu", "xielu"};

// Layers that differ in their mask, not in their parameters.
constexpr absl::string_view kPlainLayerTypes[] = {"full_attention", "sliding_attention",
                                                  "chunked_attention"};

struct Part {
  absl::string_view words;  // consecutive words of a name
  absl::string_view part;
};

// The first row whose words are in a name says its part.
constexpr Part kParts[] = {
    {"index", "an indexer of attention"},
    {"indexer", "an indexer of attention"},
    {"output_gate", "a gate on attention's output"},
    {"attn_gate", "a gate on attention's output"},
    {"gating", "a gate on attention's output"},
    {"sink", "attention sinks"},
    {"sinks", "attention sinks"},
    {"per_layer_input", "embeddings of each layer"},
    {"per_layer", "sizes of each layer"},
    {"mtp", "multi-token prediction"},
    {"nextn", "multi-token prediction"},
    {"expert", "experts"},
    {"experts", "experts"},
    {"moe", "experts"},
    {"linear", "linear attention"},
    {"mamba", "state-space layers"},
    {"ssm", "state-space layers"},
    {"conv", "convolutions"},
    {"hc", "hyper-connections"},
    {"altup", "copies of the residual stream"},
    {"laurel", "low-rank residuals"},
    {"lora", "low-rank matrices"},
    {"adapter", "adapters"},
    {"adapters", "adapters"},
    {"cla", "keys and values that layers share"},
    {"kv_shared", "keys and values that layers share"},
    {"cross_attention", "cross attention"},
    {"encoder", "an encoder"},
    {"vision", "a vision tower"},
    {"audio", "an audio tower"},
    {"bias", "biases"},
    {"norm", "norms"},
    {"layernorm", "norms"},
    {"act", "an activation with parameters"},
    {"activation", "an activation with parameters"},
};

template <typename Names>
bool Contains(const Names& names, absl::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// True where `words` are consecutive words of `name`.
bool HasWords(absl::string_view name, absl::string_view words) {
  return absl::StrContains(absl::StrCat("_", name, "_"), absl::StrCat("_", words, "_"));
}

// "moe_loss_weight" for "ffn_config.moe_loss_weight".
absl::string_view LastName(absl::string_view name) {
  return name.substr(name.find('.') == absl::string_view::npos ? 0 : name.find('.') + 1);
}

bool IsRate(absl::string_view name) {
  const std::vector<absl::string_view> words = absl::StrSplit(name, '_');
  return Contains(kRateWords, words.back());
}

// True where `digits`, a JSON number, is 0: 0.0, -0.00, 0e5.
bool IsZero(absl::string_view digits) {
  return digits.substr(0, digits.find_first_of("eE")).find_first_of("123456789") ==
         absl::string_view::npos;
}

// A false of these says that a part is there.
bool IsNegative(absl::string_view name) {
  for (const absl::string_view start : {"no_", "disable_", "skip_", "without_"}) {
    if (absl::StartsWith(name, start)) return true;
  }
  return false;
}

// True where `value` means none. One expert is a plain feed-forward block,
// but a shared one adds to others. 8.0 may be a count like
// 8: a fraction is ignored only where its name says that it is a rate.
bool SaysNone(absl::string_view name, const ConfigValue& value) {
  switch (value.kind) {
    case Kind::kNull:
      return true;
    case Kind::kOtherNumber:
      return IsRate(name) || IsZero(value.text);
    case Kind::kBoolean:
      return !value.boolean && !IsNegative(name);
    case Kind::kInteger:
      return value.integer == 0 || (value.integer == 1 && absl::StrContains(name, "expert") &&
                                    !absl::StrContains(name, "share"));
    case Kind::kText:
      return value.text.empty();
    case Kind::kArray:
    case Kind::kObject:
      return value.element_count == 0;
  }
  return false;
}

bool IsPlain(const ConfigValue& type) {
  return type.kind == Kind::kText && Contains(kPlainLayerTypes, type.text);
}

bool HasPlainLayers(const ConfigValue& layer_types) {
  return layer_types.kind == Kind::kArray &&
         std::all_of(layer_types.elements.begin(), layer_types.elements.end(), IsPlain);
}

// Calls `visit` with every unread field, or with its unread members.
template <typename Visit>
void ForEachUnread(const ConfigReader& config, Visit visit) {
  for (const auto& [name, value] : config.fields()) {
    if (!config.HasReadInside(name)) {
      if (!config.HasRead(name)) visit(name, value);
      continue;
    }
    for (const ConfigValue& member : value.elements) {
      const std::string path = absl::StrCat(name, ".", member.name);
      if (!config.HasRead(path)) visit(path, member);
    }
  }
}

// The part of a model that the field `name` is about: "experts", "an indexer"; "" where the name
// tells none.
absl::string_view PartNamedBy(absl::string_view name) {
  for (const Part& part : kParts) {
    if (HasWords(LastName(name), part.words)) return part.part;
  }
  return "";
}

}  // namespace

bool IsHarmless(absl::string_view path, const ConfigValue& value) {
  const absl::string_view name = LastName(path);
  if (SaysNone(name, value)) return true;
  if (value.kind == Kind::kText) {
    if (Contains(kLearnedActivations, value.text)) return false;
    if (Contains(kHarmless, absl::StrCat(name, "=", value.text))) return true;
  }
  if (name == "layer_types") return HasPlainLayers(value);
  if (Contains(kHarmless, name) || Contains(kHarmless, path)) return true;
  return std::any_of(std::begin(kHarmlessEnds), std::end(kHarmlessEnds),
                     [name](absl::string_view end) { return absl::EndsWith(name, end); });
}

bool IsHarmlessAround(absl::string_view name, const ConfigValue& value) {
  if (name == "model_type" || IsHarmless(name, value)) return true;
  const std::vector<absl::string_view> words = absl::StrSplit(name, '_');
  return std::any_of(words.begin(), words.end(),
                     [](absl::string_view word) { return Contains(kOtherParts, word); });
}

std::string WhyNotIgnored(absl::string_view name, const ConfigValue& value) {
  if (name == "layer_types") {
    return "must name full_attention, sliding_attention or chunked_attention layers alone: others "
           "hold other parameters, and are not supported yet";
  }
  constexpr absl::string_view kOr = "or set model.allow_unread_fields to count without it";
  const absl::string_view part = PartNamedBy(name);
  if (part.empty()) {
    return absl::StrCat(
        "is not known here, and may stand for parameters: remove the field if it does not, ", kOr);
  }
  return absl::StrCat(Quoted(value), " speaks of ", part,
                      ", which this family does not have here: remove the field if the model has "
                      "none, ",
                      kOr);
}

UnreadFields SortUnreadFields(ConfigReader& config, bool sizes_compared) {
  UnreadFields out;
  ForEachUnread(config, [&](const std::string& name, const ConfigValue& value) {
    if (name == kBothWays && !SaysNone(name, value)) {
      config.Refuse(name,
                    "makes tokens attend to later ones, which is not supported in this family: "
                    "remove it if yours does not");
    } else if (IsHarmless(name, value) || (sizes_compared && Contains(kComparedSizes, name))) {
      if (value.kind != Kind::kNull) out.harmless.push_back(name);
    } else {
      out.others.emplace_back(name, &value);
    }
  });
  return out;
}

}  // namespace sextant
