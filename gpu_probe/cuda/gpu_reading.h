// What NVML tells of one GPU at one instant. Needs no CUDA context, and takes nothing of the GPU.
#ifndef SEXTANT_GPU_PROBE_CUDA_GPU_READING_H_
#define SEXTANT_GPU_PROBE_CUDA_GPU_READING_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "gpu_probe/cuda/nvml.h"

namespace sextant {

// Absent is what the GPU does not tell, or tells as a value that can't be: never zero for that.
struct GpuReading {
  bool mig_enabled = false;
  absl::optional<int64_t> free_bytes = {};
  // Neither free nor kept back by the driver: somebody's.
  absl::optional<int64_t> taken_bytes = {};
  absl::optional<int64_t> utilization_percent = {};  // of the last 1/6 to 1 s
  // May be 0 in a container though others compute.
  absl::optional<int64_t> process_count = {};
  absl::optional<int64_t> mps_process_count = {};
  absl::optional<int64_t> temperature_celsius = {};
  absl::optional<int64_t> compute_mode = {};  // nvml::kComputeMode...
  // Errors since the last reset that ECC found and could not mend.
  absl::optional<int64_t> uncorrected_error_count = {};
  bool repair_pending = false;  // pages or rows to be taken out of use at the next reset
  bool repair_failed = false;   // no spare row was left for a bad one
};

// Reads the GPU named `uuid`; of a MIG instance, its whole GPU.
//
// Errors: NvmlStatus()'s, where the GPU is gone or can't be found. What is merely not told is
// no error.
absl::StatusOr<GpuReading> ReadGpu(const Nvml& nvml, const std::string& uuid);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GPU_READING_H_
