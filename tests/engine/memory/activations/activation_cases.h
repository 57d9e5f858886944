// Micro-batches that the tests of activations start from.
#ifndef SEXTANT_TESTS_ENGINE_MEMORY_ACTIVATIONS_ACTIVATION_CASES_H_
#define SEXTANT_TESTS_ENGINE_MEMORY_ACTIVATIONS_ACTIVATION_CASES_H_

#include <cstdint>
#include <string>

#include "engine/base/field_violation.h"
#include "engine/memory/activations/activations.h"
#include "engine/memory/activations/layer_rows.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/sharding/parallel_layout.h"
#include "tests/engine/model/architecture/architectures.h"

namespace sextant {

// A model, a layout and a micro-batch that live as long as the answers are asked for.
struct ActivationCase {
  ArchitectureSpec spec;
  ParallelLayout layout = {};
  MicroBatchSpec batch = {};

  ActivationContext context() const { return {spec, layout, batch}; }
};

// Bytes of one layer of the kind at `layer_kind`, by AddLayerRows(). `rows` receives its tensors;
// null: nothing is allocated. Errors: kInvalidArgument "layout.micro_batch_size" above 9.2e18
// bytes.
inline absl::StatusOr<Bytes> LayerActivations(const ActivationContext& context, ModelPart part,
                                              int layer_kind, ActivationTensors* rows = nullptr) {
  ActivationList list(context, rows);
  list.GoTo({.part = part, .layer_kind = layer_kind});
  AddLayerRows(context.spec.layer_kinds[static_cast<size_t>(layer_kind)], list);
  if (!list.total().ok()) return InvalidField("layout.micro_batch_size", "leaves too many bytes");
  return Bytes(list.total().value());
}

// Bytes of one layer of the first kind, in the decoder. 0 on an error.
inline int64_t LayerBytes(const ActivationCase& c) {
  return LayerActivations(c.context(), ModelPart::kDecoder, 0).value_or(Bytes(0)).value();
}

// Bytes that its backward pass recomputes: what it keeps only without recomputation.
inline int64_t RecomputedBytes(const ActivationCase& c) {
  ActivationCase keeps_all = c;
  keeps_all.batch.recomputation = {};
  return LayerBytes(keeps_all) - LayerBytes(c);
}

// Bytes of `stage`, and its rows if wanted. 0 on an error.
inline int64_t StageBytes(const ActivationCase& c, int64_t stage = 0,
                          ActivationTensors* rows = nullptr) {
  const LayerPlacement placement(c.spec, c.layout);
  const auto parts = ChunkActivations(c.context(), placement, {.stage = stage}, rows);
  return parts.ok() ? parts->total().value() : 0;
}

// Bytes of the stage that embeddings, final norm, head and loss keep, layers left out.
inline int64_t EndBytes(const ActivationCase& c) {
  ActivationTensors rows;
  StageBytes(c, 0, &rows);
  int64_t sum = 0;
  for (const ActivationTensor& row : rows) {
    if (row.layer_kind < 0) sum += row.size.value() * row.layers;
  }
  return sum;
}

// Bytes of rows called `module`.`name` of a decoder layer of the first kind; -1: there is none.
inline int64_t RowBytes(const ActivationCase& c, const std::string& module,
                        const std::string& name) {
  ActivationTensors rows;
  if (!LayerActivations(c.context(), ModelPart::kDecoder, 0, &rows).ok()) return -1;
  for (const ActivationTensor& row : rows) {
    if (row.module == module && row.name == name) return row.size.value();
  }
  return -1;
}

// A decoder of two layers that are as arXiv 2205.05198 has them: ungated and four times as wide
// as h, as many heads of keys as of queries, two norms, dropout, unfused attention.
inline ActivationCase PublishedGpt(int64_t hidden, int64_t heads, int64_t length) {
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

#endif  // SEXTANT_TESTS_ENGINE_MEMORY_ACTIVATIONS_ACTIVATION_CASES_H_
