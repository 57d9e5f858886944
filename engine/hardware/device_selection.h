// The devices that a request is about, as in sextant.v1.DeviceSelector.
#ifndef SEXTANT_ENGINE_HARDWARE_DEVICE_SELECTION_H_
#define SEXTANT_ENGINE_HARDWARE_DEVICE_SELECTION_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/base/note.h"
#include "engine/base/units.h"
#include "engine/hardware/accelerator.h"
#include "engine/hardware/device_model.h"
#include "engine/hardware/rates.h"

namespace sextant {

// The reason of errors about devices without usable measurements.
inline constexpr char kRatesNotMeasured[] = "RATES_NOT_MEASURED";

// The most devices of the host that a request names one by one.
inline constexpr int kMaxNamedDevices = 64;

// The most calibrations of a request: each is checked figure by figure.
inline constexpr int kMaxCalibrations = 16;

// A device of this host that a request names, and its measurements.
struct NamedDevice {
  absl::Status found;           // kNotFound DEVICE_UNKNOWN: the host has no such device
  absl::string_view uuid = "";  // empty where not found, like product_name
  absl::string_view product_name = "";
  std::shared_ptr<const DeviceModel> model = nullptr;  // null: never measured, or distrusted
  bool distrusted = false;                             // its last probe had a wrong result
  double age_seconds = 0;                              // of the measurements
};

// The rates that a fleet's metrics report for a request's named devices, or for a product.
struct FleetRates {
  // The slowest devices of each kind of rate: no other is slower. Or one, what is usual of the
  // product (RateSource::kMeasuredModel). Empty: nothing is known, and the accelerator stands in.
  std::vector<std::shared_ptr<const DeviceModel>> models = {};
  RateSource source = RateSource::kMeasuredDevice;
  int64_t device_count = 0;                 // that have measurements
  int64_t host_count = 0;                   // whose devices they are; 0: unknown
  int64_t oldest_unix_seconds = 0;          // of their measurements; 0: unknown
  double oldest_age_seconds = 0;            // at the call
  std::vector<std::string> unhealthy = {};  // devices with a wrong result: they are not counted
  std::vector<std::string> other_products = {};  // of the named ones, where none is of the product
  Bytes taken = Bytes(0);    // of the named devices' memory by processes now, where they hold most
  std::string missing = {};  // why the named devices, or the product, have no rates; empty: they do
  std::string failure = {};  // why nothing newer was read; empty: it has not been tried
  absl::optional<double> unread_seconds = {};  // since what is used was read; absent: just now
};

// At most one of accelerator, devices and calibrations; with `fleet` its product is the
// accelerator.
struct DeviceSelection {
  absl::string_view accelerator = "";     // the catalogue's name, where it has the product
  absl::string_view given_name = "";      // as the request spells it
  std::vector<NamedDevice> devices = {};  // host_devices.devices
  // The caller's calibrations, never null; an invalid one is empty.
  std::vector<std::shared_ptr<const DeviceModel>> calibrations = {};
  absl::optional<FleetRates> fleet = {};

  // True where it names nothing.
  bool empty() const { return accelerator.empty() && named_count() == 0; }

  // The number of devices named one by one, by themselves or by their calibrations.
  size_t named_count() const { return devices.size() + calibrations.size(); }

  // The measurements of those devices, without devices that have none, and of the fleet's. Pointers
  // live as long as the selection.
  std::vector<const DeviceModel*> models() const;

  // The number of devices that those measurements are known to be of; all of a product's, of which
  // the usual rates are known.
  int64_t measured_count(int64_t device_count) const;

  // Memory that processes hold now, of the named device of which they hold the most; 0 also where
  // that is not known.
  Bytes TakenBytes() const { return fleet.has_value() ? fleet->taken : Bytes(0); }

  // The source of those measurements.
  RateSource source() const {
    if (fleet.has_value()) return fleet->source;
    return devices.empty() ? RateSource::kMeasuredSupplied : RateSource::kMeasuredDevice;
  }

  // The request's fields of the list of those devices and of one of them, where the selector's
  // field is `path`.
  std::string ListField(absl::string_view path) const;
  std::string FieldOf(size_t index, absl::string_view path) const;
};

// Adds a violation of `path`, the field of a required selection, where it names nothing and no
// violation at or below `path` says why.
void RequireSelection(const DeviceSelection& selection, absl::string_view path,
                      FieldViolations& violations);

// Appends to `violations` devices that are named twice or are of another product than the first.
void CheckSelection(const DeviceSelection& selection, absl::string_view path,
                    FieldViolations& violations);

// A name of a request that nothing has.
struct UnknownName {
  std::string field;
  absl::Status status;
};

// Returns the accelerator that `selection` names; null where it names none or an unknown one.
// Appends unknown accelerators and devices to `unknown`.
const Accelerator* FindSelected(const DeviceSelection& selection, absl::string_view path,
                                std::vector<UnknownName>& unknown);

// An unknown name is kNotFound, with its field, where it is the request's only error. With other
// errors it is one more violation, so that all can be fixed at once.
absl::Status StatusOfAll(const std::vector<UnknownName>& unknown, FieldViolations& violations);

// Says that `device` was never measured, or that its last probe had a wrong result. Absent where it
// has measurements. `instead` is the alternative: "plan by cluster.device.accelerator".
absl::optional<std::string> UnmeasuredText(const NamedDevice& device, absl::string_view instead);

// Whose rates a fleet's are, and what is doubtful about them; nothing without a fleet. `field` is
// the selector's; `assumptions`: also what is not a warning.
void AppendFleetNotes(const DeviceSelection& selection, absl::string_view field, bool assumptions,
                      Notes& out);

// Returns OK, or kFailedPrecondition RATES_NOT_MEASURED with a PreconditionViolation for each
// device of the host that has no measurements.
absl::Status CheckMeasured(const DeviceSelection& selection, absl::string_view instead);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_DEVICE_SELECTION_H_
