// Micro-batches that the tests of activations start from.
#ifndef SEXTANT_TESTS_ENGINE_MEMORY_ACTIVATIONS_ACTIVATION_CASES_H_
#define SEXTANT_TESTS_ENGINE_MEMORY_ACTIVATIONS_ACTIVATION_CASES_H_

#include <cstdint>
#include <string>

#include "engine/memory/activations/activations.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/sharding/parallel_layout.h"

namespace sextant {

// A model, a layout and a micro-batch that live as long as the answers are asked for.
struct ActivationCase {
  ArchitectureSpec spec;
  ParallelLayout layout = {};
  MicroBatchSpec batch = {};

  ActivationContext context() const { return {spec, layout, batch}; }
};

// Bytes of one layer of the kind at `layer_kind`, by AddLayerRows(). `rows` receives its tensors;
// null: nothing is allocated. Errors: kInvalidArgument "micro_batch" above 9.2e18 bytes.
absl::StatusOr<Bytes> LayerActivations(const ActivationContext& context, ModelPart part,
                                       int layer_kind, ActivationTensors* rows = nullptr);

// Bytes of one layer of the first kind, in the decoder. 0 on an error.
int64_t LayerBytes(const ActivationCase& c);

// Bytes that its backward pass recomputes: what it keeps only without recomputation.
int64_t RecomputedBytes(const ActivationCase& c);

// Bytes of `stage`, and its rows if wanted. 0 on an error.
int64_t StageBytes(const ActivationCase& c, int64_t stage = 0, ActivationTensors* rows = nullptr);

// Bytes of the stage that embeddings, final norm, head and loss keep, layers left out.
int64_t EndBytes(const ActivationCase& c);

// Bytes of rows called `module`.`name` of a decoder layer of the first kind; -1: there is none.
int64_t RowBytes(const ActivationCase& c, const std::string& module, const std::string& name);

// A decoder of two layers that are as arXiv 2205.05198 has them: ungated and four times as wide
// as h, as many heads of keys as of queries, two norms, dropout, unfused attention.
ActivationCase PublishedGpt(int64_t hidden, int64_t heads, int64_t length);

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_MEMORY_ACTIVATIONS_ACTIVATION_CASES_H_
