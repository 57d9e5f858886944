// Launches over arrays, their first content, and the size of arrays that exceed a GPU's cache.
#ifndef SEXTANT_GPU_PROBE_CUDA_MEMORY_GRID_H_
#define SEXTANT_GPU_PROBE_CUDA_MEMORY_GRID_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/cuda/gpu_session.h"

namespace sextant::probe {

// As in kernels/places.cuh.
inline constexpr int64_t kPassBlocksOfMultiprocessor = 6;

inline constexpr int64_t kVectorBytes = 16;  // of a thread's access

// A launch for kernels that process `count` vectors or elements: as many threads as run at once, or
// fewer where there is not enough work.
LaunchShape GridOver(int64_t count, const GpuSession& session);

// Queues filling `memory` with fp32 numbers: `scale` times the whole numbers of places from `seed`
// on.
absl::Status FillWhole(const DeviceMemory& memory, uint64_t seed, float scale, GpuSession& session);

// True where arrays of that size are measured as memory: from four times the cache, or 1 GiB where
// its size is not known (StreamMeasurement.main_memory).
bool IsMainMemory(int64_t array_bytes, const GpuSession& session);

struct GpuArraysWanted {
  int array_count = 1;
  int64_t wanted_bytes = 0;  // of each; larger where the cache requires it
};

// Bytes of each of `wanted.array_count` arrays that exceed the cache and together fit into the
// session's cap: a multiple of 1 MiB.
//
// Errors: kResourceExhausted where the cap is too low.
absl::StatusOr<int64_t> GpuArrayBytes(const GpuArraysWanted& wanted, const GpuSession& session);

// The most bytes of each of `array_count` arrays that fit, a multiple of 1 MiB.
int64_t MostArrayBytes(int array_count, const GpuSession& session);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_MEMORY_GRID_H_
