#include "engine/search/model_ladder.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/architecture/model_weights.h"

namespace sextant {
namespace {

// Sizes that tensor cores' tiles divide.
constexpr int64_t kMultiple = 128;
// Heads that tensor parallel ranks of a server divide.
constexpr int64_t kServerRanks = 8;

// `size` x numerator / denominator, to the nearest whole number of `unit`, at least one.
int64_t Scaled(int64_t size, int64_t numerator, int64_t denominator, int64_t unit) {
  const double units = static_cast<double>(size) * static_cast<double>(numerator) /
                       (static_cast<double>(denominator) * static_cast<double>(unit));
  return unit * std::max<int64_t>(1, static_cast<int64_t>(units + 0.5));
}

int64_t DepthOf(const StackSpec& stack) {
  int64_t out = 0;
  for (const LayerRun& run : stack.layers) out += run.count;
  return out;
}

// The attention of the first kind of layer that has one; null: none has.
const AttentionSpec* AttentionOf(const ArchitectureSpec& spec) {
  for (const LayerSpec& layer : spec.layer_kinds) {
    if (layer.attention.has_value()) return &*layer.attention;
  }
  return nullptr;
}

bool IsGrouped(const AttentionSpec& attention) {
  return attention.key_value_head_count > 1 &&
         attention.key_value_head_count < attention.head_count;
}

// Scales the sizes of a model to a width.
class Widths {
 public:
  Widths(int64_t numerator, int64_t denominator)
      : numerator_(numerator), denominator_(denominator) {}

  void Apply(ArchitectureSpec& spec) const {
    if (numerator_ == denominator_) return;
    Scale(spec.hidden_size);
    Scale(spec.embedding.embedding_size);
    for (LayerSpec& layer : spec.layer_kinds) {
      if (layer.attention.has_value()) Apply(*layer.attention);
      if (layer.cross_attention.has_value()) Apply(*layer.cross_attention);
      if (layer.mixer.has_value()) Apply(*layer.mixer);
      if (layer.feed_forward.has_value()) Scale(layer.feed_forward->size);
      if (!layer.experts.has_value()) continue;
      Scale(layer.experts->expert.size);
      Scale(layer.experts->latent_size);
      Scale(layer.experts->shared_expert.size);
    }
  }

 private:
  // 0, which means none, stays.
  void Scale(int64_t& size) const {
    if (size > 0) size = Scaled(size, numerator_, denominator_, kMultiple);
  }

  // A short convolution has no heads: its channels are the hidden size.
  void Apply(MixerSpec& mixer) const {
    if (mixer.head_count == 0) return;
    const bool follows = mixer.group_count == mixer.head_count;
    const int64_t unit = follows ? 1 : mixer.group_count;
    mixer.head_count = Scaled(mixer.head_count, numerator_, denominator_, unit);
    if (follows) mixer.group_count = mixer.head_count;
  }

  void Apply(AttentionSpec& attention) const {
    const bool grouped = IsGrouped(attention);
    const bool follows = attention.key_value_head_count == attention.head_count;
    const int64_t unit = grouped ? attention.key_value_head_count : 1;
    attention.head_count = Scaled(attention.head_count, numerator_, denominator_, unit);
    if (follows) attention.key_value_head_count = attention.head_count;
    if (!attention.latent.has_value()) return;
    Scale(attention.latent->query_rank);
    Scale(attention.latent->key_value_rank);
  }

