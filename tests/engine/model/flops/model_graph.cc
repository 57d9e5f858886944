#include "tests/engine/model/flops/model_graph.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/engine/model/flops/layer_graph.h"
#include "tests/engine/operation/graphs.h"

namespace sextant {
namespace {

using Component = WeightComponent;

class ModelWriter {
 public:
  ModelWriter(const ArchitectureSpec& spec, const GraphBatch& batch)
      : spec_(spec),
        batch_(batch),
        embedding_size_(spec.embedding.embedding_size == 0 ? spec.hidden_size
                                                           : spec.embedding.embedding_size),
        vocabulary_(spec.embedding.padded_vocabulary_size == 0
                        ? spec.embedding.vocabulary_size
                        : spec.embedding.padded_vocabulary_size) {}

  GraphWriter Write() {
    const bool decodes = !spec_.decoder.layers.empty();
    std::string hidden;
    if (!spec_.encoder.layers.empty()) {
      hidden = Stack("encoder", spec_.encoder, decodes ? batch_.encoder_length : batch_.length, "");
    }
    if (decodes) hidden = Stack("decoder", spec_.decoder, batch_.length, hidden);
    if (spec_.output.pooler) Pool(hidden);
    Head(hidden);
    if (spec_.multi_token_prediction.has_value()) PredictFurther(hidden);
    return std::move(graph_);
  }

 private:
  PlaceGraph Place(const std::string& place, bool frozen_run = false) {
    return PlaceGraph(spec_, graph_, place, frozen_run);
  }

  // Embeddings of one stack's tokens, of the hidden size.
  std::string Embed(int64_t tokens) {
    PlaceGraph input = Place("input");
    std::string x = input.Table(tokens, {.module = "token_embedding",
                                         .component = Component::kTokenEmbedding,
                                         .in = vocabulary_,
                                         .out = embedding_size_});
    if (spec_.embedding.token_type_count > 0) {
      x = graph_.Add(x, input.Table(tokens, {.module = "token_type_embedding",
                                             .component = Component::kTokenTypeEmbedding,
                                             .in = spec_.embedding.token_type_count,
                                             .out = embedding_size_}));
    }
    if (embedding_size_ == spec_.hidden_size) return x;
    return input.Map(x, {.module = "embedding_projection",
                         .name = "into",
                         .component = Component::kEmbeddingProjection,
                         .in = embedding_size_,
                         .out = spec_.hidden_size});
  }

  std::string Stack(const std::string& name, const StackSpec& stack, int64_t length,
                    const std::string& encoder) {
    const int64_t tokens = batch_.count * length;
    PlaceGraph ends = Place(name);
    std::string x = Embed(tokens);
    if (name == (spec_.decoder.layers.empty() ? "encoder" : "decoder")) embedded_ = x;
    if (stack.learned_position_count > 0) {
      x = graph_.Add(x, ends.Table(tokens, {.module = "position_embedding",
                                            .component = Component::kPositionEmbedding,
                                            .in = stack.learned_position_count,
                                            .out = spec_.hidden_size}));
    }
    if (stack.embedding_norm) x = Norm(ends, x, "norm.embedding");
    std::string table;
    if (stack.relative_position_bucket_count > 0) {
      const int first = stack.layers.front().layer_kind;
      table =
          graph_.Parameter(name + ".relative",
                           {stack.relative_position_bucket_count,
                            spec_.layer_kinds[static_cast<size_t>(first)].attention->head_count},
                           ends.Frozen(Component::kPositionEmbedding));
    }
    int layer = 0;
    for (const LayerRun& run : stack.layers) {
      for (int64_t i = 0; i < run.count; ++i) {
        x = AddLayer(spec_,
                     {.layer = spec_.layer_kinds[static_cast<size_t>(run.layer_kind)],
                      .place = absl::StrCat(name, layer++),
                      .frozen = run.frozen,
                      .x = x,
                      .encoder = encoder,
                      .sequences = batch_.count,
                      .length = length,
                      .encoder_length = batch_.encoder_length,
                      .position_table = table},
                     graph_);
      }
    }
    return stack.final_norm ? Norm(ends, x, "norm.final") : x;
  }

  std::string Norm(PlaceGraph& place, const std::string& x, const std::string& name) {
    return place.Norm(x, name, spec_.norm, spec_.hidden_size);
  }

  void Pool(const std::string& hidden) {
    PlaceGraph output = Place("output");
    const std::string firsts = graph_.Lookup({batch_.count}, hidden);
    const std::string pooled = graph_.Activate(output.Map(firsts, {.module = "pooler",
                                                                   .component = Component::kPooler,
                                                                   .in = spec_.hidden_size,
                                                                   .out = spec_.hidden_size,
                                                                   .bias = true}));
    if (spec_.output.pooled_class_count == 0) return;
    output.Map(pooled, {.module = "pooler",
                        .name = "classifier",
                        .component = Component::kPooler,
                        .in = spec_.hidden_size,
                        .out = spec_.output.pooled_class_count,
                        .bias = true});
  }

