#include "engine/model/sharding/parallel_layout.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/model/block/mixer_block.h"
#include "engine/model/sharding/layer_placement.h"

namespace sextant {
namespace {

// A size of a model that its parallel sizes must divide. Names are put together only for errors.
struct CutSize {
  int64_t size;
  const LayerSpec* layer;    // null: outside layers
  absl::string_view branch;  // "attention." or empty
  absl::string_view what;    // "head_count"
  bool shared = false;       // ranks beyond `size` may share: its multiples are valid, too

  // "dense.attention.head_count".
  std::string Name() const {
    return layer == nullptr ? std::string(what) : absl::StrCat(layer->name, ".", branch, what);
  }
};

using CutSizes = std::vector<CutSize>;

void AddHeads(const LayerSpec& layer, const AttentionSpec& attention, absl::string_view branch,
              bool split, CutSizes& out) {
  const auto add = [&](int64_t size, absl::string_view what, bool shared = false) {
    out.push_back(
        {.size = size, .layer = &layer, .branch = branch, .what = what, .shared = shared});
  };
  add(attention.head_count, "head_count");
  add(attention.key_value_head_count, "key_value_head_count", true);
  if (!split || attention.latent.has_value()) return;
  const int64_t heads = attention.key_value_head_count;
  add(heads * attention.query_key_head_size, "key_value_head_count x query_key_head_size");
  add(heads * attention.value_head_size, "key_value_head_count x value_head_size");
}

// Heads and groups are divided; the numbers that all channels of Mamba-1 share are not, so that it
// is whole on each rank. Source: NVIDIA/Megatron-LM, megatron/core/ssm/mamba_mixer.py @00bebb45.
void AddMixer(const LayerSpec& layer, int64_t hidden_size, CutSizes& out) {
  const MixerSpec& mixer = *layer.mixer;
  const auto add = [&](int64_t size, absl::string_view what) {
    out.push_back({.size = size, .layer = &layer, .branch = "mixer.", .what = what});
  };
  const MixerHeads heads = FactsOf(mixer.kind).heads;
  if (heads == MixerHeads::kChannels) return add(1, "head_count, which ranks do not divide");
  if (heads == MixerHeads::kNone) return add(hidden_size, "hidden_size");
  add(mixer.head_count, "head_count");
  add(mixer.group_count, "group_count");
}

bool Divides(int64_t ranks, const CutSize& cut) {
  return cut.size % ranks == 0 || (cut.shared && ranks % cut.size == 0);
}

// The sizes that tensor parallelism divides, except the vocabulary and experts; those that expert
// parallelism divides; those that expert tensor parallelism divides. The latter two are empty for
// a model without experts.
CutSizes TensorCuts(const ArchitectureSpec& spec, bool split_key_value_heads) {
  CutSizes out;
  for (const LayerSpec& layer : spec.layer_kinds) {
    const auto add = [&](int64_t size, absl::string_view what) {
      out.push_back({.size = size, .layer = &layer, .branch = "", .what = what});
    };
    if (layer.attention.has_value()) {
      AddHeads(layer, *layer.attention, "attention.", split_key_value_heads, out);
    }
    if (layer.mixer.has_value()) AddMixer(layer, spec.hidden_size, out);
    if (layer.cross_attention.has_value()) {
      AddHeads(layer, *layer.cross_attention, "cross_attention.", split_key_value_heads, out);
    }
    if (layer.feed_forward.has_value()) add(layer.feed_forward->size, "feed_forward.size");
    if (layer.experts.has_value() && layer.experts->shared_expert_count > 0) {
      add(layer.experts->shared_expert_count * layer.experts->shared_expert.size,
          "experts.shared_expert.size, all shared experts together");
    }
  }
  if (spec.multi_token_prediction.has_value()) {
    out.push_back({.size = spec.hidden_size,
                   .layer = nullptr,
                   .branch = "",
                   .what = "hidden_size of multi_token_prediction"});
  }
  return out;
}

CutSizes ExpertCuts(const ArchitectureSpec& spec) {
  CutSizes out;
  for (const LayerSpec& layer : spec.layer_kinds) {
    if (!layer.experts.has_value()) continue;
    out.push_back({.size = layer.experts->expert_count,
                   .layer = &layer,
                   .branch = "experts.",
                   .what = "expert_count"});
  }
  return out;
}

CutSizes ExpertTensorCuts(const ArchitectureSpec& spec) {
  CutSizes out;
  for (const LayerSpec& layer : spec.layer_kinds) {
    if (!layer.experts.has_value()) continue;
    out.push_back({.size = layer.experts->expert.size,
                   .layer = &layer,
                   .branch = "experts.",
                   .what = "expert.size"});
  }
  return out;
}

// The minimum over all attentions with key and value heads, which latent ones lack; 0: none has
// any.
int64_t FewestKeyValueHeads(const ArchitectureSpec& spec) {
  int64_t fewest = 0;
  for (const LayerSpec& layer : spec.layer_kinds) {
    for (const absl::optional<AttentionSpec>* attention :
         {&layer.attention, &layer.cross_attention}) {
      if (!attention->has_value() || (*attention)->latent.has_value()) continue;
      const int64_t heads = (*attention)->key_value_head_count;
      if (fewest == 0 || heads < fewest) fewest = heads;
    }
  }
  return fewest;
}

// The first of `cuts` that `ranks` doesn't divide; null: none.
const CutSize* FirstUndivided(const CutSizes& cuts, int64_t ranks) {
  for (const CutSize& cut : cuts) {
    if (!Divides(ranks, cut)) return &cut;
  }
  return nullptr;
}

// The divisors of `number` below `most`, the largest first.
std::vector<int64_t> DivisorsBelow(int64_t number, int64_t most) {
  std::vector<int64_t> out;
  for (int64_t low = 1; low < most && low <= number / low; ++low) {
    if (number % low != 0) continue;
    out.push_back(low);
    if (number / low < most) out.push_back(number / low);
  }
  std::sort(out.rbegin(), out.rend());
  return out;
}

// The largest number below `ranks` that divides all of `cuts`; at least 1. Whatever divides them
// all divides the greatest common divisor of those that ranks don't share, of which there is one.
int64_t NearestDivisor(const CutSizes& cuts, int64_t ranks) {
  int64_t common = 0;
  for (const CutSize& cut : cuts) {
    if (!cut.shared) common = std::gcd(common, cut.size);
  }
  for (const int64_t fewer : DivisorsBelow(common, ranks)) {
    if (FirstUndivided(cuts, fewer) == nullptr) return fewer;
  }
  return 1;
}

// Megatron-LM pads the vocabulary to a multiple of this times the ranks: docs/memory.md,
// "Sharding".
constexpr int64_t kVocabularyMultiple = 128;

class LayoutCheck {
 public:
  LayoutCheck(const ArchitectureSpec& spec, const ParallelLayout& layout, absl::string_view path,
              FieldViolations& violations)
      : spec_(spec), layout_(layout), path_(path), violations_(violations) {}