  const int64_t numerator_;
  const int64_t denominator_;
};

// The kind of each layer. Runs that differ only in whether they are frozen are kept apart.
std::vector<LayerRun> OneByOne(const StackSpec& stack) {
  std::vector<LayerRun> out;
  for (const LayerRun& run : stack.layers) {
    for (int64_t i = 0; i < run.count; ++i) {
      out.push_back({.layer_kind = run.layer_kind, .count = 1, .frozen = run.frozen});
    }
  }
  return out;
}

bool AreAlike(const LayerRun& a, const LayerRun& b) {
  return a.layer_kind == b.layer_kind && a.frozen == b.frozen;
}

// A stack as some first layers and a period that repeats after them, of which both together are as
// short as can be: 3 dense layers and one with experts; one sliding and one full.
struct Pattern {
  size_t head = 0;
  size_t period = 1;
};

Pattern PatternOf(const std::vector<LayerRun>& layers) {
  const auto repeats = [&layers](size_t head, size_t period) {
    for (size_t i = head + period; i < layers.size(); ++i) {
      if (!AreAlike(layers[i], layers[i - period])) return false;
    }
    return true;
  };
  for (size_t sum = 1; sum < layers.size(); ++sum) {
    for (size_t period = 1; period <= sum; ++period) {
      if (repeats(sum - period, period)) return {.head = sum - period, .period = period};
    }
  }
  return {.head = 0, .period = std::max<size_t>(1, layers.size())};
}

void SetDepth(int64_t depth, StackSpec& stack) {
  const std::vector<LayerRun> layers = OneByOne(stack);
  if (layers.empty() || depth == static_cast<int64_t>(layers.size())) return;
  const Pattern pattern = PatternOf(layers);
  stack.layers.clear();
  for (size_t i = 0; i < static_cast<size_t>(depth); ++i) {
    const LayerRun& layer =
        i < pattern.head ? layers[i] : layers[pattern.head + (i - pattern.head) % pattern.period];
    if (!stack.layers.empty() && AreAlike(stack.layers.back(), layer)) {
      ++stack.layers.back().count;
    } else {
      stack.layers.push_back(layer);
    }
  }
}

bool UsesAllKinds(const ArchitectureSpec& spec) {
  std::vector<bool> used(spec.layer_kinds.size());
  for (const StackSpec* const stack : {&spec.encoder, &spec.decoder}) {
    for (const LayerRun& run : stack->layers) used[static_cast<size_t>(run.layer_kind)] = true;
  }
  if (spec.multi_token_prediction.has_value()) {
    used[static_cast<size_t>(spec.multi_token_prediction->layer_kind)] = true;
  }
  return absl::c_find(used, false) == used.end();
}

}  // namespace

ModelLadder::ModelLadder(ArchitectureSpec model) : model_(std::move(model)) {
  own_depth_ = std::max<int64_t>(1, std::max(DepthOf(model_.encoder), DepthOf(model_.decoder)));
  const AttentionSpec* const attention = AttentionOf(model_);
  if (attention == nullptr) {
    own_width_ = std::max<int64_t>(1, model_.hidden_size / kMultiple);
  } else {
    const int64_t step = IsGrouped(*attention) ? attention->key_value_head_count
                                               : std::gcd(attention->head_count, kServerRanks);
    own_width_ = attention->head_count / step;
  }
  AddRungs();
}

// Layers have about r^3 times the model's parameters at width and depth of ratio r. Those of width
// w in steps have as many at the depth r^3 / (w / own_width_)^2, and the next width is nearer to
// the model's proportions from r = w + 1/2 steps on.
void ModelLadder::AddRungs() {
  const auto own_width = static_cast<double>(own_width_);
  int64_t below = std::min(kMinModelParameters, ParametersAt({own_width_, own_depth_})) - 1;
  int64_t least = 1;  // that has a layer of each kind
  while (least < own_depth_ && !UsesAllKinds(At({own_width_, least}))) ++least;
  int64_t depth = least;
  for (int64_t width = 1; width <= kMaxWidthRatio * own_width_; ++width) {
    const auto steps = static_cast<double>(width);
    const double ratio = (steps + 0.5) / own_width;
    const double most = static_cast<double>(own_depth_) * ratio * ratio * ratio /
                        (steps * steps / (own_width * own_width));
    const auto last = std::max(least, static_cast<int64_t>(most));
    // The first depth that has more than the width before, which is close to that of the last one.
    while (depth > least && ParametersAt({width, depth - 1}) > below) --depth;
    while (depth <= last && ParametersAt({width, depth}) <= below) ++depth;
    for (; depth <= last; ++depth) rungs_.push_back({.width = width, .depth = depth});
    below = std::max(below, ParametersAt({width, last}));
    if (ParametersAt({width, last}) == 0) return;
    depth = last;
  }
}

double ModelLadder::width_ratio(int64_t index) const {
  return static_cast<double>(rungs_[static_cast<size_t>(index)].width) /
         static_cast<double>(own_width_);
}

int64_t ModelLadder::depth(int64_t index) const { return rungs_[static_cast<size_t>(index)].depth; }

ArchitectureSpec ModelLadder::At(int64_t index) const {
  return At(rungs_[static_cast<size_t>(index)]);
}

int64_t ModelLadder::ParametersAt(Rung rung) const {
  const auto count = CountWeights(WeightsOf(At(rung)), "model");
  return count.ok() ? count->all.total : 0;
}

ArchitectureSpec ModelLadder::At(Rung rung) const {
  ArchitectureSpec out = model_;
  Widths(rung.width, own_width_).Apply(out);
  for (StackSpec* const stack : {&out.encoder, &out.decoder}) {
    if (stack->layers.empty()) continue;
    SetDepth(Scaled(DepthOf(*stack), rung.depth, own_depth_, 1), *stack);
  }
  return out;
}

int64_t LayerCountOf(const ArchitectureSpec& spec) {
  return DepthOf(spec.encoder) + DepthOf(spec.decoder);
}

}  // namespace sextant
