// Workspaces of matrix libraries: memory inside the allocator that lives as long as the process.
#ifndef SEXTANT_ENGINE_FRAMEWORK_WORKSPACE_H_
#define SEXTANT_ENGINE_FRAMEWORK_WORKSPACE_H_

#include "absl/strings/string_view.h"
#include "engine/base/units.h"

namespace sextant {

// Generations of devices whose libraries take different workspaces.
enum class DeviceGeneration {
  kUnknown,
  kBeforeAmpere,  // Volta, Turing
  kBeforeHopper,  // Ampere, Ada
  kHopper,
  kBlackwell,
  kAmd,       // CDNA
  kAmdCdna3,  // CDNA 3 and later
};

// True where `generation` is before Hopper.
constexpr bool IsBeforeHopper(DeviceGeneration generation) {
  return generation == DeviceGeneration::kBeforeAmpere ||
         generation == DeviceGeneration::kBeforeHopper;
}

// The generation of an accelerator whose architecture the catalogue calls `architecture`.
DeviceGeneration GenerationOf(absl::string_view architecture);

struct WorkspaceUse {
  DeviceGeneration generation = DeviceGeneration::kUnknown;
  bool deterministic = false;  // with CUBLAS_WORKSPACE_CONFIG=:4096:8
  bool transformer_engine = false;
  bool grouped_experts = false;  // of Transformer Engine: experts in four streams
};

// PyTorch keeps one workspace for each cuBLAS handle, and each of two threads has a handle: the
// program's and that of the backward pass. :4096:8 are 8 buffers of 4,096 KiB; without the
// variable it is 32 MiB on Hopper and later, 8.125 MiB before, and 32 or 128 MiB on AMD's devices.
// Source: pytorch/pytorch, aten/src/ATen/cuda/CublasHandlePool.cpp, parseChosenWorkspaceSize(), of
// 2026; releases until then have 8.125 MiB on Blackwell.
//
// Transformer Engine keeps one of its own, and four more for grouped products: 32 MiB from Hopper
// on, 4 MiB before. Source: NVIDIA/TransformerEngine, transformer_engine/pytorch/cpp_extensions/
// gemm.py, get_cublas_workspace_size_bytes(), and common/util/multi_stream.cpp.
//
// An unknown device counts as Hopper, which takes the most of NVIDIA's.
Bytes WorkspaceOf(const WorkspaceUse& use);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_FRAMEWORK_WORKSPACE_H_
