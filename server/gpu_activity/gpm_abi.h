// What the server uses of NVML's binary interface, declared by us: its GPU performance monitoring
// (GPM) above all. Facts (names, order, numbers) are those of NVML's public header and reference
// manual; docs/metrics.md says which copies were read.
#ifndef SEXTANT_SERVER_GPU_ACTIVITY_GPM_ABI_H_
#define SEXTANT_SERVER_GPU_ACTIVITY_GPM_ABI_H_

#include <array>
#include <cstddef>

namespace sextant::gpm {

// nvmlReturn_t.
using Return = int;
inline constexpr Return kSuccess = 0;
inline constexpr Return kFunctionNotFound = 13;

// nvmlDevice_t and nvmlGpmSample_t.
struct GpuTag;
using Gpu = GpuTag*;
struct SampleTag;
using Sample = SampleTag*;

// nvmlGpmSupport_t. `version` has to be 1.
struct Support {
  unsigned version = 1;
  unsigned is_supported = 0;
};
static_assert(sizeof(Support) == 8);

// nvmlGpmMetricId_t: averages between two samples, in per cent.
inline constexpr unsigned kSmUtilization = 2;       // ..._SM_UTIL: multiprocessors that were busy
inline constexpr unsigned kTensorUtilization = 5;   // ..._ANY_TENSOR_UTIL
inline constexpr unsigned kMemoryUtilization = 10;  // ..._DRAM_BW_UTIL: of the highest bandwidth

// nvmlGpmMetric_t.
struct Metric {
  unsigned id = 0;
  Return code = 0;  // anything but kSuccess: there is no value
  double value = 0;
  std::array<char*, 3> names = {};  // short, long, unit
};
static_assert(sizeof(Metric) == 40 && offsetof(Metric, value) == 8);

// nvmlGpmMetricsGet_t. `version` has to be 1, whatever the length of `metrics`, which headers have
// grown from 98 to 333 under that version: NVML reads as many as `metric_count` says. Longer than
// all of them, should one of its versions clear the whole.
struct MetricsRequest {
  unsigned version = 1;
  unsigned metric_count = 0;
  Sample earlier = nullptr;
  Sample later = nullptr;
  std::array<Metric, 512> metrics = {};
};
static_assert(offsetof(MetricsRequest, metrics) == 24);

// Enough for a UUID, NVML says 96.
inline constexpr unsigned kUuidLength = 96;

}  // namespace sextant::gpm

#endif  // SEXTANT_SERVER_GPU_ACTIVITY_GPM_ABI_H_
