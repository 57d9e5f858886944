// What NVML tells of one GPU at one instant. Needs no CUDA context, and takes nothing of the GPU.
#ifndef SEXTANT_GPU_PROBE_CUDA_GPU_READING_H_
#define SEXTANT_GPU_PROBE_CUDA_GPU_READING_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "gpu_probe/cuda/nvml.h"

namespace sextant {

// How a GPU is set up, which only its administrator changes.
struct GpuModes {
  bool mig_enabled = false;
  absl::optional<int64_t> compute_mode = {};  // nvml::kComputeMode...
};

// What changes while a GPU is used. Absent is what the GPU does not tell, or tells as a value that
// can't be: never zero for that.
struct GpuReading {
  absl::optional<int64_t> free_bytes = {};
  // Neither free nor kept back by the driver: somebody's.
  absl::optional<int64_t> taken_bytes = {};
  absl::optional<int64_t> utilization_percent = {};  // of the last 1/6 to 1 s
  // Processes that compute on it, by the host's numbers. May be empty in a container though others
  // compute.
  absl::optional<std::vector<int64_t>> process_ids = {};
  absl::optional<int64_t> mps_process_count = {};
  absl::optional<int64_t> temperature_celsius = {};
  // Errors since the last reset that ECC found and could not mend.
  absl::optional<int64_t> uncorrected_error_count = {};
  bool repair_pending = false;  // pages or rows to be taken out of use at the next reset
  bool repair_failed = false;   // no spare row was left for a bad one
};

class GpuReader {
 public:
  // Finds the GPU named `uuid`; of a MIG instance, its whole GPU.
  //
  // Errors: NvmlStatus()'s, where the GPU is gone or can't be found.
  static absl::StatusOr<GpuReader> Find(Nvml nvml, const std::string& uuid);

  // Errors: NvmlStatus()'s, where the GPU is gone. What is merely not told is no error.
  absl::StatusOr<GpuModes> ReadModes() const;
  absl::StatusOr<GpuReading> Read() const;

 private:
  GpuReader(Nvml nvml, nvml::Device gpu, bool is_instance)
      : nvml_(std::move(nvml)), gpu_(gpu), is_instance_(is_instance) {}

  Nvml nvml_;
  nvml::Device gpu_;
  bool is_instance_;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GPU_READING_H_
