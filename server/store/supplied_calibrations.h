// The calibrations that requests carry, kept as models for later requests.
#ifndef SEXTANT_SERVER_STORE_SUPPLIED_CALIBRATIONS_H_
#define SEXTANT_SERVER_STORE_SUPPLIED_CALIBRATIONS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/hardware/device_model.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::server {

// Thread-safe; readers never block. A scheduler sends the same calibrations with every request, and
// reading, checking and fitting one takes milliseconds. A model is found by all bytes of its
// calibration, so that the cache changes the time of an answer but not its content.
//
// Keeps kSetCount x kWayCount models at most, each of a calibration of up to kMaxKeptBytes.
class SuppliedCalibrations {
 public:
  static constexpr size_t kSetCount = 32;
  static constexpr size_t kWayCount = 4;
  static constexpr size_t kMaxKeptBytes = size_t{1} << 20;

  // Returns the model of `calibration`. Where the calibration is invalid, appends the reasons to
  // `violations`, under paths that start with `path`, and returns an empty model. Where
  // `violations` already has more than an answer names, returns an empty one without reading it.
  // Never null.
  std::shared_ptr<const DeviceModel> ModelOf(const v1::Calibration& calibration,
                                             absl::string_view path, FieldViolations& violations);

 private:
  struct Kept {
    std::string bytes;
    std::shared_ptr<const DeviceModel> model;
  };
  using Slot = std::atomic<std::shared_ptr<const Kept>>;

  std::array<std::array<Slot, kWayCount>, kSetCount> sets_;
  std::atomic<uint32_t> next_way_ = 0;  // the entry that a full set replaces
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_STORE_SUPPLIED_CALIBRATIONS_H_
