#include "engine/model/config/vision_tower.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/string_view.h"

namespace sextant {
namespace {

using Kind = ConfigValue::Kind;

constexpr absl::string_view kKnownTowers[] = {"qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe"};

// So that no product of these sizes overflows.
constexpr int64_t kMaxTowerSize = 100'000;

class Tower {
 public:
  explicit Tower(const ConfigValue& config) : config_(config) {}

  // 0 where it is missing or no possible size; then the tower is not known.
  int64_t Size(absl::string_view name) {
    const ConfigValue* value = Find(name);
    const bool sound = value != nullptr && value->kind == Kind::kInteger && value->integer >= 1 &&
                       value->integer <= kMaxTowerSize;
    known_ = known_ && sound;
    return sound ? value->integer : 0;
  }

  const ConfigValue* Find(absl::string_view name) const {
    const auto found = std::find_if(config_.elements.begin(), config_.elements.end(),
                                    [name](const ConfigValue& v) { return v.name == name; });
    return found == config_.elements.end() ? nullptr : &*found;
  }

  bool known() const { return known_; }

 private:
  const ConfigValue& config_;
  bool known_ = true;
};

}  // namespace

// Source: huggingface/transformers src/transformers/models/qwen3_vl/modeling_qwen3_vl.py. Patches
// with a bias, learned positions, layers of attention and a plain feed-forward with all biases and
// two LayerNorms, and a merger: a norm, and two matrices with biases. Each of
// deepstack_visual_indexes has another merger, whose norm is over the merged patch.
absl::optional<int64_t> VisionParameters(const ConfigFields& fields) {
  const auto found = fields.find("vision_config");
  if (found == fields.end() || found->second.kind != Kind::kObject) return {};
  Tower tower(found->second);
  const ConfigValue* type = tower.Find("model_type");
  if (type == nullptr || std::find(std::begin(kKnownTowers), std::end(kKnownTowers), type->text) ==
                             std::end(kKnownTowers)) {
    return {};
  }
  const int64_t width = tower.Size("hidden_size");
  const int64_t inner = tower.Size("intermediate_size");
  const int64_t out = tower.Size("out_hidden_size");
  const int64_t side = tower.Size("patch_size");
  const int64_t merge = tower.Size("spatial_merge_size");
  const int64_t patch = tower.Size("in_channels") * tower.Size("temporal_patch_size") * side * side;
  const int64_t layers = tower.Size("depth");
  const int64_t positions = tower.Size("num_position_embeddings");
  if (!tower.known() || patch > 10'000'000 || merge > 100 || layers > 1000) return {};
  const int64_t merged = width * merge * merge;
  const int64_t merger = merged * merged + merged + merged * out + out;
  const int64_t layer = 4 * width * width + 4 * width + 2 * width * inner + inner + 5 * width;
  const ConfigValue* deep = tower.Find("deepstack_visual_indexes");
  const auto mergers =
      static_cast<int64_t>(deep == nullptr ? 0 : std::min<size_t>(deep->element_count, 1000));
  return (patch + 1) * width + positions * width + layers * layer + 2 * width + merger +
         mergers * (2 * merged + merger);
}

}  // namespace sextant
