// A device, and the time of its measurement, as text.
#ifndef SEXTANT_PROTO_TEXT_DEVICE_TEXT_H_
#define SEXTANT_PROTO_TEXT_DEVICE_TEXT_H_

#include <google/protobuf/timestamp.pb.h>

#include <string>

#include "absl/time/time.h"
#include "proto/text/table.h"
#include "sextant/v1/device.pb.h"

namespace sextant::text {

// "AMD EPYC 9654 96-Core Processor"; a placeholder where the device reports no name.
std::string DeviceTitle(const v1::Device& device);

// Adds rows of a name and a value to `table`, for the properties that `device` reports.
void AddDeviceRows(const v1::Device& device, Table* table);

// Title and rows, for a GPU with its compute capability and driver.
std::string DeviceText(const v1::Device& device);

// "2026-11-21 12:00:00 UTC".
std::string InstantText(const google::protobuf::Timestamp& instant);

// Seconds from `instant` to `now`.
double AgeSeconds(const google::protobuf::Timestamp& instant, absl::Time now);

// "45 s ago", "12.0 minutes ago", "3.2 hours ago", "5.1 days ago"; a sentence for an age below 0,
// where two clocks disagree.
std::string AgeText(double age_seconds);

}  // namespace sextant::text

#endif  // SEXTANT_PROTO_TEXT_DEVICE_TEXT_H_
