// A device of which a few rates are known and no kernels: a GPU of a fleet, by its metrics.
#ifndef SEXTANT_ENGINE_HARDWARE_KNOWN_RATES_H_
#define SEXTANT_ENGINE_HARDWARE_KNOWN_RATES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "engine/hardware/accelerator.h"
#include "engine/hardware/device_model.h"

namespace sextant {

// The known rates of a device. Each is above 0; absent ones are unknown.
struct KnownRates {
  std::string uuid = {};                     // empty: no device, but what is usual of its product
  std::string hostname = {};                 // of its host; empty: unknown
  std::string product_name = {};             // as the device reports itself
  const Accelerator* accelerator = nullptr;  // its datasheet; never null
  std::string origin = {};  // who measured them, for citations: "its host, by the fleet's metrics"
  int64_t measured_unix_seconds = 0;
  bool stable = true;                              // the samples of its rates agreed
  absl::optional<Bytes> memory = {};               // absent: the product's
  absl::optional<FlopsPerSecond> bf16_burst = {};  // the fastest large product
  absl::optional<FlopsPerSecond> bf16_sustained = {};
  absl::optional<FlopsPerSecond> fp8_sustained = {};
  absl::optional<BytesPerSecond> memory_copy = {};  // read plus written
  absl::optional<BytesPerSecond> copy_to_device = {};
  absl::optional<BytesPerSecond> copy_from_device = {};
};

// The model of a device of the product of `curves`: its kernels take
//
//   t = t_curves (b + (w - b) s),  s the share of arithmetic in a kernel's time
//   w = burst of the curves / burst of the device, in bf16
//   b = copy rate of the curves / that of the device
//
// so that a large product, and a pass over memory, run at the known rates. In fp8 w is of the
// sustained rates. Without a burst w is of the sustained ones, too; without a rate of copies b is
// 1. A burst and a sustained rate give its slowdown in long runs; otherwise the curves' is used.
// Rates in other types are the curves' divided by w. Source: docs/fleet.md, "From rates to
// kernels".
//
// Errors: kInvalidArgument for neither rate in bf16, for a rate that is not a number from 1 to 1e18
// or more than kMaxOfPeak of the datasheet's, for memory that is not 2^30 to 1e13 bytes, and for
// curves of another product or without products in bf16; those of the curves' fits.
absl::StatusOr<std::shared_ptr<const DeviceModel>> DeviceOfRates(
    const KnownRates& rates, std::shared_ptr<const DeviceModel> curves);

// The better curves of one product: `measured` models of it with multiplications enough to fit, of
// which the one with the most points counts, or else what is published of `accelerator`.
std::shared_ptr<const DeviceModel> BestCurvesOf(
    const Accelerator& accelerator, absl::Span<const std::shared_ptr<const DeviceModel>> measured);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KNOWN_RATES_H_
