#include "server/hugging_face/unsupported.h"

#include "absl/strings/str_cat.h"
#include "engine/base/near_names.h"
#include "server/clip.h"
#include "server/hugging_face/families.h"

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
constexpr char kMultimodal[] =
    "a multimodal model, which is not supported yet; its text_config, sent alone, may be";

// Those that people plan most; the last two could be taken for plain dense decoders.
constexpr Unsupported kUnsupported[] = {
    {"mixtral", kExperts},
    {"qwen2_moe", kExperts},
    {"qwen3_moe", kExperts},
    {"qwen3_next", kExperts},
    {"olmoe", kExperts},
    {"phimoe", kExperts},
    {"granitemoe", kExperts},
    {"gpt_oss", kExperts},
    {"dbrx", kExperts},
    {"llama4_text", kExperts},
    {"glm4_moe", kExperts},
    {"deepseek_v2", kExperts},
    {"deepseek_v3", kExperts},
    {"kimi_k2", kExperts},
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
    {"bert", kEncoder},
    {"roberta", kEncoder},
    {"modernbert", kEncoder},
    {"t5", kEncoder},
    {"bart", kEncoder},
    {"whisper", kEncoder},
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
    {"bloom", "a model with a norm behind its embedding, which is not supported yet"},
    {"mpt",
     "not supported: its own code and transformers' differ in biases and positions; describe it "
     "by model.transformer"},
};

// An answer keeps 256 bytes of a description; the families' names alone would be more.
constexpr char kWhereListed[] = "docs/config_json.md";
constexpr size_t kMaxNameBytes = 32;

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
  return UnknownNameMessage("model_type", Clip(model_type, kMaxNameBytes), KnownModelTypes(),
                            kWhereListed);
}

std::string WhyArchitectureUnsupported(absl::string_view architecture) {
  // Near names would be most of them: "ForCausalLM" is the most of each.
  return UnknownNameMessage("architecture", Clip(architecture, kMaxNameBytes), {}, kWhereListed);
}

}  // namespace sextant
