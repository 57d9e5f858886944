// NVML's values of one GPU: its state at one instant, its links and its settings. Needs no CUDA
// context, and takes no resources of the GPU.
#ifndef SEXTANT_GPU_PROBE_CUDA_GPU_READING_H_
#define SEXTANT_GPU_PROBE_CUDA_GPU_READING_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "gpu_probe/cuda/nvml.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::probe {

// Settings that only the GPU's administrator changes.
struct GpuModes {
  bool mig_enabled = false;
  absl::optional<int64_t> compute_mode = {};  // nvml::kComputeMode...
};

// Values that change while a GPU is used. A value that the GPU does not report, or reports as
// impossible, is absent, never zero.
struct GpuReading {
  absl::optional<int64_t> free_bytes = {};
  // Bytes that are neither free nor reserved by the driver: in use by a process.
  absl::optional<int64_t> taken_bytes = {};
  absl::optional<int64_t> utilization_percent = {};  // of the last 1/6 to 1 s
  // Processes that compute on it, by the host's process numbers. May be empty in a container though
  // other processes compute.
  absl::optional<std::vector<int64_t>> process_ids = {};
  absl::optional<int64_t> mps_process_count = {};
  absl::optional<int64_t> temperature_celsius = {};
  // Errors since the last reset that ECC detected and could not correct.
  absl::optional<int64_t> uncorrected_error_count = {};
  bool repair_pending = false;  // pages or rows to be retired at the next reset
  bool repair_failed = false;   // no spare row was left for a bad one
};

class GpuReader {
 public:
  // Finds the GPU named `uuid`; for a MIG instance, its whole GPU.
  //
  // Errors: NvmlStatus()'s, where the GPU is gone or can't be found.
  static absl::StatusOr<GpuReader> Find(Nvml nvml, const std::string& uuid);

  // Errors: NvmlStatus()'s, where the GPU is gone. A value that is not reported is not an error.
  absl::StatusOr<GpuModes> ReadModes() const;
  absl::StatusOr<GpuReading> Read() const;

 private:
  GpuReader(Nvml nvml, nvml::Device gpu, bool is_instance)
      : nvml_(std::move(nvml)), gpu_(gpu), is_instance_(is_instance) {}

  Nvml nvml_;
  nvml::Device gpu_;
  bool is_instance_;
};

// Fills in NVML's values for the GPU named `uuid`: its links, clock settings, default power limit,
// persistence. A value that is not reported, or is impossible, stays absent.
void DescribeLinksAndLimits(const Nvml& nvml, const std::string& uuid,
                            v1::MeasurementEnvironment* out);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_GPU_READING_H_
