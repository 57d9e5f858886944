#include "gpu_probe/enum_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace sextant {
namespace {

std::string WithoutPrefix(absl::string_view name, absl::string_view prefix) {
  absl::ConsumePrefix(&name, prefix);
  return absl::AsciiStrToLower(name);
}

}  // namespace

std::string EnumText(v1::DataType type) {
  return WithoutPrefix(v1::DataType_Name(type), "DATA_TYPE_");
}

std::string EnumText(v1::ProbeMode mode) {
  return WithoutPrefix(v1::ProbeMode_Name(mode), "PROBE_MODE_");
}

std::string EnumText(v1::StreamMeasurement::Operation operation) {
  return WithoutPrefix(v1::StreamMeasurement::Operation_Name(operation), "OPERATION_");
}

std::string EnumText(v1::AttentionMeasurement::Pass pass) {
  return WithoutPrefix(v1::AttentionMeasurement::Pass_Name(pass), "PASS_");
}

std::string EnumText(v1::CollectiveOperation operation) {
  return WithoutPrefix(v1::CollectiveOperation_Name(operation), "COLLECTIVE_OPERATION_");
}

std::string EnumText(v1::HostCopyMeasurement::Direction direction) {
  return WithoutPrefix(v1::HostCopyMeasurement::Direction_Name(direction), "DIRECTION_");
}

std::string EnumText(v1::MatmulMeasurement::Layout layout) {
  // Unspecified is that as well.
  return layout == v1::MatmulMeasurement::LAYOUT_UNSPECIFIED
             ? "row_by_column"
             : WithoutPrefix(v1::MatmulMeasurement::Layout_Name(layout), "LAYOUT_");
}

std::string EnumText(v1::LaunchMeasurement::Kind kind) {
  return WithoutPrefix(v1::LaunchMeasurement::Kind_Name(kind), "KIND_");
}

}  // namespace sextant
