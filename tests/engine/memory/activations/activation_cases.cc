#include "tests/engine/memory/activations/activation_cases.h"

#include "engine/base/field_violation.h"
#include "engine/memory/activations/layer_rows.h"
#include "tests/engine/model/architecture/architectures.h"

namespace sextant {

absl::StatusOr<Bytes> LayerActivations(const ActivationContext& context, ModelPart part,
                                       int layer_kind, ActivationTensors* rows) {
  ActivationList list(context, rows);
  list.GoTo({.part = part, .layer_kind = layer_kind});
  AddLayerRows(context.spec.layer_kinds[static_cast<size_t>(layer_kind)], list);
  if (!list.total().ok()) return InvalidField("micro_batch", "leaves too many bytes");
  return Bytes(list.total().value());
}

int64_t LayerBytes(const ActivationCase& c) {
  return LayerActivations(c.context(), ModelPart::kDecoder, 0).value_or(Bytes(0)).value();
}

int64_t RecomputedBytes(const ActivationCase& c) {
  ActivationCase keeps_all = c;
  keeps_all.batch.recomputation = {};
  return LayerBytes(keeps_all) - LayerBytes(c);
}

int64_t StageBytes(const ActivationCase& c, int64_t stage, ActivationTensors* rows) {
  const LayerPlacement placement(c.spec, c.layout);
  const auto parts = ChunkActivations(c.context(), placement, {.stage = stage}, rows);
  return parts.ok() ? parts->total().value() : 0;
}

int64_t EndBytes(const ActivationCase& c) {
  ActivationTensors rows;
  StageBytes(c, 0, &rows);
  int64_t sum = 0;
  for (const ActivationTensor& row : rows) {
    if (row.layer_kind < 0) sum += row.size.value() * row.layers;
  }
  return sum;
}

int64_t RowBytes(const ActivationCase& c, const std::string& module, const std::string& name) {
  ActivationTensors rows;
  if (!LayerActivations(c.context(), ModelPart::kDecoder, 0, &rows).ok()) return -1;
  for (const ActivationTensor& row : rows) {
    if (row.module == module && row.name == name) return row.size.value();
  }
  return -1;
}

ActivationCase PublishedGpt(int64_t hidden, int64_t heads, int64_t length) {
  ActivationCase c;
  c.spec = SmallDecoder();
  c.spec.hidden_size = hidden;
  c.spec.norm = NormVariant::kLayerNorm;
  c.spec.embedding.vocabulary_size = 51200;
  c.spec.layer_kinds = {DenseLayer(Heads(heads, heads, hidden / heads), Plain(4 * hidden))};
  c.spec.layer_kinds[0].norm = NormVariant::kLayerNorm;
  c.spec.decoder.layers = {{.layer_kind = 0, .count = 2}};
  c.spec.output.head = OutputHeadKind::kTied;
  c.batch.sequence_length = length;
  c.batch.dropout = true;
  c.batch.attention = AttentionKernel::kUnfused;
  return c;
}

}  // namespace sextant
