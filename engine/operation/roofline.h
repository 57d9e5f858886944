// What an operation takes on a device: its two roofs, and the launches.
#ifndef SEXTANT_ENGINE_OPERATION_ROOFLINE_H_
#define SEXTANT_ENGINE_OPERATION_ROOFLINE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "engine/operation/cost.h"

namespace sextant {

// Of one device, peak or measured.
struct DeviceRates {
  FlopsPerSecond matrix = {};                   // matrix products, in the operation's types
  absl::optional<FlopsPerSecond> general = {};  // all other arithmetic; absent: as matrix
  BytesPerSecond memory = {};                   // read plus write
  Seconds launch = {};                          // of one kernel that hides behind no other
};

// How a kernel's compute time c and memory time m make its time.
enum class RooflineMethod {
  kSmooth,     // (c^p + m^p)^(1/p), p = kRooflineExponent
  kClassical,  // max(c, m): the two overlap without loss
};

// max(c, m) <= (c^p + m^p)^(1/p) <= c + m for every p >= 1: between perfect overlap (p to
// infinity, the classical roofline) and none (p = 1). Far from the ridge the smaller of the
// two adds 1/p of its ratio's p-th power; at the ridge a kernel takes 2^(1/p) of either.
// p = 2: 41 % more at the ridge. Measured bf16 products of H100 and H200 whose two times are
// within a factor of 3 are off by 6 % in the median with p = 2, and by 12 % and 15 % with the
// classical roofline, which is too fast; docs/roofline.md.
inline constexpr double kRooflineExponent = 2;

// "smooth", "classical".
absl::string_view RooflineMethodName(RooflineMethod method);

enum class RooflineBound { kCompute, kMemory };

struct Roofline {
  RooflineBound bound = RooflineBound::kMemory;  // of the two times, the longer
  absl::optional<double> intensity;              // FLOPs a byte; absent where nothing moves
  double ridge = 0;                              // FLOPs a byte from which compute bounds
  Seconds compute;                               // all arithmetic at its rate
  Seconds memory;                                // all bytes at the memory's rate
  Seconds launch = {};                           // one a kernel
  Seconds time;                                  // by the method asked for, launches included
  Seconds classical;                             // by kClassical: the least it can take
  double fraction_of_peak = 0;                   // compute / time
};

// Each step of `cost` is one kernel: its two times are joined by `method`, and kernels follow
// one another. Products and other arithmetic of one kernel are taken one after the other.
// The default is kSmooth, since no kernel reaches both roofs at once.
//
//   ridge = rate / memory rate, rate = FLOPs / compute time (the mixture of both rates)
//
// Source: Williams, Waterman, Patterson, CACM 52(4), 2009, for the classical roofline;
// docs/roofline.md for the smooth one. Copies to and from the host have another road: see
// TimeOf(HostCopy).
//
// Errors: kInvalidArgument "matrix_flops_per_second", "general_flops_per_second",
// "memory_bytes_per_second" unless above 0 and at most 1e24; "launch_seconds" unless 0 to 1.
absl::StatusOr<Roofline> RooflineOf(const OperationCost& cost, const DeviceRates& rates,
                                    RooflineMethod method = RooflineMethod::kSmooth);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_ROOFLINE_H_
