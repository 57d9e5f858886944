// Frameworks' own allocations, from their sources: never fitted to measurements.
#ifndef SEXTANT_TESTS_VALIDATION_FRAMEWORK_MEMORY_H_
#define SEXTANT_TESTS_VALIDATION_FRAMEWORK_MEMORY_H_

#include <cstdint>

#include "engine/base/units.h"
#include "engine/memory/ledger/framework_spec.h"
#include "engine/memory/ledger/memory_job.h"

namespace sextant {

struct WorkspaceUse {
  int compute_capability = 0;  // its first digit: 8 Ampere, 9 Hopper, 10 Blackwell
  // Deterministic runs of Megatron-LM's tests set CUBLAS_WORKSPACE_CONFIG=:4096:8.
  bool deterministic = false;
  bool transformer_engine = false;
  bool grouped_matmul = false;  // of Transformer Engine: experts in four streams
};

// Workspaces that live as long as the process, inside the allocator.
//
// PyTorch keeps one for each cuBLAS handle, and each thread has a handle: the program's and that
// of the backward pass. :4096:8 are 8 buffers of 4,096 KiB; without the variable it is 32 MiB on
// Hopper and Blackwell and 8.125 MiB elsewhere (pytorch/pytorch,
// `aten/src/ATen/cuda/CublasHandlePool.cpp`, parseChosenWorkspaceSize; older releases have 8.125
// MiB on Blackwell too). Transformer Engine keeps one of its own, and four more for grouped
// products: 32 MiB from Hopper on, 4 MiB before (NVIDIA/TransformerEngine,
// get_cublas_workspace_size_bytes and get_num_cublas_streams of `transformer_engine/pytorch`).
Bytes WorkspaceOf(const WorkspaceUse& use);

// The engine's reserve of `framework` for `job`, a communicator for each kind of parallelism, with
// that workspace.
ReserveSpec ReserveWith(Bytes workspace, Framework framework, const MemoryJob& job);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_FRAMEWORK_MEMORY_H_
