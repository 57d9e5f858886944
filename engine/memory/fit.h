// Verdicts on memory, and the fit of a run's state and activations when sharded evenly over all
// devices.
#ifndef SEXTANT_ENGINE_MEMORY_FIT_H_
#define SEXTANT_ENGINE_MEMORY_FIT_H_

#include <cstdint>

#include "absl/types/optional.h"
#include "engine/base/units.h"

namespace sextant {

// The most memory of one device: every count of a plan fits an int64.
inline constexpr int64_t kMaxDeviceMemoryBytes = 10'000'000'000'000;

// From the best to the worst, kStateFits aside.
enum class Verdict {
  kFits,
  kTight,  // open: the chance lies between the thresholds, or the server's memory is nearly full
  kDoesNotFit,
  kStateFits,  // only model state was counted, and that fits
};

// Where a device's capacity comes from.
enum class CapacitySource { kRequest, kReported, kNominal };

// The memory of one device.
struct DeviceCapacity {
  Bytes capacity = Bytes(0);
  CapacitySource source = CapacitySource::kNominal;
  // By the driver or host of the measured device, else by drivers of its product; absent: unknown.
  absl::optional<Bytes> reported = {};
  absl::optional<Bytes> nominal = {};  // the datasheet's; absent: not in the catalogue
  // The part of `capacity` that the driver gives to no process; 0 where `capacity` is without it,
  // or the part is unknown.
  Bytes driver_reserved = Bytes(0);
  Bytes reserved = Bytes(0);  // not the run's
  bool taken = false;         // `reserved` is what processes hold now, not the request's

  Bytes usable() const { return capacity - driver_reserved - reserved; }
  // Keeps `given` bytes from the run, or else those that processes hold. Full devices leave a byte,
  // so that the run is one that does not fit. Call once.
  void Reserve(absl::optional<int64_t> given, Bytes held);
};

// Chances from which, and below which, an estimate is a verdict. The defaults are the ends of the
// interval, an 80 % one.
struct FitThresholds {
  double fits = 0.9;
  double does_not_fit = 0.1;
};

// The bytes to hold and the devices to hold them. All at least 0; device_count at least 1.
struct FitInput {
  Bytes model_state;
  Bytes activations;        // of the whole job
  Bytes usable_per_device;  // memory minus the reserve; at least 1
  int64_t device_count = 1;
  int64_t parameter_count = 1;  // of model_state; at least 1
};

struct Fit {
  Bytes total;       // model state + activations
  Bytes per_device;  // total / devices, rounded up
  Bytes headroom;    // usable - per device; negative where it does not fit
  int64_t minimum_device_count = 0;
  int64_t largest_parameter_count = 0;

  bool fits() const { return headroom >= Bytes(0); }
};

// total = state + activations
// per_device = ceil(total / n): every tensor divided evenly, as ZeRO stage 3 and FSDP divide
//   model state between gathers
// minimum_device_count = ceil(total / usable)
// largest_parameter_count = floor((n x usable - activations) x parameters / state), at the
//   model's own bytes per parameter; 0 where activations alone fill the devices
//
// Source: Rajbhandari et al. 2020 (arXiv 1910.02054) section 5.3, P_os+g+p; docs/memory.md, "Fit".
// The caller has checked that model_state + activations fit an int64; n x usable may exceed it.
Fit FitOf(const FitInput& input);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_FIT_H_
