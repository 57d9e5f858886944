// The GPUs of a host, each by its UUID: CUDA's ordinals and NVML's indices are two orders, and both
// change from one process to the next.
#ifndef SEXTANT_GPU_PROBE_CUDA_GPU_LIST_H_
#define SEXTANT_GPU_PROBE_CUDA_GPU_LIST_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "gpu_probe/cuda/cuda_driver.h"
#include "gpu_probe/cuda/cuda_system.h"
#include "sextant/v1/device.pb.h"

namespace sextant {

struct Gpu {
  // What is not known, or can't be, is absent. product_name, compute capability, multiprocessors
  // and memory are of the part that CUDA sees: a MIG instance's are a slice's.
  v1::Device device;
  cuda::Device ordinal = 0;  // in this process
  bool mig_instance = false;
};

// All that CUDA sees, by their PCI addresses, or in the order of CUDA_VISIBLE_DEVICES where that is
// set; at least one. One whose identity can't be read, as it has just gone, is left out. Makes no
// context.
//
// Errors: StartCuda()'s; CudaStatus()'s of the first GPU where none is left.
absl::StatusOr<std::vector<Gpu>> ListGpus(const CudaSystem& system);

// The UUIDs of the same, in the same order, by NVML and without starting CUDA. Absent where only
// CUDA knows: where CUDA_VISIBLE_DEVICES has numbers, whose order is CUDA's own, or names that are
// not one GPU's each; where a GPU is cut into instances; where NVML does not tell all.
absl::optional<std::vector<std::string>> UuidsByNvml(const CudaSystem& system);

// Errors: kUnimplemented where the GPU is older than what kernels are made for.
absl::Status CheckComputeCapability(const v1::Device& device);

// "GPU-" or "MIG-" and the 16 bytes in NVIDIA's form, 8-4-4-4-12.
std::string UuidText(const cuda::Uuid& uuid, bool mig_instance);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GPU_LIST_H_
