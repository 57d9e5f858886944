// The GPUs of a host, each by its UUID: CUDA's ordinals and NVML's indices are in different orders,
// and both change between processes.
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

namespace sextant::probe {

struct Gpu {
  // Unknown or impossible values are absent. product_name, compute capability, multiprocessors and
  // memory describe the part that CUDA sees: for a MIG instance, the slice.
  v1::Device device;
  cuda::Device ordinal = 0;  // in this process
  bool mig_instance = false;
};

// Lists all GPUs that CUDA sees, by PCI address, or in the order of CUDA_VISIBLE_DEVICES where that
// is set; at least one. A GPU whose identity can't be read, since it has just gone, is left out.
// Makes no context.
//
// Errors: StartCuda()'s; CudaStatus()'s of the first GPU where none is left.
absl::StatusOr<std::vector<Gpu>> ListGpus(const CudaSystem& system);

// Lists the UUIDs of the same GPUs, in the same order, from NVML and without starting CUDA. Absent
// where only CUDA knows them: where CUDA_VISIBLE_DEVICES has numbers, whose order is CUDA's own, or
// names that don't identify one GPU each; where a GPU is cut into instances; where NVML does not
// report all.
absl::optional<std::vector<std::string>> UuidsByNvml(const CudaSystem& system);

// Errors: kUnimplemented where the GPU is older than the kernels support.
absl::Status CheckComputeCapability(const v1::Device& device);

// The GPU named `uuid`. Starts CUDA.
//
// Errors: ListGpus()'s; kNotFound without a GPU of that name; CheckComputeCapability()'s.
absl::StatusOr<Gpu> FindGpu(const CudaSystem& system, const std::string& uuid);

// "GPU-" or "MIG-" and the 16 bytes in NVIDIA's notation, 8-4-4-4-12.
std::string UuidText(const cuda::Uuid& uuid, bool mig_instance);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_GPU_LIST_H_
