// The measurements of one device that plans use.
#ifndef SEXTANT_ENGINE_HARDWARE_CALIBRATION_H_
#define SEXTANT_ENGINE_HARDWARE_CALIBRATION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "engine/hardware/accelerator.h"
#include "engine/hardware/kernels/stream_calibration.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// One measured matrix multiplication, C[m,n] = A[m,k] B[k,n]; or only the rate of a large one,
// whose sizes are 0.
struct MeasuredMatmul {
  DataType data_type = DataType::kUnspecified;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  FlopsPerSecond rate;         // 2 m n k over the median time; 1 to 1e18
  double relative_spread = 0;  // 1.4826 x median absolute deviation / median
  int64_t sample_count = 0;
  bool stable = false;      // enough samples agree
  bool sustained = false;   // for a second or more without pause; else a short burst
  std::string engine = {};  // the library, e.g. "onednn 2.6.3"
  absl::optional<double> power_watts = {};  // during it; only of a sustained one
};

// The rate of one pass over memory, in bytes or FLOPs per second.
struct MeasuredPass {
  double per_second = 0;       // 1 to 1e18
  int64_t array_bytes = 0;     // of each array
  int64_t multiply_adds = 0;   // per element; elementwise passes only
  double relative_spread = 0;  // 1.4826 x median absolute deviation / median
  int64_t sample_count = 0;
  bool stable = false;
};

struct RateSeen {
  double rate = 0;  // of either kind, in the same unit
  bool stable = false;
};

// True where `x` is the better rate: a stable rate beats an unstable one unless it is more than 10
// % slower; else the faster rate wins.
bool IsBetterRate(const RateSeen& x, const RateSeen& y);

// One device: its identity and its best measurements. All figures are finite and in the ranges
// given here; code that reads external data checks them. Shapes measured on request are left out:
// however fast, they are not the device's best.
struct DeviceCalibration {
  std::string uuid;
  std::string hostname = {};                 // of its host; empty: unknown
  std::string product_name;                  // as the device reports itself
  bool processor = false;                    // the CPUs of a host, not an accelerator
  const Accelerator* accelerator = nullptr;  // its datasheet; null: not in the catalogue
  Bytes memory;                    // as reported by the host, of a GPU CUDA's total; 1 to 1e15
  int64_t compute_unit_count = 0;  // multiprocessors or cores, as the host reports; 0: unknown
  int64_t measured_unix_seconds = 0;
  std::string probe_version;  // e.g. "sextant-probe 0.1.0"
  std::string fingerprint;
  double coverage_ratio = 1;                      // share of the planned points; below 1: partial
  absl::optional<double> power_limit_watts = {};  // absent: not reported by the device
  int64_t point_count = 0;                        // measured times, of all kinds
  int64_t stable_point_count = 0;                 // those of them whose samples agree
  // Time of the third pass over the multiplications relative to the first, less 1; absent: fewer
  // passes.
  absl::optional<double> drift_ratio = {};

  // For each data type: the multiplication that gives its rate (KeepIfBetter()), the best burst
  // (IsBetterRate()), and the fastest stable burst, which may cast doubt on a sustained rate.
  absl::InlinedVector<MeasuredMatmul, 3> matmuls;
  absl::InlinedVector<MeasuredMatmul, 3> bursts;
  absl::InlinedVector<MeasuredMatmul, 3> stable_bursts;
  // Passes within main memory, in bytes read plus written, by StreamPattern; see ConsiderPass().
  std::array<absl::optional<MeasuredPass>, kStreamPatternCount> memory_passes = {};
  // The fastest fp32 multiply-adds over an array, in FLOP/s: general arithmetic.
  absl::optional<MeasuredPass> elementwise = {};
  // Multiplications whose shapes were measured on request.
  int64_t requested_matmul_count = 0;

  // Keeps `matmul` if it is better than the one kept for its type: sustained before burst, then by
  // IsBetterRate().
  void KeepIfBetter(const MeasuredMatmul& matmul);

  // Keeps `pass` if it is better by IsBetterRate().
  void ConsiderPass(StreamPattern pattern, const MeasuredPass& pass);
  void ConsiderElementwise(const MeasuredPass& pass);

  // The bandwidth of the memory: that of the copy.
  const absl::optional<MeasuredPass>& memory_copy() const {
    return memory_passes[static_cast<size_t>(StreamPattern::kCopy)];
  }

  // Null: not measured in `type`.
  const MeasuredMatmul* MatmulIn(DataType type) const;
  const MeasuredMatmul* BurstIn(DataType type) const;

  // Where MatmulIn(type) is sustained, not stable, and more than 10 % slower than a stable burst:
  // that burst, which casts doubt on it. Else null.
  const MeasuredMatmul* FasterBurstIn(DataType type) const;

  // True where the rates that most plans use can be trusted: BurstIn() of bf16 (else fp16, else
  // fp32), of fp8 where that was measured, and memory_copy() are stable. Quick, standard and full
  // calibrations of a device have the same ones, so this compares them fairly. False where none of
  // them was measured.
  bool IsStable() const;

  // True where fewer than half of the points are stable: other work ran on the device, or the time
  // was too short for enough samples.
  bool HasFewStablePoints() const;

  // True where the device became more than 3 % slower or faster while it was measured: the limit
  // between the halves of one point's samples (docs/probe.md, "stable"), which the median over all
  // multiplications is less likely to pass by chance.
  bool HasDrifted() const;
};

// "sustained matmul 8192x8192x8192 by onednn 2.6.3, median of 12 samples, relative spread
// 0.004; measured 2026-01-31T12:00:00Z by sextant-probe 0.1.0"
std::string CitationOf(const DeviceCalibration& calibration, const MeasuredMatmul& matmul);

// "copy of 2147483648 bytes in main memory, ...", "16 fp32 multiply-adds an element of ...".
std::string CitationOf(const DeviceCalibration& calibration, const MeasuredPass& pass);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_CALIBRATION_H_
