#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/architecture/size_limits.h"

namespace sextant {
namespace {

// Runs at fault that are named one by one, so that an answer stays short.
constexpr int64_t kMaxNamedRuns = 16;

// One of the two stacks of a model, and where its fields stand.
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
      Add("layers", absl::StrCat("has ", at_fault - kMaxNamedRuns, " more runs at fault"));
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

  // One table of biases serves all layers, so that they need as many heads.
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

  // Most runs are: their paths need not be written.
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

}  // namespace

void CheckStacks(const ArchitectureSpec& s, absl::string_view path, FieldViolations& violations) {
  StackCheck encoder(s, s.encoder, FieldPath(path, "encoder"), violations);
  StackCheck decoder(s, s.decoder, FieldPath(path, "decoder"), violations);
  if (s.encoder.layers.empty() && s.decoder.layers.empty()) {
    violations.Add(path, "has no layers: give a decoder, an encoder or both");
  }
  const size_t faults = violations.all().size();
  encoder.CheckRuns();
  decoder.CheckRuns();
  encoder.CheckEnds();
  decoder.CheckEnds();
  // Beyond this, kinds are looked up by the numbers that CheckRuns() has passed.
  if (violations.all().size() == faults) CheckTogether(s, encoder, decoder);
}

}  // namespace sextant
