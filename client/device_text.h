// Devices for people.
#ifndef SEXTANT_CLIENT_DEVICE_TEXT_H_
#define SEXTANT_CLIENT_DEVICE_TEXT_H_

#include <string>

#include "client/table.h"
#include "sextant/v1/device.pb.h"
#include "sextant/v1/hardware_service.pb.h"

namespace sextant {

// "AMD EPYC 9654 96-Core Processor"; words where the device does not say.
std::string DeviceTitle(const v1::Device& device);

// What `device` is, a name and its value a row of `table`; what it does not tell is left out.
void AddDeviceRows(const v1::Device& device, Table* table);

// Each device, and when it was measured.
std::string DevicesText(const v1::ListDevicesResponse& response);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_DEVICE_TEXT_H_
