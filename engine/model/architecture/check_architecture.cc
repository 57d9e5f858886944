#include "engine/model/architecture/check_architecture.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "engine/model/architecture/model_weights.h"

namespace sextant {
namespace {

// The most invalid runs that an answer names, so that it stays short.
constexpr int64_t kMaxNamedRuns = 16;

// One of a model's two stacks, with the path of its fields.
class StackCheck {
 public:
  StackCheck(const ArchitectureSpec& spec, const StackSpec& stack, std::string path,
             FieldViolations& violations)
      : spec_(spec), stack_(stack), path_(std::move(path)), violations_(violations) {}

  void CheckRuns() {
    if (stack_.layers.size() > kMaxLayerRuns) {
      Add("layers", absl::StrCat("must be at most ", kMaxLayerRuns, " runs, not ",
                                 stack_.layers.size(), ": join neighbours of one kind"));
      return;
    }
    int64_t layers = 0;
    int64_t at_fault = 0;
    for (size_t i = 0; i < stack_.layers.size(); ++i) {
      const LayerRun& run = stack_.layers[i];
      if (IsSound(run)) {
        layers += run.count;
      } else if (++at_fault <= kMaxNamedRuns) {
        CheckRun(run, i);
      }
    }
    if (at_fault > kMaxNamedRuns) {
      Add("layers", absl::StrCat("has ", at_fault - kMaxNamedRuns, " more invalid runs"));
    }
    if (layers > kMaxLayerCount) {
      Add("layers", absl::StrCat("must be at most ", kMaxLayerCount, " layers, not ", layers));
    }
  }

  void CheckEnds() {
    violations_.RequireRange(path_, "learned_position_count", stack_.learned_position_count, 0,
                             kMaxVocabularySize);
    const int64_t rows = stack_.learned_position_count;
    violations_.RequireRange(path_, "first_position", stack_.first_position, 0,
                             rows > 0 ? rows - 1 : 0);
    violations_.RequireRange(path_, "relative_position_bucket_count",
                             stack_.relative_position_bucket_count, 0, kMaxVocabularySize);
    if (stack_.layers.empty() &&
        (stack_.learned_position_count != 0 || stack_.relative_position_bucket_count != 0 ||
         stack_.embedding_norm)) {
      Add("layers", "are required of a stack that has positions or an embedding norm");
    }
  }

  // All layers share one table of biases, so they need the same number of heads.
  void CheckRelativePositions() {
    if (stack_.relative_position_bucket_count == 0) return;
    int64_t heads = 0;
    for (const LayerRun& run : stack_.layers) {
      const LayerSpec& layer = KindOf(run);
      const int64_t here = layer.attention.has_value() ? layer.attention->head_count : 0;
      if (heads == 0) heads = here;
      if (here == 0 || here != heads) {
        Add("relative_position_bucket_count",
            absl::StrCat("needs attention with as many heads in every layer, which layer_kinds[",
                         run.layer_kind, "] has not"));
        return;
      }
    }
  }

  // A choice of positions is made before it is used. Modules of multi-token prediction come last.
  void CheckSharedIndexers() {
    for (const LayerRun& run : stack_.layers) {
      const absl::optional<AttentionSpec>& attention = KindOf(run).attention;
      if (!attention.has_value() || !attention->latent.has_value()) continue;
      const absl::optional<IndexerSpec>& indexer = attention->latent->indexer;
      if (!indexer.has_value()) continue;
      if (indexer->shared) {
        Add("layers", absl::StrCat("share an indexer that no earlier layer has: clear "
                                   "attention.latent.indexer.shared of the first, layer_kinds[",
                                   run.layer_kind, "]"));
      }
      return;
    }
  }

  bool Crosses() const {
    for (const LayerRun& run : stack_.layers) {
      if (KindOf(run).cross_attention.has_value()) return true;
    }
    return false;
  }

  bool IsCausal() const {
    for (const LayerRun& run : stack_.layers) {
      const LayerSpec& layer = KindOf(run);
      if (layer.attention.has_value() && layer.attention->mask == AttentionMask::kCausal) {
        return true;
      }
    }
    return false;
  }

