#include "engine/model/architecture/model_weights.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/model/architecture/layer_weights.h"

namespace sextant {
namespace {

using Component = WeightComponent;

int64_t EmbeddingSizeOf(const ArchitectureSpec& s) {
  return s.embedding.embedding_size == 0 ? s.hidden_size : s.embedding.embedding_size;
}

int64_t RowsOf(const EmbeddingSpec& e) {
  return e.padded_vocabulary_size == 0 ? e.vocabulary_size : e.padded_vocabulary_size;
}

void AddInput(const ArchitectureSpec& s, WeightList& out) {
  const int64_t size = EmbeddingSizeOf(s);
  const int64_t rows = RowsOf(s.embedding);
  out.GoTo({.part = ModelPart::kInput});
  out.Add(LinearWeights{.module = "token_embedding",
                        .name = "",
                        .component = Component::kTokenEmbedding,
                        .rows = rows,
                        .columns = size,
                        .padding_rows = rows - s.embedding.vocabulary_size});
  if (s.embedding.token_type_count > 0) {
    out.Add(LinearWeights{.module = "token_type_embedding",
                          .name = "",
                          .component = Component::kTokenTypeEmbedding,
                          .rows = s.embedding.token_type_count,
                          .columns = size});
  }
  if (size != s.hidden_size) {
    out.Add(LinearWeights{.module = "embedding_projection",
                          .name = "into",
                          .component = Component::kEmbeddingProjection,
                          .rows = s.hidden_size,
                          .columns = size});
  }
}

// Adds the tensors of a stack outside its layers.
void AddStackEnds(const ArchitectureSpec& s, const StackSpec& stack, WeightList& out) {
  if (stack.learned_position_count > 0) {
    out.Add(LinearWeights{.module = "position_embedding",
                          .name = "",
                          .component = Component::kPositionEmbedding,
                          .rows = stack.learned_position_count,
                          .columns = s.hidden_size});
  }
  if (stack.relative_position_bucket_count > 0) {
    const auto first = static_cast<size_t>(stack.layers.front().layer_kind);
    out.Add(LinearWeights{.module = "relative_position_bias",
                          .name = "",
                          .component = Component::kPositionEmbedding,
                          .rows = stack.relative_position_bucket_count,
                          .columns = s.layer_kinds[first].attention->head_count});
  }
  const struct {
    bool present;
    absl::string_view name;
  } norms[] = {{stack.embedding_norm, "embedding"}, {stack.final_norm, "final"}};
  for (const auto& norm : norms) {
    if (!norm.present) continue;
    out.Add(NormWeights{
        .module = "norm", .name = norm.name, .variant = s.norm, .length = s.hidden_size});
  }
}

void AddStack(const ArchitectureSpec& s, ModelPart part, WeightList& out) {
  const StackSpec& stack = part == ModelPart::kEncoder ? s.encoder : s.decoder;
  if (stack.layers.empty()) return;
  std::vector<int64_t> layers(s.layer_kinds.size(), 0);
  std::vector<int64_t> trainable(s.layer_kinds.size(), 0);
  for (const LayerRun& run : stack.layers) {
    const auto kind = static_cast<size_t>(run.layer_kind);
    layers[kind] += run.count;
    if (!run.frozen) trainable[kind] += run.count;
  }
  out.GoTo({.part = part});
  AddStackEnds(s, stack, out);
  for (size_t kind = 0; kind < layers.size(); ++kind) {
    if (layers[kind] == 0) continue;
    out.GoTo({.part = part,
              .layer_kind = static_cast<int>(kind),
              .layers = layers[kind],
              .trainable_layers = trainable[kind]});
    AddLayerWeights(s.layer_kinds[kind], s.hidden_size, out);
  }
}

void AddOutputTransform(const ArchitectureSpec& s, WeightList& out) {
  out.Add(LinearWeights{.module = "output_transform",
                        .name = "",
                        .component = Component::kOutputTransform,
                        .rows = s.hidden_size,
                        .columns = s.hidden_size,
                        .bias = true});
  out.Add(NormWeights{
      .module = "output_transform", .name = "norm", .variant = s.norm, .length = s.hidden_size});
}

void AddPooler(const ArchitectureSpec& s, WeightList& out) {
  LinearWeights map = {.module = "pooler",
                       .name = "",
                       .component = Component::kPooler,
                       .rows = s.hidden_size,
                       .columns = s.hidden_size,
                       .bias = true};
  out.Add(map);
  if (s.output.pooled_class_count == 0) return;
  map.name = "classifier";
  map.rows = s.output.pooled_class_count;
  out.Add(map);
}

// A tied head reuses the token embedding: only its bias is new.
void AddHead(const ArchitectureSpec& s, WeightList& out) {
  const int64_t rows = RowsOf(s.embedding);
  const LinearWeights head = {.module = "output_head",
                              .name = "",
                              .component = Component::kOutputHead,
                              .rows = rows,
                              .columns = EmbeddingSizeOf(s),
                              .bias = s.output.head_bias,
                              .bias_component = Component::kOutputHead,
                              .padding_rows = rows - s.embedding.vocabulary_size};
  if (s.output.head == OutputHeadKind::kUntied) {
    out.Add(head);
  } else if (head.bias) {
    out.Add(WeightTensor{.module = head.module,
                         .name = head.name,
                         .role = WeightRole::kBias,
                         .component = Component::kOutputHead,
                         .rows = rows,
                         .columns = 1,
                         .padding_rows = head.padding_rows});
  }
}

void AddOutput(const ArchitectureSpec& s, WeightList& out) {
  out.GoTo({.part = ModelPart::kOutput});
  if (s.output.pooler) AddPooler(s, out);
  if (s.output.head == OutputHeadKind::kNone) return;
  if (s.output.transform) AddOutputTransform(s, out);
  if (EmbeddingSizeOf(s) != s.hidden_size) {
    out.Add(LinearWeights{.module = "embedding_projection",
                          .name = "out_of",
                          .component = Component::kEmbeddingProjection,
                          .rows = EmbeddingSizeOf(s),
                          .columns = s.hidden_size});
  }
  AddHead(s, out);
}

// Source: DeepSeek-V3, arXiv 2412.19437, section 2.2; the final norm and what is shared: the
// README_WEIGHTS.md of its published weights.
void AddMultiTokenPrediction(const ArchitectureSpec& s, WeightList& out) {
  const MultiTokenPredictionSpec& modules = *s.multi_token_prediction;
  WeightPlace place = {.part = ModelPart::kMultiTokenPrediction,
                       .layers = modules.module_count,
                       .trainable_layers = modules.module_count};
  out.GoTo(place);
  NormWeights norm = {
      .module = "norm", .name = "token", .variant = s.norm, .length = s.hidden_size};
  out.Add(norm);
  norm.name = "hidden";
  out.Add(norm);
  norm.name = "final";
  if (modules.final_norm) out.Add(norm);
  out.Add(LinearWeights{.module = "projection",
                        .name = "",
                        .component = Component::kMultiTokenProjection,
                        .rows = s.hidden_size,
                        .columns = 2 * s.hidden_size});
  place.layer_kind = modules.layer_kind;
  out.GoTo(place);
  AddLayerWeights(s.layer_kinds[static_cast<size_t>(modules.layer_kind)], s.hidden_size, out);
}

// True where `target` adapts `tensor` as a part of its FusionOf().
bool IsFused(const WeightTensor& tensor, const WeightName& target) {
  const absl::string_view fusion = FusionOf(tensor);
  return !fusion.empty() && (target.module == kAllFused || target.name == fusion);
}

// True where a matrix before `base`, which is tensors[at], has the first matrix of its adapter.
bool SharesFirst(const WeightTensors& tensors, size_t at, const WeightName& target) {
  const WeightTensor& base = tensors[at];
  if (!IsFused(base, target)) return false;
  for (size_t i = at; i-- > 0;) {
    const WeightTensor& before = tensors[i];
    if (before.part != base.part || before.layer_kind != base.layer_kind) return false;
    if (before.module == base.module && FusionOf(before) == FusionOf(base)) return true;
  }
  return false;
}

// Source: LoRA, arXiv 2106.09685, section 4.1. Adapters are always trained. Of matrices as one the
// first has the matrix that all of them share.
void AppendAdapters(const AdapterSpec& adapters, const WeightTensors& tensors, size_t at,
                    WeightTensors& out) {
  const WeightTensor& base = tensors[at];
  for (const WeightName& target : adapters.targets) {
    if (!IsTarget(base, target)) continue;
    WeightTensor adapter = base;
    adapter.component = Component::kAdapter;
    adapter.trainable_layers = base.layers;
    adapter.role = WeightRole::kAdapterDown;
    adapter.rows = adapters.rank;
    adapter.padding_rows = 0;
    if (!SharesFirst(tensors, at, target)) out.push_back(adapter);
    adapter.role = WeightRole::kAdapterUp;
    adapter.rows = base.rows;
    adapter.columns = adapters.rank;
    adapter.padding_rows = base.padding_rows;
    out.push_back(adapter);
  }
}

bool IsFrozen(const ArchitectureSpec& s, const WeightTensor& tensor) {
  if (s.base_frozen) return true;
  return std::find(s.frozen_components.begin(), s.frozen_components.end(), tensor.component) !=
         s.frozen_components.end();
}

}  // namespace

WeightTensors BaseWeightsOf(const ArchitectureSpec& spec) {
  WeightList out;
  AddInput(spec, out);
  AddStack(spec, ModelPart::kEncoder, out);
  AddStack(spec, ModelPart::kDecoder, out);
  AddOutput(spec, out);
  if (spec.multi_token_prediction.has_value()) AddMultiTokenPrediction(spec, out);
  return out.Take();
}

WeightTensors WeightsOf(const ArchitectureSpec& spec) {
  WeightTensors tensors = BaseWeightsOf(spec);
  for (WeightTensor& tensor : tensors) {
    if (IsFrozen(spec, tensor)) tensor.trainable_layers = 0;
  }
  if (!spec.adapters.has_value()) return tensors;
  WeightTensors out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    out.push_back(tensors[i]);
    AppendAdapters(*spec.adapters, tensors, i, out);
  }
  return out;
}

