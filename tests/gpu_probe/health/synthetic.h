// Simulated GPUs, as calibrations.
#ifndef SEXTANT_TESTS_GPU_PROBE_HEALTH_SYNTHETIC_H_
#define SEXTANT_TESTS_GPU_PROBE_HEALTH_SYNTHETIC_H_

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gpu_probe/health/figures.h"
#include "gpu_probe/health/verdict.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::probe {

inline constexpr int64_t kNow = 1'800'000'000;  // the time of the tests' checks
inline constexpr int64_t kDay = 86400;

// The figures of a synthetic GPU, in the order of FiguresOf().
enum SyntheticFigure : size_t {
  kBf16,
  kFp8,
  kTf32,
  kBf16Sustained,
  kCopy,
  kTriad,
  kElementwiseBandwidth,
  kElementwiseArithmetic,
  kFigureCount,
};
using Speeds = std::array<double, kFigureCount>;  // relative to the product's

struct SyntheticGpu {
  std::string uuid = "GPU-0";
  std::string product_name = "NVIDIA H100 80GB HBM3";
  double power_limit_watts = 700;  // 0: not reported
  int64_t unix_seconds = kNow - 3600;
  v1::ProbeMode mode = v1::PROBE_MODE_FULL;
  Speeds speeds = {1, 1, 1, 1, 1, 1, 1, 1};
  bool stable = true;
  double half_range = 0.01;  // half of p10 to p90, over the median
};

Speeds Everywhere(double speed);

// `speeds`, each with normal noise of that standard deviation.
Speeds Noisy(Speeds speeds, double deviation, std::mt19937_64& random);

v1::Calibration CalibrationOf(const SyntheticGpu& gpu);

// `calibration` without the multiplications in `type`, in bursts and sustained.
v1::Calibration Without(v1::DataType type, v1::Calibration calibration);

// Eight equal GPUs, "GPU-0" to "GPU-7".
std::vector<SyntheticGpu> Node();

// Limits by which one slow measurement is enough.
inline constexpr HealthLimits kAtOnce = {.in_a_row = 1};

MeasuredDevice Measured(const v1::Calibration& calibration);

// `gpu` at `count` times before, half a day apart, the last half a day before its own; then as it
// is.
std::vector<SyntheticGpu> WithHistory(const SyntheticGpu& gpu, const Speeds& before, int count);

// The verdicts on `gpus`, checked at kNow. Equal UUIDs are one device at several times.
std::vector<DeviceVerdict> VerdictsOver(const std::vector<SyntheticGpu>& gpus,
                                        const HealthLimits& limits = {});
std::vector<DeviceVerdict> VerdictsOver(const std::vector<v1::Calibration>& calibrations,
                                        const HealthLimits& limits = {});

}  // namespace sextant::probe

#endif  // SEXTANT_TESTS_GPU_PROBE_HEALTH_SYNTHETIC_H_