  void Head(std::string x) {
    if (spec_.output.head == OutputHeadKind::kNone) return;
    PlaceGraph output = Place("output");
    if (spec_.output.transform) {
      x = output.Map(x, {.module = "output_transform",
                         .component = Component::kOutputTransform,
                         .in = spec_.hidden_size,
                         .out = spec_.hidden_size,
                         .bias = true});
      x = Norm(output, graph_.Activate(x), "output_transform.norm");
    }
    if (embedding_size_ != spec_.hidden_size) {
      x = output.Map(x, {.module = "embedding_projection",
                         .name = "out_of",
                         .component = Component::kEmbeddingProjection,
                         .in = spec_.hidden_size,
                         .out = embedding_size_});
    }
    if (spec_.output.head == OutputHeadKind::kUntied) {
      output.Map(x, {.module = "output_head",
                     .component = Component::kOutputHead,
                     .in = embedding_size_,
                     .out = vocabulary_,
                     .bias = spec_.output.head_bias});
      return;
    }
    // The embedding's own table; a bias of a tied head is added to all logits alike.
    const std::string logits = graph_.Einsum("t e, v e -> t v", {x, "input.token_embedding.0.w"});
    if (!spec_.output.head_bias) return;
    const std::string bias =
        graph_.Parameter("output.head.b", {1, vocabulary_}, output.Frozen(Component::kOutputHead));
    graph_.Add(logits, graph_.Lookup({batch_.count * batch_.length}, bias));
  }

  void PredictFurther(std::string hidden) {
    const MultiTokenPredictionSpec& modules = *spec_.multi_token_prediction;
    for (int64_t i = 0; i < modules.module_count; ++i) {
      const std::string name = absl::StrCat("module", i);
      PlaceGraph place = Place(name);
      const int64_t both = 2 * spec_.hidden_size;
      const std::string joined =
          graph_.Add(graph_.Columns(Norm(place, hidden, "norm.hidden"), both),
                     graph_.Columns(Norm(place, embedded_, "norm.embedding"), both));
      const std::string x = place.Map(joined, {.module = "projection",
                                               .component = Component::kMultiTokenProjection,
                                               .in = both,
                                               .out = spec_.hidden_size});
      hidden = AddLayer(spec_,
                        {.layer = spec_.layer_kinds[static_cast<size_t>(modules.layer_kind)],
                         .place = name,
                         .x = x,
                         .sequences = batch_.count,
                         .length = batch_.length},
                        graph_);
      Head(modules.final_norm ? Norm(place, hidden, "norm.final") : hidden);
    }
  }

  const ArchitectureSpec& spec_;
  const GraphBatch& batch_;
  const int64_t embedding_size_;
  const int64_t vocabulary_;
  GraphWriter graph_;
  std::string embedded_;
};

}  // namespace

std::string GraphWriter::NewName() { return absl::StrCat("t", made_++); }

std::string GraphWriter::Parameter(const std::string& name, const Shape& shape, bool frozen) {
  if (!parameters_.insert(name).second) return name;
  if (shape.size() == 1) vectors_.insert(name);
  GraphTensor tensor = ParameterOf(name, shape);
  tensor.frozen = frozen;
  spec_.tensors.push_back(tensor);
  return name;
}

std::string GraphWriter::Ids(const Shape& shape) {
  spec_.tensors.push_back(IdsOf(NewName(), shape));
  return spec_.tensors.back().name;
}

std::string GraphWriter::Do(Operation operation, std::vector<std::string> inputs) {
  spec_.operations.push_back(Make(NewName(), std::move(operation), std::move(inputs)));
  return spec_.operations.back().output;
}

std::string GraphWriter::Rearrange(const std::string& x, const std::string& expression,
                                   std::vector<AxisSize> sizes) {
  spec_.operations.push_back(Rearranged(NewName(), expression, x, std::move(sizes)));
  return spec_.operations.back().output;
}

std::string GraphWriter::Add(const std::string& x, const std::string& y) {
  return Do(Elementwise{.input_count = 2, .function = ElementwiseFunction::kAdd}, {x, y});
}

std::string GraphWriter::Multiply(const std::string& x, const std::string& y) {
  return Do(Elementwise{.input_count = 2, .function = ElementwiseFunction::kMultiply}, {x, y});
}

std::string GraphWriter::Activate(const std::string& x) {
  return Do(Activation{.function = ActivationFunction::kSilu}, {x});
}

std::string GraphWriter::Project(const std::string& x, const std::string& weight) {
  return Do(Linear{}, {x, weight});
}

std::string GraphWriter::Einsum(const std::string& expression, std::vector<std::string> inputs) {
  return Do(sextant::Einsum{.expression = expression}, std::move(inputs));
}

std::string GraphWriter::Lookup(const Shape& ids, const std::string& table) {
  return Do(EmbeddingLookup{}, {Ids(ids), table});
}

std::string GraphWriter::Columns(const std::string& x, int64_t count) {
  const std::string gathered = Lookup({count}, Rearrange(x, "t f -> f t"));
  return Rearrange(gathered, "f t -> t f");
}

GraphWriter ModelGraph(const ArchitectureSpec& spec, const GraphBatch& batch) {
  return ModelWriter(spec, batch).Write();
}

}  // namespace sextant
