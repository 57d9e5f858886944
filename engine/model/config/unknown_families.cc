#include "engine/model/config/unknown_families.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "engine/base/near_names.h"
#include "engine/base/text.h"
#include "engine/model/config/families.h"

namespace sextant {
namespace {

struct Unsupported {
  absl::string_view model_type;
  absl::string_view what;  // "holds ..." or "is ..."
};

constexpr char kDeltaNet[] = "holds gated delta nets (linear attention)";
constexpr char kMamba1[] = "holds state-space layers (Mamba-1)";
constexpr char kMamba2[] = "holds state-space layers (Mamba-2)";
constexpr char kTimeMixing[] = "holds recurrent layers (RWKV's time mixing)";
constexpr char kConvolution[] = "holds short convolutions";
constexpr char kLightning[] = "holds lightning attention (linear attention)";
constexpr char kEncoder[] = "is an encoder of another kind than BERT's and T5's";
constexpr char kVision[] = "is a vision model";
constexpr char kMultimodal[] =
    "is a multimodal model without a text_config, which alone is counted of one";

// What the models that users ask for most hold beyond the layers that are known.
constexpr Unsupported kUnsupported[] = {
    {"qwen3_next", kDeltaNet},
    {"qwen3_5_text", kDeltaNet},
    {"qwen3_5_moe_text", kDeltaNet},
    {"olmo_hybrid", kDeltaNet},
    {"kimi_linear", "holds Kimi delta attention (linear attention)"},
    {"bailing_hybrid", "holds Kimi delta attention (linear attention)"},
    {"mamba", kMamba1},
    {"falcon_mamba", kMamba1},
    {"jamba", kMamba1},
    {"mamba2", kMamba2},
    {"falcon_h1", kMamba2},
    {"bamba", kMamba2},
    {"zamba2", kMamba2},
    {"nemotron_h", kMamba2},
    {"recurrent_gemma", "holds recurrent layers (RG-LRU)"},
    {"rwkv", kTimeMixing},
    {"rwkv7", kTimeMixing},
    {"lfm2", kConvolution},
    {"lfm2_moe", kConvolution},
    {"minimax", kLightning},
    {"minimax_m1", kLightning},
    {"minimax_text_01", kLightning},
    {"minimax_m3", "holds attention with an indexer over blocks"},
    {"deepseek_v4", "holds compressed attention with an indexer, and hyper-connections"},
    {"longcat_flash", "holds experts without parameters, and two attentions a layer"},
    {"gemma3n_text", "holds copies of the residual stream, and embeddings of each layer"},
    {"gemma4_text", "holds keys that are values, and experts with norms of their own"},
    {"roberta", kEncoder},
    {"modernbert", kEncoder},
    {"bart", kEncoder},
    {"whisper", kEncoder},
    {"vit", kVision},
    {"dinov2", kVision},
    {"siglip_vision_model", kVision},
    {"clip", kMultimodal},
    {"gemma3", kMultimodal},
    {"gemma3n", kMultimodal},
    {"gemma4", kMultimodal},
    {"llama4", kMultimodal},
    {"llava", kMultimodal},
    {"mistral3", kMultimodal},
    {"mllama", kMultimodal},
    {"paligemma", kMultimodal},
    {"qwen3_5", kMultimodal},
    {"qwen3_5_moe", kMultimodal},
    {"qwen3_vl", kMultimodal},
    {"qwen3_vl_moe", kMultimodal},
};

constexpr char kWhereListed[] = "docs/config_json.md";
constexpr size_t kMaxUnsupportedNameBytes = 24;

// "; model.architecture describes ...", the end of each text.
std::string OrArchitecture() {
  return absl::StrCat(
      "; model.architecture can describe a model of known layers; all that are "
      "read: ",
      kWhereListed);
}

// The family of that name but for case and separators; "" without one.
absl::string_view SameName(absl::string_view model_type) {
  for (const KnownName& known : KnownModelTypes()) {
    if (ComparableName(known.name) == ComparableName(model_type)) return known.name;
  }
  return "";
}

std::string NotKnown(absl::string_view kind, absl::string_view name) {
  return absl::StrCat(kind, " \"", absl::CHexEscape(Clip(name, kMaxUnsupportedNameBytes)),
                      "\" is not known");
}

}  // namespace

std::string ModelTypeMissing() {
  return absl::StrCat("is required: a family's name, such as llama; all: ", kWhereListed);
}

std::string WhyModelTypeUnsupported(absl::string_view model_type) {
  for (const Unsupported& entry : kUnsupported) {
    if (entry.model_type != model_type) continue;
    return absl::StrCat("\"", model_type, "\" ", entry.what,
                        ", not supported yet; all that are read: ", kWhereListed);
  }
  const absl::string_view same = SameName(model_type);
  return absl::StrCat(NotKnown("model_type", model_type),
                      same.empty() ? "" : absl::StrCat(": write ", same), OrArchitecture());
}

std::string WhyArchitectureUnsupported(absl::string_view architecture) {
  return absl::StrCat(NotKnown("architecture", architecture), OrArchitecture());
}

}  // namespace sextant
