// Families whose file describes each layer by itself: NVIDIA's Nemotron-NAS, Llama's layers with
// some attention and feed-forwards left out or narrowed.
//
// Read in modeling_decilm.py and block_config.py of nvidia/Llama-3_1-Nemotron-51B-Instruct, from
// memory: the feed-forward's width is 2/3 of ffn_mult times the model's, rounded up to 256; a part
// that is left out takes its norm with it.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/text.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/config/families.h"
#include "engine/model/config/unread_fields.h"

namespace sextant {
namespace {

constexpr char kBlocks[] = "block_configs";
constexpr int64_t kWidthStep = 256;
constexpr size_t kMaxMemberBytes = 40;

const ConfigValue* MemberOf(const ConfigValue* object, absl::string_view name) {
  if (object == nullptr) return nullptr;
  for (const ConfigValue& member : object->elements) {
    if (member.name == name && member.kind != ConfigValue::Kind::kNull) return &member;
  }
  return nullptr;
}

bool Says(const ConfigValue* object, absl::string_view name) {
  const ConfigValue* value = MemberOf(object, name);
  return value != nullptr && value->boolean;
}

// One layer's sizes; 0: the part is left out.
struct Block {
  int64_t key_value_heads = 0;
  int64_t width = 0;
};

class BlockReader {
 public:
  explicit BlockReader(ConfigReader& config) : config_(config) {}

  ArchitectureSpec Read() {
    const int64_t layers = config_.RequiredSize("num_hidden_layers", kMaxLayerCount);
    hidden_ = config_.RequiredSize("hidden_size", kMaxHiddenSize);
    heads_ = config_.RequiredSize("num_attention_heads", kMaxHeadCount);
    out_.hidden_size = hidden_;
    out_.norm = NormVariant::kRmsNorm;
    out_.embedding.vocabulary_size = config_.RequiredSize("vocab_size", kMaxVocabularySize);
    out_.output.head = config_.Flag("tie_word_embeddings", false) ? OutputHeadKind::kTied
                                                                  : OutputHeadKind::kUntied;
    ReadHeadSize();
    const ConfigValue* blocks = config_.Find(kBlocks);
    if (blocks == nullptr || static_cast<int64_t>(blocks->elements.size()) != layers) {
      config_.Refuse(kBlocks, "must have an object for each of num_hidden_layers");
    }
    if (!config_.ok()) return out_;
    for (const ConfigValue& block : blocks->elements) Add(BlockOf(block));
    const auto runs = static_cast<int64_t>(out_.decoder.layers.size());
    if (config_.ok() && (runs == 0 || runs > kMaxLayerRuns)) {
      config_.Refuse(kBlocks, absl::StrCat("must make 1 to ", kMaxLayerRuns, " runs of layers"));
    }
    return out_;
  }

 private:
  void ReadHeadSize() {
    if (config_.Find("head_dim") != nullptr) {
      head_size_ = config_.RequiredSize("head_dim", kMaxHeadSize);
    } else if (heads_ > 0 && hidden_ > 0) {
      head_size_ = hidden_ / heads_;
      if (hidden_ % heads_ != 0 || head_size_ > kMaxHeadSize) {
        config_.Refuse("num_attention_heads", "must divide hidden_size; or give head_dim");
      }
    }
  }

  // Other members than those that are read may stand for further parts.
  void CheckMembers(const ConfigValue* object, absl::Span<const absl::string_view> read) {
    if (object == nullptr) return;
    for (const ConfigValue& member : object->elements) {
      const bool known = std::find(read.begin(), read.end(), member.name) != read.end();
      if (!known && !IsHarmless(member.name, member)) {
        config_.Refuse(kBlocks, absl::StrCat("name ", Clip(member.name, kMaxMemberBytes),
                                             ", which is not supported yet"));
      }
      if ((member.name == "no_op" || member.name == "replace_with_linear") &&
          member.kind != ConfigValue::Kind::kBoolean && member.kind != ConfigValue::Kind::kNull) {
        config_.Refuse(kBlocks, absl::StrCat("must have true or false for ", member.name));
      }
    }
  }

