// The time of an operation on a device by its two ceilings and its launches, with advice; the time
// of a copy between host and device; and the utilisation that an achieved time is.
#ifndef SEXTANT_ENGINE_OPERATION_ROOFLINE_H_
#define SEXTANT_ENGINE_OPERATION_ROOFLINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/note.h"
#include "engine/base/units.h"
#include "engine/operation/analysis.h"
#include "engine/operation/cost.h"
#include "engine/operation/operation.h"

namespace sextant {

// The rates of one device, peak or measured.
struct DeviceRates {
  // Matrix products in the operation's types; absent: unknown, for operations without any.
  absl::optional<FlopsPerSecond> matrix = {};
  // All other arithmetic; absent: the matrix rate, or no time where that is absent, too.
  absl::optional<FlopsPerSecond> general = {};
  BytesPerSecond memory = {};  // read plus write
  Seconds launch = {};         // of one kernel that overlaps with no other
};

// The rule that combines a kernel's compute time c and memory time m.
enum class RooflineMethod {
  kSmooth,     // (c^p + m^p)^(1/p), p = kRooflineExponent
  kClassical,  // max(c, m): perfect overlap
};

// max(c, m) <= (c^p + m^p)^(1/p) <= c + m for every p >= 1: between perfect overlap (p to
// infinity, the classical roofline) and none (p = 1). Far from the ridge the smaller time adds 1/p
// of its ratio's p-th power; at the ridge a kernel takes 2^(1/p) of either. p = 2: 41 % more at
// the ridge. For measured bf16 products of H100 and H200 whose two times are within a factor of 3,
// the median error is 6 % with p = 2, and 12 % and 15 % with the classical roofline, which is too
// fast; docs/kernels.md, "Roofline".
inline constexpr double kRooflineExponent = 2;

enum class RooflineBound { kCompute, kMemory };

struct Roofline {
  RooflineBound bound = RooflineBound::kMemory;  // the longer of the two times
  absl::optional<double> intensity;              // FLOPs per byte; absent where nothing moves
  double ridge = 0;             // FLOPs per byte above which compute bounds; 0: no rate is known
  Seconds compute;              // all arithmetic at its rate
  Seconds memory;               // all bytes at the memory's rate
  Seconds launch = {};          // once per kernel
  Seconds time;                 // by the given method, launches included
  Seconds classical;            // by kClassical: a lower bound
  double fraction_of_peak = 0;  // compute / time
};

// Each step of `cost` is one kernel: `method` combines its two times, and kernels run in sequence.
// Products and other arithmetic of one kernel are added. The default is kSmooth, because no kernel
// reaches both ceilings at once.
//
//   ridge = rate / memory rate, rate = FLOPs / compute time (the mixture of both rates)
//
// Source: Williams, Waterman, Patterson, CACM 52(4), 2009, for the classical roofline;
// docs/kernels.md, "Roofline" for the smooth one. Copies to and from the host use another link: see
// TimeOf(HostCopy).
//
// Errors: kInvalidArgument "matrix_flops_per_second", "general_flops_per_second",
// "memory_bytes_per_second" unless 1 to 1e24, the first also where it is absent and
// `cost` has matrix products; "launch_seconds" unless 0 to 1.
absl::StatusOr<Roofline> RooflineOf(const OperationCost& cost, const DeviceRates& rates,
                                    RooflineMethod method = RooflineMethod::kSmooth);

// The time of a copy between host and device. Pinned memory is sent directly, and both times are
// bytes / link. Pageable memory is first copied into pinned memory: in sequence at worst; in
// overlapping chunks it approaches the slower of the two. As measured, both times are bytes /
// staged.
struct HostCopyTime {
  Seconds no_overlap;    // bytes / staging + bytes / link
  Seconds full_overlap;  // the larger of the two
};

// Source: NVIDIA's CUDA C++ Best Practices Guide, "Pinned Memory": transfers from pageable
// memory go through a pinned buffer. `copy` has passed CheckOperation().
HostCopyTime TimeOf(const HostCopy& copy);

// The fewest rows m (of a matmul, of each product of a batched one, or of a linear layer), or
// tokens of an expert layer, at which `rates` make it compute-bound. Absent where none up to
// kMaxDimension do, and for operations without such rows. Found by bisection: arithmetic grows
// proportionally with the rows and bytes grow slower, so the intensity only grows.
absl::optional<int64_t> RowsAtRidge(const OperationRequest& request, const DeviceRates& rates);

// sextant.v1.AdviceKind says what each means and which values it has. The order is the same.
enum class AdviceKind {
  kOverlapCopy,
  kPinHostMemory,
  kFewerLaunches,
  kMoreRows,
  kFuse,
  kFewerBytes,
  kLessArithmetic,
};

struct Advice {
  AdviceKind kind;
  std::string text;  // one sentence
  std::vector<NoteValue> values = {};
};

// Advice on the time of `request`; `analysis` is that of `request`. Errors: those of RooflineOf().
absl::StatusOr<Advice> AdviceFor(const OperationRequest& request, const OperationAnalysis& analysis,
                                 const DeviceRates& rates);

struct AchievedTime {
  Flops flops = {};  // of the model, without recomputation
  Seconds time = {};
  FlopsPerSecond peak = {};  // of one device, dense
  int64_t device_count = 1;
};

enum class UtilisationReading {
  kImpossible,  // above 1
  kGood,        // from 0.5
  kUsual,       // from 0.3
  kLow,         // from 0.1
  kWaiting,     // below
};

struct Utilisation {
  double ratio = 0;  // flops / (time x peak x devices)
  UtilisationReading reading = UtilisationReading::kWaiting;
  absl::string_view explanation;  // one or two sentences
};

// Source: Chowdhery et al. 2022 (arXiv 2204.02311) appendix B defines MFU. The bands are
// rules of thumb: published runs of dense models report 0.3 to 0.6.
//
// Errors: kInvalidArgument "flops" unless 0 to 1e40, "seconds" unless 1e-15 to 1e24,
// "peak_flops_per_second" unless 1 to 1e24, "device_count" unless 1 to 1e9.
absl::StatusOr<Utilisation> UtilisationOf(const AchievedTime& achieved);

// Interprets `utilisation` of an operation with that roofline. A memory-bound operation has a low
// utilisation even at its best, which does not mean that it waits.
std::string ExplanationOf(const Utilisation& utilisation, const Roofline& roofline,
                          Seconds achieved);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_ROOFLINE_H_
