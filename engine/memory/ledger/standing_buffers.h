// Buffers that a framework allocates once and keeps, in addition to the model's needs.
#ifndef SEXTANT_ENGINE_MEMORY_LEDGER_STANDING_BUFFERS_H_
#define SEXTANT_ENGINE_MEMORY_LEDGER_STANDING_BUFFERS_H_

#include "engine/base/units.h"
#include "engine/memory/ledger/framework_copies.h"
#include "engine/memory/ledger/memory_job.h"
#include "engine/memory/ledger_row.h"

namespace sextant {

// Bytes on a GPU of one stage, in every phase.
struct StandingBuffers {
  Bytes global_buffer = Bytes(0);
  Bytes placeholder_gradients = Bytes(0);
  Bytes gradient_buckets = Bytes(0);
  Bytes deferred_head = Bytes(0);
  Bytes secondary_weights = Bytes(0);

  Bytes total() const {
    return global_buffer + placeholder_gradients + gradient_buckets + deferred_head +
           secondary_weights;
  }
};

// True where a stage with the output head gathers the head's input into the global buffer, so that
// no tensor of its own is made for it.
bool GathersIntoGlobalBuffer(const MemoryJob& job);

// The buffers of a stage, which has the output head where `has_head`.
//
// global_buffer: Megatron-LM's, as large as the largest of its uses: the gathered input of the
//   output head under sequence parallelism, and the scores of one layer's attention where
//   Megatron-LM computes them itself, without Transformer Engine.
//   Source: NVIDIA/Megatron-LM, megatron/core/tensor_parallel/layers.py and
//   megatron/core/transformer/dot_product_attention.py, get_global_memory_buffer().
// placeholder_gradients: Transformer Engine gives autograd one empty gradient for all matrices of
//   a shape, where weight gradients are added to their buffers as they are computed. Queries, keys
//   and values are one matrix there, as are gate and up; experts are a matrix each.
//   Source: NVIDIA/TransformerEngine, transformer_engine/pytorch/module/base.py, get_dummy_wgrad().
// gradient_buckets: DistributedDataParallel's, which hold a copy of all gradients unless
//   gradient_as_bucket_view is set, which it is not by default.
//   Source: pytorch/pytorch, torch/nn/parallel/distributed.py.
// deferred_head: inputs of the output head and gradients of its outputs of micro-batches whose
//   weight gradients wait for the last backward pass; StageLedger adds it.
//   Source: NVIDIA/Megatron-LM, megatron/core/tensor_parallel/layers.py, grad_output_buffer.
// secondary_weights: a second shard of all weights, in the type that is gathered, from the first
//   forward pass on. Source: Wang et al. 2023 (ZeRO++, arXiv 2306.10209) section 3.2.
//
// Allocates nothing where a stage has at most 16 matrices of different shapes.
StandingBuffers StandingBuffersOf(const CopiesContext& context, int64_t stage, bool has_head);

// StandingBuffers::global_buffer alone.
Bytes GlobalBufferOf(const CopiesContext& context, bool has_head);

// The buffers of two stages on one GPU, which share all but buckets and weights.
StandingBuffers SharedBy(const StandingBuffers& a, const StandingBuffers& b);

// Appends rows that add up to `buffers`.
void AppendStandingRows(const StandingBuffers& buffers, LedgerRows& rows);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_LEDGER_STANDING_BUFFERS_H_
