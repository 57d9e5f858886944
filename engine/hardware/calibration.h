// What was measured of one device, as far as plans use it.
#ifndef SEXTANT_ENGINE_HARDWARE_CALIBRATION_H_
#define SEXTANT_ENGINE_HARDWARE_CALIBRATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "engine/hardware/accelerator.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// One measured matrix multiplication, C[m,n] = A[m,k] B[k,n].
struct MeasuredMatmul {
  DataType data_type = DataType::kUnspecified;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  FlopsPerSecond rate;         // 2 m n k over the median time; 1 to 1e18
  double relative_spread = 0;  // 1.4826 x median absolute deviation / median
  int64_t sample_count = 0;
  bool stable = false;       // enough samples agreed
  bool sustained = false;    // for a second or more without a pause; else a short burst
  absl::string_view engine;  // the library, e.g. "onednn 2.6.3"
};

// A rate that one pass over memory showed, in bytes or FLOPs a second.
struct MeasuredPass {
  double per_second = 0;       // 1 to 1e18
  int64_t array_bytes = 0;     // of each array
  int64_t multiply_adds = 0;   // an element; of an elementwise pass
  double relative_spread = 0;  // 1.4826 x median absolute deviation / median
  int64_t sample_count = 0;
  bool stable = false;
};

struct RateSeen {
  double rate = 0;  // of either in the same unit
  bool stable = false;
};

// Whether `x` says more of a device than `y`: one whose samples agree, where it is at most 10 %
// slower than one whose samples don't; else the faster.
bool IsBetterRate(const RateSeen& x, const RateSeen& y);

// One device's calibration. Whoever reads it from outside has checked its figures: they are
// finite and in the ranges named here. Texts are views.
struct DeviceCalibration {
  absl::string_view uuid;
  absl::string_view product_name;            // as the device reports itself
  bool processor = false;                    // a host's CPUs, not an accelerator
  const Accelerator* accelerator = nullptr;  // its datasheet; null: not in the catalogue
  Bytes memory;                              // as the host reports it; 1 to 1e15
  int64_t compute_unit_count = 0;  // multiprocessors or cores, as the host reports; 0: not known
  int64_t measured_unix_seconds = 0;
  absl::string_view probe_version;  // e.g. "sextant-probe 0.1.0"
  std::string fingerprint;
  double coverage_ratio = 1;  // of the planned points; below 1 it is partial

  // The multiplication that the rate of each data type is taken from; see Consider().
  absl::InlinedVector<MeasuredMatmul, 3> matmuls;
  // The fastest stable burst of each data type, beside which a sustained rate may look slow.
  absl::InlinedVector<MeasuredMatmul, 3> stable_bursts;
  // The fastest copy within main memory, in bytes read plus written; see ConsiderCopy().
  absl::optional<MeasuredPass> memory_copy = {};
  // The fastest fp32 multiply-adds on an array, in FLOP/s: general arithmetic.
  absl::optional<MeasuredPass> elementwise = {};
  // Others whose shapes somebody asked for: however fast, they are not the device's best.
  int64_t requested_matmul_count = 0;

  // Keeps `matmul` if it says more than what is kept of its type: sustained before burst,
  // then stable, where it is at most 10 % slower than one that is not; then the faster.
  void Consider(const MeasuredMatmul& matmul);

  // Keeps `pass` if IsBetterRate().
  void ConsiderCopy(const MeasuredPass& pass);
  void ConsiderElementwise(const MeasuredPass& pass);

  // Null: none was measured in `type`.
  const MeasuredMatmul* MatmulIn(DataType type) const;

  // Where MatmulIn(type) is sustained, not stable, and more than 10 % slower than a stable burst:
  // that burst, which casts doubt on it. Else null.
  const MeasuredMatmul* FasterBurstIn(DataType type) const;
};

// "sustained matmul 8192x8192x8192 by onednn 2.6.3, median of 12 samples, relative spread
// 0.004; measured 2026-01-31T12:00:00Z by sextant-probe 0.1.0"
std::string CitationOf(const DeviceCalibration& calibration, const MeasuredMatmul& matmul);

// "copy of 2147483648 bytes in main memory, ...", "16 fp32 multiply-adds an element of ...".
std::string CitationOf(const DeviceCalibration& calibration, const MeasuredPass& pass);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_CALIBRATION_H_
