// A Calibration of the wire: whether it makes sense, its name, and the model of its device.
#ifndef SEXTANT_SERVER_CONVERT_CALIBRATION_H_
#define SEXTANT_SERVER_CONVERT_CALIBRATION_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "engine/base/field_violation.h"
#include "engine/hardware/device_model.h"
#include "server/convert/enum_pair.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::server {

// Appends to `violations` what is wrong with `calibration`, under paths that start with `path`
// (e.g. "cluster.device.calibrations.calibrations[0]"): a schema that this version does not read,
// missing fields, figures out of range, rates that are not what their own shapes and times give.
// After the first few dozen violations it looks no further. What the server fills is not looked at.
void CheckCalibration(const v1::Calibration& calibration, absl::string_view path,
                      FieldViolations& violations);

// How far another host's clock may be ahead of this one's.
inline constexpr absl::Duration kMaxClockSkew = absl::Minutes(5);

// Adds a violation of measured_time below `path` where `calibration` was measured more than
// kMaxClockSkew after `now`: one of the two clocks is wrong, and nothing says which.
void CheckNotAhead(const v1::Calibration& calibration, absl::string_view path, absl::Time now,
                   FieldViolations& violations);

// A fingerprint that is equal for equal measurements; the fields that the server fills do not
// count.
std::string CalibrationFingerprint(const v1::Calibration& calibration);

// The device of a calibration that CheckCalibration() found in order. Never null.
std::shared_ptr<const DeviceModel> DeviceModelFrom(const v1::Calibration& calibration,
                                                   std::string fingerprint);

// CheckCalibration() and DeviceModelFrom(). Returns an empty model where the check finds a
// violation, or where `violations` already has more than is useful to add to.
std::shared_ptr<const DeviceModel> CheckedModelFrom(const v1::Calibration& calibration,
                                                    absl::string_view path,
                                                    FieldViolations& violations);

// Shapes that a calibration names.
AttentionShape ShapeFrom(const v1::AttentionMeasurement& wire);
GroupedMatmulShape ShapeFrom(const v1::ExpertsMeasurement& wire);

using CollectiveOpPair = OneLater<CollectiveOp::kSendReceive, v1::CollectiveOperation_MAX>;

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_CALIBRATION_H_