  // If accepted, it would be ignored: each rank holds one or more whole heads.
  void CheckSplitHeads() {
    if (!layout_.split_key_value_heads) return;
    const int64_t fewest = FewestKeyValueHeads(spec_);
    if (fewest > 0 && layout_.tensor_parallel_size > fewest) return;
    Add("split_key_value_heads",
        fewest == 0 ? "is of heads of keys and values, which the model has not: leave it out"
                    : absl::StrCat("changes nothing where tensor_parallel_size (",
                                   layout_.tensor_parallel_size,
                                   ") doesn't exceed the heads of keys and values (", fewest,
                                   "): leave it out, or write a tensor_parallel_size above these"));
  }

  void CheckTensors() {
    CutSizes cuts = TensorCuts(spec_, layout_.split_key_value_heads);
    if (layout_.expert_tensor_parallel_size == 0) {
      const CutSizes experts = ExpertTensorCuts(spec_);
      cuts.insert(cuts.end(), experts.begin(), experts.end());
    }
    CheckDivides("tensor_parallel_size", layout_.tensor_parallel_size, cuts);
    const int64_t rows = spec_.embedding.padded_vocabulary_size == 0
                             ? spec_.embedding.vocabulary_size
                             : spec_.embedding.padded_vocabulary_size;
    if (rows % layout_.tensor_parallel_size == 0) return;
    const int64_t multiple = kVocabularyMultiple * layout_.tensor_parallel_size;
    Add("tensor_parallel_size",
        absl::StrCat("must divide the vocabulary's ", rows, " rows, which ",
                     layout_.tensor_parallel_size, " does not: pad them, such as to ",
                     PaddedVocabularySize(spec_.embedding.vocabulary_size, multiple),
                     ", by model.changes.vocabulary_multiple ", multiple));
  }

