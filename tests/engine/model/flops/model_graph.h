// A model as a graph of operations, written from its description alone.
#ifndef SEXTANT_TESTS_ENGINE_MODEL_FLOPS_MODEL_GRAPH_H_
#define SEXTANT_TESTS_ENGINE_MODEL_FLOPS_MODEL_GRAPH_H_

#include <string>

#include "engine/model/architecture/architecture_spec.h"
#include "tests/engine/model/flops/graph_writer.h"

namespace sextant {

// `count` sequences of `length` tokens, and `encoder_length` where there are two stacks.
struct GraphBatch {
  int64_t count = 1;
  int64_t length = 1;
  int64_t encoder_length = 0;
};

// A training step of `spec` on `batch`: each layer by itself, every token's products alone, all
// masks full. Of a mixture every token passes experts_per_token experts; the others are
// parameters that nothing reads.
GraphWriter ModelGraph(const ArchitectureSpec& spec, const GraphBatch& batch);

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_MODEL_FLOPS_MODEL_GRAPH_H_
