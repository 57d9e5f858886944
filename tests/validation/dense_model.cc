#include "tests/validation/dense_model.h"

#include "absl/status/status.h"
#include "engine/base/status_macros.h"
#include "tests/validation/cells.h"

namespace sextant {
namespace {

constexpr char kLayerKind[] = "dense";

void SetLayer(const DenseShape& shape, v1::LayerKind& out) {
  out.set_name(kLayerKind);
  out.set_norm(shape.root_mean_square ? v1::NORM_VARIANT_RMS_NORM : v1::NORM_VARIANT_LAYER_NORM);
  v1::Attention& attention = *out.mutable_attention();
  attention.set_head_count(shape.head_count);
  attention.set_query_key_head_size(shape.hidden_size / shape.head_count);
  attention.set_query_bias(shape.attention_bias);
  attention.set_key_bias(shape.attention_bias);
  attention.set_value_bias(shape.attention_bias);
  attention.set_output_bias(shape.attention_bias);
  v1::FeedForward& feed_forward = *out.mutable_feed_forward();
  feed_forward.set_kind(shape.gated ? v1::FeedForward::KIND_GATED : v1::FeedForward::KIND_PLAIN);
  feed_forward.set_size(shape.feed_forward_size);
  feed_forward.set_input_bias(shape.feed_forward_bias);
  feed_forward.set_output_bias(shape.feed_forward_bias);
}

}  // namespace

absl::StatusOr<v1::Architecture> DenseArchitecture(const DenseShape& shape) {
  if (shape.head_count < 1 || shape.hidden_size % shape.head_count != 0) {
    return absl::InvalidArgumentError("heads don't divide the hidden size");
  }
  v1::Architecture out;
  out.set_hidden_size(shape.hidden_size);
  SetLayer(shape, *out.add_layer_kinds());
  out.set_norm(out.layer_kinds(0).norm());
  out.mutable_embedding()->set_vocabulary_size(shape.vocabulary_size);
  v1::Architecture::LayerRun& layers = *out.mutable_decoder()->add_layers();
  layers.set_layer_kind(kLayerKind);
  layers.set_count(shape.layer_count);
  out.mutable_decoder()->set_learned_position_count(shape.position_count);
  out.mutable_output()->set_head(shape.tied ? v1::OUTPUT_HEAD_TIED : v1::OUTPUT_HEAD_UNTIED);
  return out;
}

absl::StatusOr<DenseShape> GptShapeOf(const CsvRow& row) {
  DenseShape out = {.tied = true};
  SEXTANT_ASSIGN_OR_RETURN(out.layer_count, RequiredCell(row, "layers", "number of layers"));
  SEXTANT_ASSIGN_OR_RETURN(out.hidden_size, RequiredCell(row, "hidden", "hidden size"));
  SEXTANT_ASSIGN_OR_RETURN(out.head_count, RequiredCell(row, "heads", "number of heads"));
  SEXTANT_ASSIGN_OR_RETURN(out.vocabulary_size, RequiredCell(row, "vocab", "vocabulary"));
  out.feed_forward_size = 4 * out.hidden_size;
  return out;
}

}  // namespace sextant