  Block BlockOf(const ConfigValue& value) {
    CheckMembers(&value, {"attention", "ffn"});
    CheckMembers(MemberOf(&value, "attention"),
                 {"n_heads_in_group", "no_op", "replace_with_linear", "window_length"});
    CheckMembers(MemberOf(&value, "ffn"), {"ffn_mult", "no_op", "replace_with_linear"});
    const ConfigValue* attention = MemberOf(&value, "attention");
    const ConfigValue* feed_forward = MemberOf(&value, "ffn");
    for (const ConfigValue* part : {attention, feed_forward}) {
      if (part == nullptr) config_.Refuse(kBlocks, "must say attention and ffn of each layer");
      if (Says(part, "replace_with_linear")) {
        config_.Refuse(kBlocks, "put a matrix in the place of a part, not supported yet");
      }
    }
    if (MemberOf(attention, "window_length") != nullptr) {
      config_.Refuse(kBlocks, "name windows, which are not supported in this family");
    }
    return {.key_value_heads = Says(attention, "no_op") ? 0 : KeyValueHeads(attention),
            .width = Says(feed_forward, "no_op") ? 0 : Width(feed_forward)};
  }

  int64_t KeyValueHeads(const ConfigValue* attention) {
    const ConfigValue* group = MemberOf(attention, "n_heads_in_group");
    if (group != nullptr && group->kind == ConfigValue::Kind::kInteger && group->integer >= 1 &&
        heads_ % group->integer == 0) {
      return heads_ / group->integer;
    }
    config_.Refuse(kBlocks, absl::StrCat("must have n_heads_in_group that divides ", heads_));
    return 1;
  }

  int64_t Width(const ConfigValue* feed_forward) {
    const ConfigValue* factor = MemberOf(feed_forward, "ffn_mult");
    double times = 0;
    if (factor != nullptr) {
      times =
          factor->kind == ConfigValue::Kind::kInteger ? static_cast<double>(factor->integer) : 0;
      if (times == 0 && !absl::SimpleAtod(factor->text, &times)) times = 0;
    }
    if (!(times > 0 && times <= 1000)) {
      config_.Refuse(kBlocks, "must have ffn_mult above 0, at most 1000");
      return kWidthStep;
    }
    const auto width = static_cast<int64_t>(2 * times * static_cast<double>(hidden_) / 3);
    if (width < 1 || width > kMaxFeedForwardSize - kWidthStep) {
      config_.Refuse(kBlocks, "make feed-forwards of no possible width");
      return kWidthStep;
    }
    return (width + kWidthStep - 1) / kWidthStep * kWidthStep;
  }

  // A layer of neither part adds nothing.
  void Add(const Block& block) {
    if (block.key_value_heads == 0 && block.width == 0) return;
    const int kind = KindOf(block);
    auto& runs = out_.decoder.layers;
    if (runs.empty() || runs.back().layer_kind != kind) runs.push_back({.layer_kind = kind});
    ++runs.back().count;
    if (static_cast<int64_t>(out_.layer_kinds.size()) > kMaxLayerKinds) {
      config_.Refuse(kBlocks, absl::StrCat("are of more than ", kMaxLayerKinds, " kinds"));
    }
  }

  int KindOf(const Block& block) {
    const std::string name = absl::StrCat("heads_", block.key_value_heads, "_width_", block.width);
    const auto found = std::find_if(out_.layer_kinds.begin(), out_.layer_kinds.end(),
                                    [&name](const LayerSpec& kind) { return kind.name == name; });
    if (found != out_.layer_kinds.end()) {
      return static_cast<int>(found - out_.layer_kinds.begin());
    }
    LayerSpec layer = {.name = name, .norm = NormVariant::kRmsNorm};
    layer.norms = {.before_attention = block.key_value_heads > 0,
                   .before_feed_forward = block.width > 0};
    if (block.key_value_heads > 0) {
      layer.attention = AttentionSpec{.head_count = heads_,
                                      .key_value_head_count = block.key_value_heads,
                                      .query_key_head_size = head_size_,
                                      .value_head_size = head_size_};
    }
    if (block.width > 0) {
      layer.feed_forward = FeedForwardSpec{.kind = FeedForwardKind::kGated, .size = block.width};
    }
    out_.layer_kinds.push_back(std::move(layer));
    return static_cast<int>(out_.layer_kinds.size()) - 1;
  }

  ConfigReader& config_;
  int64_t hidden_ = 0;
  int64_t heads_ = 0;
  int64_t head_size_ = 0;
  ArchitectureSpec out_;
};

ArchitectureSpec ReadNemotronNas(ConfigReader& config) {
  ArchitectureSpec out = BlockReader(config).Read();
  if (config.Flag("attention_bias", false)) config.Refuse("attention_bias", "must be false");
  if (config.Flag("mlp_bias", false)) config.Refuse("mlp_bias", "must be false");
  return out;
}

constexpr Family kBlockFamilies[] = {{.model_type = "nemotron-nas",
                                      .architecture = "DeciLMForCausalLM",
                                      .read_model = ReadNemotronNas}};

}  // namespace

absl::Span<const Family> BlockFamilies() { return kBlockFamilies; }

}  // namespace sextant