  void CheckExperts() {
    const CutSizes experts = ExpertCuts(spec_);
    if (!experts.empty()) {
      CheckDivides("expert_parallel_size", layout_.expert_parallel_size, experts);
      if (layout_.expert_tensor_parallel_size > 0) {
        CheckDivides("expert_tensor_parallel_size", layout_.expert_tensor_parallel_size,
                     ExpertTensorCuts(spec_));
      }
      return;
    }
    if (layout_.expert_parallel_size > 1) {
      Add("expert_parallel_size", "must be 1: the model has no routed experts");
    }
    if (layout_.expert_tensor_parallel_size > 1) {
      Add("expert_tensor_parallel_size", "must be left out: the model has no routed experts");
    }
  }

  void CheckPipeline() {
    if (layout_.virtual_stage_count > 1 && layout_.pipeline_parallel_size == 1) {
      Add("virtual_stage_count", "must be 1 without pipeline parallelism: nothing interleaves");
    }
    if (layout_.virtual_stage_count > 1 && !spec_.encoder.layers.empty() &&
        !spec_.decoder.layers.empty()) {
      Add("virtual_stage_count",
          "must be 1: no known schedule interleaves an encoder with a decoder");
    }
    const int64_t layers = LayerCountOf(spec_.encoder) + LayerCountOf(spec_.decoder);
    const int64_t chunks = ChunkCount(layout_);
    if (chunks > kMaxChunks) {
      Add("virtual_stage_count", absl::StrCat("must be at most ", kMaxChunks,
                                              " chunks with pipeline_parallel_size, not ", chunks));
    } else if (!layout_.layers_per_chunk.empty()) {
      CheckChunks(layers, chunks);
    } else if (layers % chunks != 0) {
      Add("pipeline_parallel_size", DoesNotDivide(layers, chunks));
    }
  }

 private:
  void Add(absl::string_view name, const std::string& description) {
    violations_.Add(FieldPath(path_, name), description);
  }

  void CheckDivides(absl::string_view name, int64_t ranks, const CutSizes& cuts) {
    const CutSize* cut = FirstUndivided(cuts, ranks);
    if (cut == nullptr) return;
    Add(name, absl::StrCat("must divide ", cut->shared ? "or be a multiple of " : "", cut->Name(),
                           " (", cut->size, "), which ", ranks, " does not: write ",
                           NearestDivisor(cuts, ranks)));
  }

  // Where only 1 divides, e.g. a prime number of layers, other sizes don't help.
  std::string DoesNotDivide(int64_t layers, int64_t chunks) const {
    const std::string uneven =
        absl::StrCat("say how many go where in layers_per_chunk: ", EvenAsCanBe(layers, chunks));
    if (layout_.virtual_stage_count > 1) {
      return absl::StrCat("times virtual_stage_count must divide the ", layers, " layers, which ",
                          chunks, " does not: change one of them, or ", uneven);
    }
    const CutSizes cuts = {{.size = layers, .layer = nullptr, .branch = "", .what = "layers"}};
    const int64_t nearest = NearestDivisor(cuts, chunks);
    return absl::StrCat("must divide the ", layers, " layers, which ", chunks,
                        " does not: ", nearest == 1 ? "" : absl::StrCat("write ", nearest, ", or "),
                        uneven);
  }

