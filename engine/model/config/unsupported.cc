#include "engine/model/config/unsupported.h"

#include "absl/strings/str_cat.h"
#include "engine/base/clip.h"
#include "engine/base/near_names.h"
#include "engine/model/config/families.h"

namespace sextant {
namespace {

struct Unsupported {
  absl::string_view model_type;
  absl::string_view reason;  // reads on after "is"
};

constexpr char kExperts[] = "a mixture of experts, which is not supported yet";
constexpr char kLatent[] = "a model with latent attention, which is not supported yet";
constexpr char kStateSpace[] = "a state-space or recurrent model, which is not supported yet";
constexpr char kEncoder[] = "a model with an encoder, which is not supported yet";
constexpr char kVision[] = "a vision model, which is not supported yet";
constexpr char kMultimodal[] =
    "a multimodal model, which is not supported yet; its text_config, sent alone, may be";

// Those that people plan most.
constexpr Unsupported kUnsupported[] = {
    {"qwen3_next", kStateSpace},
    {"granitemoe", kExperts},
    {"glm4_moe", kExperts},
    {"minicpm3", kLatent},
    {"mamba", kStateSpace},
    {"mamba2", kStateSpace},
    {"falcon_mamba", kStateSpace},
    {"falcon_h1", kStateSpace},
    {"jamba", kStateSpace},
    {"bamba", kStateSpace},
    {"zamba2", kStateSpace},
    {"nemotron_h", kStateSpace},
    {"recurrent_gemma", kStateSpace},
    {"rwkv", kStateSpace},
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
    {"llama4", kMultimodal},
    {"llava", kMultimodal},
    {"mistral3", kMultimodal},
    {"mllama", kMultimodal},
    {"paligemma", kMultimodal},
    {"qwen2_vl", kMultimodal},
    {"qwen2_5_vl", kMultimodal},
    {"qwen3_vl", kMultimodal},
};

// An answer keeps 256 bytes of a description; the families' names alone would be more.
constexpr char kWhereListed[] = "docs/config_json.md";
constexpr size_t kMaxUnsupportedNameBytes = 32;

}  // namespace

std::string ModelTypeMissing() {
  return absl::StrCat("is required: a family's name, such as llama; all: ", kWhereListed);
}

std::string WhyModelTypeUnsupported(absl::string_view model_type) {
  for (const Unsupported& entry : kUnsupported) {
    if (entry.model_type != model_type) continue;
    return absl::StrCat("\"", model_type, "\" is ", entry.reason,
                        "; all that are supported: ", kWhereListed);
  }
  return UnknownNameMessage("model_type", Clip(model_type, kMaxUnsupportedNameBytes),
                            KnownModelTypes(), kWhereListed);
}

std::string WhyArchitectureUnsupported(absl::string_view architecture) {
  // Near names would be most of them: "ForCausalLM" is the most of each.
  return UnknownNameMessage("architecture", Clip(architecture, kMaxUnsupportedNameBytes), {},
                            kWhereListed);
}

}  // namespace sextant
