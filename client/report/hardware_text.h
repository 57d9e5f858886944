// The hardware service's answers for people: the catalogue's accelerators, kinds of servers and
// networks, devices of the server's host and their calibrations.
#ifndef SEXTANT_CLIENT_REPORT_HARDWARE_TEXT_H_
#define SEXTANT_CLIENT_REPORT_HARDWARE_TEXT_H_

#include <string>

#include "sextant/v1/hardware_service.pb.h"

namespace sextant::client {

// One accelerator a line, with the figures that planning uses.
std::string AcceleratorTable(const v1::ListAcceleratorsResponse& response);

// Every figure of every accelerator, each with its source.
std::string AcceleratorSources(const v1::ListAcceleratorsResponse& response);

// Kinds of servers, and networks, one a line.
std::string NodeTypeTable(const v1::ListNodeTypesResponse& response);

// Every figure of each, with its source; networks only where several kinds of servers are listed.
std::string NodeTypeSources(const v1::ListNodeTypesResponse& response);

// Each device of the server's host, and when it was measured.
std::string DevicesText(const v1::ListDevicesResponse& response);

// A calibration that the server holds.
std::string HeldCalibrationText(const v1::GetCalibrationResponse& response);

// A calibration that was just measured, and whether the server kept it.
std::string ProbeResultText(const v1::RunProbeResponse::Result& result);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_HARDWARE_TEXT_H_