// A table of relative positions is looked up per pair of tokens, and a filter of a convolution is
// no matrix: no published adapter applies to them.
bool IsTarget(const WeightTensor& tensor, const WeightName& target) {
  if (tensor.role != WeightRole::kWeight || tensor.columns <= 1 ||
      tensor.module == "relative_position_bias" ||
      (tensor.block.has_value() && tensor.block->is_filter)) {
    return false;
  }
  if (target.module == kAllLinear || target.module == kAllFused) {
    return tensor.layer_kind >= 0 && target.name.empty();
  }
  return tensor.module == target.module && (tensor.name == target.name || IsFused(tensor, target));
}

absl::string_view FusionOf(const WeightTensor& tensor) {
  const bool key_or_value = tensor.name == "key" || tensor.name == "value";
  if (tensor.role != WeightRole::kWeight || tensor.layer_kind < 0) return "";
  if (tensor.module == "attention" && (key_or_value || tensor.name == "query")) {
    return "query+key+value";
  }
  if (tensor.module == "cross_attention" && key_or_value) return "key+value";
  const bool feed_forward = tensor.module == "feed_forward" || tensor.module == "experts" ||
                            tensor.module == "shared_experts";
  return feed_forward && (tensor.name == "gate" || tensor.name == "up") ? "gate+up" : "";
}

std::string WeightNameOf(const ArchitectureSpec& spec, const WeightTensor& tensor) {
  constexpr absl::string_view kRoles[] = {"weight", "bias", "adapter_down", "adapter_up"};
  std::string out(ModelPartName(tensor.part));
  if (tensor.layer_kind >= 0) {
    absl::StrAppend(&out, ".", spec.layer_kinds[static_cast<size_t>(tensor.layer_kind)].name);
  }
  absl::StrAppend(&out, ".", tensor.module);
  if (!tensor.name.empty()) absl::StrAppend(&out, ".", tensor.name);
  return absl::StrCat(out, ".", kRoles[static_cast<size_t>(tensor.role)]);
}

}  // namespace sextant
