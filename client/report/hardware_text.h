// Hardware for people: the catalogue, devices and their calibrations, times of kernels and
// exchanges over their sizes, number formats.
#ifndef SEXTANT_CLIENT_REPORT_HARDWARE_TEXT_H_
#define SEXTANT_CLIENT_REPORT_HARDWARE_TEXT_H_

#include <string>

#include "client/report/rates_text.h"
#include "sextant/v1/accounting_service.pb.h"
#include "sextant/v1/hardware_service.pb.h"
#include "sextant/v1/kernel.pb.h"

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

// A picture and a table of each kind of kernel, and the sources of the times. Here and below
// `words` names the request's fields.
std::string KernelRatesText(const v1::GetKernelRatesResponse& response, FieldWords words);

// A picture of the exchanges' bus bandwidth, a table an operation, and the sources of the times.
std::string LinkTimesText(const v1::GetLinkTimesResponse& response, FieldWords words);

// "40 measured shapes, each unseen: 3.10 % off in the median, 8.00 % at the 90th percentile"; ""
// without shapes.
std::string PredictionErrorText(const v1::PredictionError& error);

// "measured shapes around it", "datasheet, published share".
std::string KernelBasisText(v1::KernelBasis basis);

// All formats, one layout a line.
std::string NumberFormatTable(const v1::ListDataTypesResponse& response);

// One format in full, and the request's numbers rounded to it.
std::string NumberFormatText(const v1::DescribeDataTypeResponse& response);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_HARDWARE_TEXT_H_
