// Buffers that a Megatron-LM run allocates once and keeps, in addition to the model's needs.
#ifndef SEXTANT_TESTS_VALIDATION_MEGATRON_BUFFERS_H_
#define SEXTANT_TESTS_VALIDATION_MEGATRON_BUFFERS_H_

#include "absl/status/statusor.h"
#include "engine/base/units.h"
#include "engine/memory/ledger/memory_job.h"
#include "engine/model/architecture/architecture_spec.h"

namespace sextant {

// The global memory buffer, as large as the largest of its uses: the scores of one layer's
// attention, where Megatron-LM computes them itself (`local` layers, not Transformer Engine's), and
// the gathered input of the output head under sequence parallelism. Source: NVIDIA/Megatron-LM,
// `megatron/core/transformer/dot_product_attention.py` and
// `megatron/core/tensor_parallel/layers.py`, get_global_memory_buffer().
//
// HeadBuffer() is only the latter, which the buffer has room for.
Bytes HeadBuffer(const ArchitectureSpec& model, const MemoryJob& job);
Bytes GlobalMemoryBuffer(const ArchitectureSpec& model, const MemoryJob& job, bool local_attention);

// Transformer Engine gives autograd one empty gradient for all matrices of a shape, where weight
// gradients are added to their buffers as they are computed. Queries, keys and values are one
// matrix there, as are gate and up; experts are a matrix each.
// Source: NVIDIA/TransformerEngine, `transformer_engine/pytorch/module/base.py`, get_dummy_wgrad().
//
// Errors: kInvalidArgument where `model` or its layout is unsound.
absl::StatusOr<Bytes> PlaceholderGradients(const ArchitectureSpec& model, const MemoryJob& job);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_MEGATRON_BUFFERS_H_
