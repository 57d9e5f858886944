// The API's enums as people write them: "bf16" for DATA_TYPE_BF16.
#ifndef SEXTANT_GPU_PROBE_ENUM_TEXT_H_
#define SEXTANT_GPU_PROBE_ENUM_TEXT_H_

#include <string>

#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/data_type.pb.h"
#include "sextant/v1/probe.pb.h"

namespace sextant {

std::string EnumText(v1::DataType type);                             // "bf16"
std::string EnumText(v1::ProbeMode mode);                            // "standard"
std::string EnumText(v1::StreamMeasurement::Operation operation);    // "copy"
std::string EnumText(v1::AttentionMeasurement::Pass pass);           // "forward"
std::string EnumText(v1::CollectiveOperation operation);             // "all_reduce"
std::string EnumText(v1::HostCopyMeasurement::Direction direction);  // "host_to_device"
std::string EnumText(v1::MatmulMeasurement::Layout layout);          // "row_by_row"
std::string EnumText(v1::LaunchMeasurement::Kind kind);              // "graph"

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_ENUM_TEXT_H_