  void Add(absl::string_view name, absl::string_view description) {
    violations_.Add(FieldPath(path_, name), description);
  }

 private:
  int64_t kind_count() const { return static_cast<int64_t>(spec_.layer_kinds.size()); }

  // Most runs are valid: their paths need not be built.
  bool IsSound(const LayerRun& run) const {
    return run.count >= 1 && run.count <= kMaxLayerCount && run.layer_kind >= 0 &&
           run.layer_kind < kind_count();
  }

  void CheckRun(const LayerRun& run, size_t index) {
    const std::string at = absl::StrCat(path_, ".layers[", index, "]");
    violations_.Require(at, "count", run.count, 1, kMaxLayerCount);
    violations_.RequireRange(at, "layer_kind", int64_t{run.layer_kind}, 0, kind_count() - 1);
  }

  const LayerSpec& KindOf(const LayerRun& run) const {
    return spec_.layer_kinds[static_cast<size_t>(run.layer_kind)];
  }

  const ArchitectureSpec& spec_;
  const StackSpec& stack_;
  const std::string path_;
  FieldViolations& violations_;
};

void CheckTogether(const ArchitectureSpec& s, StackCheck& encoder, StackCheck& decoder) {
  encoder.CheckRelativePositions();
  decoder.CheckRelativePositions();
  encoder.CheckSharedIndexers();
  decoder.CheckSharedIndexers();
  if (encoder.Crosses()) encoder.Add("layers", "of an encoder can't have cross_attention");
  if (encoder.IsCausal()) {
    encoder.Add("layers", "of an encoder see all tokens: write a full mask in their attention");
  }
  if (decoder.Crosses() && s.encoder.layers.empty()) {
    decoder.Add("layers", "have cross_attention, so that the model needs an encoder");
  }
  if (!decoder.Crosses() && !s.encoder.layers.empty() && !s.decoder.layers.empty()) {
    decoder.Add("layers", "need cross_attention, or nothing reads the encoder's output");
  }
}

// Checks encoder and decoder; every kind of layer is valid by itself.
void CheckStacks(const ArchitectureSpec& s, absl::string_view path, FieldViolations& violations) {
  StackCheck encoder(s, s.encoder, FieldPath(path, "encoder"), violations);
  StackCheck decoder(s, s.decoder, FieldPath(path, "decoder"), violations);
  if (s.encoder.layers.empty() && s.decoder.layers.empty()) {
    violations.Add(path, "has no layers: give a decoder, an encoder or both");
  }
  const size_t faults = violations.found_count();
  encoder.CheckRuns();
  decoder.CheckRuns();
  encoder.CheckEnds();
  decoder.CheckEnds();
  // Below, kinds are looked up by numbers that CheckRuns() has passed.
  if (violations.found_count() == faults) CheckTogether(s, encoder, decoder);
}

constexpr int64_t kMaxTargets = 100;

void CheckEmbedding(const EmbeddingSpec& e, absl::string_view path, FieldViolations& violations) {
  violations.Require(path, "vocabulary_size", e.vocabulary_size, 1, kMaxVocabularySize);
  violations.RequireRange(path, "embedding_size", e.embedding_size, 0, kMaxHiddenSize);
  violations.RequireRange(path, "token_type_count", e.token_type_count, 0, kMaxVocabularySize);
  if (e.padded_vocabulary_size != 0 && e.vocabulary_size > 0) {
    violations.RequireRange(path, "padded_vocabulary_size", e.padded_vocabulary_size,
                            e.vocabulary_size, kMaxVocabularySize);
  }
}

void CheckOutput(const OutputSpec& o, absl::string_view path, FieldViolations& violations) {
  if (o.head == OutputHeadKind::kUnspecified) {
    violations.Add(FieldPath(path, "head"), "is required: write none, tied or untied");
  }
  if (o.head == OutputHeadKind::kNone) {
    const std::string none = "is of no head: write a tied or an untied one, or leave it out";
    if (o.head_bias) violations.Add(FieldPath(path, "head_bias"), none);
    if (o.transform) violations.Add(FieldPath(path, "transform"), none);
  }
  violations.RequireRange(path, "pooled_class_count", o.pooled_class_count, 0, kMaxVocabularySize);
  if (o.pooled_class_count > 0 && !o.pooler) {
    violations.Add(FieldPath(path, "pooled_class_count"), "needs a pooler");
  }
}

void CheckMultiTokenPrediction(const ArchitectureSpec& s, absl::string_view path,
                               FieldViolations& violations) {
  const MultiTokenPredictionSpec& m = *s.multi_token_prediction;
  violations.Require(path, "module_count", m.module_count, 1, kMaxLayerCount);
  const auto kinds = static_cast<int64_t>(s.layer_kinds.size());
  violations.RequireRange(path, "layer_kind", int64_t{m.layer_kind}, 0, kinds - 1);
  if (s.decoder.layers.empty() || s.output.head == OutputHeadKind::kNone) {
    violations.Add(path, "needs a decoder and its output head");
  }
  if (m.layer_kind >= 0 && m.layer_kind < kinds &&
      s.layer_kinds[static_cast<size_t>(m.layer_kind)].cross_attention.has_value()) {
    violations.Add(FieldPath(path, "layer_kind"), "must be a layer without cross_attention");
  }
}

// Marks the kinds that have layers. Invalid numbers are reported elsewhere.
std::vector<bool> UsedKinds(const ArchitectureSpec& s) {
  std::vector<bool> used(s.layer_kinds.size(), false);
  const auto use = [&used](int kind) {
    if (kind >= 0 && static_cast<size_t>(kind) < used.size())
      used[static_cast<size_t>(kind)] = true;
  };
  for (const LayerRun& run : s.encoder.layers) use(run.layer_kind);
  for (const LayerRun& run : s.decoder.layers) use(run.layer_kind);
  if (s.multi_token_prediction.has_value()) use(s.multi_token_prediction->layer_kind);
  return used;
}

// Checks each kind, its name, and that it is used: a layer left out means a wrong count. Errors
// quote a name only where IsSoundName().
void CheckLayerKinds(const ArchitectureSpec& s, absl::string_view path,
                     FieldViolations& violations) {
  if (s.layer_kinds.empty() || s.layer_kinds.size() > kMaxLayerKinds) {
    violations.Add(
        FieldPath(path, "layer_kinds"),
        absl::StrCat("must be 1 to ", kMaxLayerKinds, " kinds, not ", s.layer_kinds.size()));
    return;
  }
  const std::vector<bool> used = UsedKinds(s);
  const auto begin = s.layer_kinds.begin();
  for (size_t i = 0; i < s.layer_kinds.size(); ++i) {
    const LayerSpec& kind = s.layer_kinds[i];
    FieldViolations of_kind;
    CheckLayer(kind, "", of_kind);
    const bool again = std::any_of(begin, begin + static_cast<ptrdiff_t>(i),
                                   [&](const LayerSpec& o) { return o.name == kind.name; });
    if (again && IsSoundName(kind.name)) {
      of_kind.Add("name", absl::StrCat(kind.name, " is the name of two kinds"));
    }
    if (!used[i]) {
      of_kind.Add("", "is the kind of no layer: leave it out, or give it layers");
    }
    if (of_kind.empty()) continue;  // its path need not be built
    violations.AddBelow(FieldPath(path, absl::StrCat("layer_kinds[", i, "]")), of_kind);
  }
}

bool HasTarget(const WeightTensors& tensors, const WeightName& target) {
  for (const WeightTensor& tensor : tensors) {
    if (IsTarget(tensor, target)) return true;
  }
  return false;
}

std::string NameOf(const WeightName& target) {
  return target.name.empty() ? target.module : absl::StrCat(target.module, ".", target.name);
}

// The distinct names of the matrices inside layers.
std::string MatricesOf(const WeightTensors& tensors) {
  std::vector<std::string> names;
  for (const WeightTensor& tensor : tensors) {
    if (tensor.layer_kind < 0 || tensor.role != WeightRole::kWeight || tensor.is_vector()) continue;
    std::string name =
        NameOf({.module = std::string(tensor.module), .name = std::string(tensor.name)});
    if (!absl::c_linear_search(names, name)) names.push_back(std::move(name));
  }
  return absl::StrJoin(names, ", ");
}

// Adds the matrices of `target`. True where one is there already.
bool IsNamedIn(const WeightName& target, absl::flat_hash_set<std::string>& matrices) {
  bool there = false;
  for (const absl::string_view name : absl::StrSplit(target.name, '+')) {
    there |= !matrices.insert(absl::StrCat(target.module, ".", name)).second;
  }
  return there;
}

void CheckAdapters(const ArchitectureSpec& s, absl::string_view path, FieldViolations& violations) {
  violations.Require(path, "rank", s.adapters->rank, 1, kMaxHiddenSize);
  const std::vector<WeightName>& targets = s.adapters->targets;
  if (targets.empty() || targets.size() > kMaxTargets) {
    violations.Add(FieldPath(path, "targets"),
                   absl::StrCat("must be 1 to ", kMaxTargets, " matrices, not ", targets.size()));
    return;
  }
  const WeightTensors tensors = BaseWeightsOf(s);
  absl::flat_hash_set<std::string> seen;
  for (size_t i = 0; i < targets.size(); ++i) {
    const std::string name = NameOf(targets[i]);
    const std::string at = absl::StrCat(path, ".targets[", i, "]");
    if (!HasTarget(tensors, targets[i])) {
      violations.Add(at, absl::StrCat(IsSoundName(name) ? name : "this",
                                      " is not a matrix of the model: write one of ",
                                      MatricesOf(tensors), ", or ", kAllLinear));
    } else if (IsNamedIn(targets[i], seen)) {
      violations.Add(at, absl::StrCat(name, " is there twice"));
    } else if ((name == kAllLinear || name == kAllFused) && targets.size() > 1) {
      violations.Add(at, absl::StrCat(name, " names all matrices of layers: write it alone"));
    }
  }
}

void CheckTraining(const ArchitectureSpec& s, absl::string_view path, FieldViolations& violations) {
  if (s.base_frozen && !s.adapters.has_value()) {
    violations.Add(FieldPath(path, "base_frozen"), "leaves nothing to train: give adapters");
  }
  if (s.frozen_components.size() > kWeightComponentCount) {
    violations.Add(FieldPath(path, "frozen_components"),
                   absl::StrCat("must be at most the ", kWeightComponentCount,
                                " components that there are, not ", s.frozen_components.size()));
    return;
  }
  for (size_t i = 0; i < s.frozen_components.size(); ++i) {
    if (s.frozen_components[i] == WeightComponent::kAdapter) {
      violations.Add(absl::StrCat(FieldPath(path, "frozen_components"), "[", i, "]"),
                     "can't be adapter: adapters are there to be trained");
    }
  }
}

}  // namespace

bool HasIndexer(const ArchitectureSpec& spec) {
  return absl::c_any_of(spec.layer_kinds, [](const LayerSpec& layer) {
    return layer.attention.has_value() && layer.attention->latent.has_value() &&
           layer.attention->latent->indexer.has_value();
  });
}

void CheckArchitecture(const ArchitectureSpec& s, absl::string_view path,
                       FieldViolations& violations) {
  const size_t faults = violations.found_count();
  violations.Require(path, "hidden_size", s.hidden_size, 1, kMaxHiddenSize);
  if (s.norm == NormVariant::kUnspecified) {
    violations.Add(FieldPath(path, "norm"), "is required");
  }
  CheckEmbedding(s.embedding, FieldPath(path, "embedding"), violations);
  CheckLayerKinds(s, path, violations);
  if (!s.layer_kinds.empty()) CheckStacks(s, path, violations);  // otherwise no run has a kind
  CheckOutput(s.output, FieldPath(path, "output"), violations);
  if (s.multi_token_prediction.has_value()) {
    CheckMultiTokenPrediction(s, FieldPath(path, "multi_token_prediction"), violations);
  }
  CheckTraining(s, path, violations);
  if (s.adapters.has_value() && violations.found_count() == faults) {
    CheckAdapters(s, FieldPath(path, "adapters"), violations);
  }
}

}  // namespace sextant