  static std::string EvenAsCanBe(int64_t layers, int64_t chunks) {
    const int64_t fewer = layers / chunks;
    const int64_t larger = layers % chunks;
    return absl::StrCat("such as ", larger, " chunks of ", fewer + 1, " and ", chunks - larger,
                        " of ", fewer);
  }

  // The number of stages for which a list of `chunks` is right.
  std::string StagesOf(int64_t chunks) const {
    const int64_t stages = chunks / layout_.virtual_stage_count;
    if (chunks % layout_.virtual_stage_count != 0 || stages > kMaxPipelineParallelSize) return "";
    return absl::StrCat(": or write pipeline_parallel_size ", stages, ", whose chunks these are");
  }

  // Chunks without layers hold the parts before or after the layers: Megatron-LM's pipeline
  // layouts have such stages for an embedding or a loss.
  void CheckChunks(int64_t layers, int64_t chunks) {
    const std::vector<int64_t>& list = layout_.layers_per_chunk;
    if (static_cast<int64_t>(list.size()) != chunks) {
      Add("layers_per_chunk",
          absl::StrCat("must have ", chunks, " numbers, one for each chunk, not ", list.size(),
                       StagesOf(static_cast<int64_t>(list.size()))));
      return;
    }
    CheckedInt sum = 0;
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i] < 0 || list[i] > layers) {
        Add(absl::StrCat("layers_per_chunk[", i, "]"),
            absl::StrCat("must be 0 to ", layers, ", not ", list[i]));
        return;
      }
      sum = sum + list[i];
    }
    if (sum.value() != layers) {
      Add("layers_per_chunk",
          absl::StrCat("must add up to the model's ", layers, " layers, not ", sum.value()));
    }
  }

  const ArchitectureSpec& spec_;
  const ParallelLayout& layout_;
  const absl::string_view path_;
  FieldViolations& violations_;
};

}  // namespace

ParallelLayout LayoutOf(const ParallelSizes& sizes) {
  ParallelLayout out;
  out.split_key_value_heads = sizes.split_key_value_heads;
  out.layers_per_chunk = sizes.layers_per_chunk;
  ForEachSize(sizes, out, [](const absl::optional<int64_t>& given, int64_t& size) {
    if (given.has_value()) size = *given;
  });
  return out;
}

bool CheckLayoutRanges(const ParallelLayout& layout, absl::string_view path,
                       FieldViolations& violations) {
  const size_t faults = violations.found_count();
  violations.Require(path, "tensor_parallel_size", layout.tensor_parallel_size, 1,
                     kMaxTensorParallelSize);
  violations.Require(path, "pipeline_parallel_size", layout.pipeline_parallel_size, 1,
                     kMaxPipelineParallelSize);
  violations.Require(path, "virtual_stage_count", layout.virtual_stage_count, 1, kMaxChunks);
  violations.Require(path, "expert_parallel_size", layout.expert_parallel_size, 1,
                     kMaxExpertParallelSize);
  violations.RequireRange(path, "expert_tensor_parallel_size", layout.expert_tensor_parallel_size,
                          0, kMaxTensorParallelSize);
  return violations.found_count() == faults;
}

ParallelLayout WithSoundSizes(ParallelLayout layout) {
  const auto correct = [](int64_t& size, int64_t most) {
    if (size < 1 || size > most) size = 1;
  };
  correct(layout.tensor_parallel_size, kMaxTensorParallelSize);
  correct(layout.pipeline_parallel_size, kMaxPipelineParallelSize);
  correct(layout.virtual_stage_count, kMaxChunks);
  correct(layout.expert_parallel_size, kMaxExpertParallelSize);
  if (layout.expert_tensor_parallel_size != 0) {
    correct(layout.expert_tensor_parallel_size, kMaxTensorParallelSize);
  }
  return layout;
}

void CheckLayout(const ArchitectureSpec& spec, const ParallelLayout& layout, absl::string_view path,
                 FieldViolations& violations) {
  if (!CheckLayoutRanges(layout, path, violations)) return;
  LayoutCheck check(spec, layout, path, violations);
  check.CheckTensors();
  check.CheckSplitHeads();
  check.CheckExperts();
  check.CheckPipeline();
}

}  // namespace sextant
