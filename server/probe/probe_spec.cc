#include "server/probe/probe_spec.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/device_selection.h"
#include "server/convert/enums.h"
#include "server/convert/message_fields.h"
#include "server/store/device_names.h"

namespace sextant::server {
namespace {

using Devices = std::vector<const v1::Device*>;

constexpr int kMaxShapes = 16;
constexpr int64_t kMaxShapeDimension = 1'000'000;

void CheckMode(v1::ProbeMode mode, FieldViolations& violations) {
  if (v1::ProbeMode_IsValid(mode)) return;
  violations.Add("mode", check::UnknownEnumNumber(mode));
}

// The data types that a kind of device multiplies, as values and as an error's text.
struct DeviceTypes {
  std::vector<v1::DataType> types;
  const char* text;
};

const DeviceTypes& TypesOf(v1::DeviceKind kind) {
  static const auto* const processor =
      new DeviceTypes{{v1::DATA_TYPE_FP32, v1::DATA_TYPE_BF16, v1::DATA_TYPE_INT8},
                      "must be FP32, BF16 or INT8, as a processor is among the devices"};
  static const auto* const gpu =
      new DeviceTypes{{v1::DATA_TYPE_FP64, v1::DATA_TYPE_FP32, v1::DATA_TYPE_TF32,
                       v1::DATA_TYPE_FP16, v1::DATA_TYPE_BF16, v1::DATA_TYPE_INT8,
                       v1::DATA_TYPE_FP8_E4M3, v1::DATA_TYPE_MXFP8, v1::DATA_TYPE_NVFP4},
                      "must be FP64, FP32, TF32, FP16, BF16, INT8, FP8_E4M3, MXFP8 or NVFP4"};
  return kind == v1::DEVICE_KIND_GPU ? *gpu : *processor;
}

bool IsMultiplied(const DeviceTypes& by, v1::DataType type) {
  return std::find(by.types.begin(), by.types.end(), type) != by.types.end();
}

void CheckShapes(const v1::RunProbeRequest& request, const Devices& devices,
                 FieldViolations& violations) {
  if (request.matmuls_size() > kMaxShapes) {
    violations.Add("matmuls", absl::StrCat("must be at most ", kMaxShapes, " shapes, not ",
                                           request.matmuls_size()));
    return;
  }
  const DeviceTypes& gpu = TypesOf(v1::DEVICE_KIND_GPU);
  for (int i = 0; i < request.matmuls_size(); ++i) {
    const v1::MatmulShape& shape = request.matmuls(i);
    const std::string path = absl::StrCat("matmuls[", i, "]");
    const auto without =
        std::find_if(devices.begin(), devices.end(), [&](const v1::Device* device) {
          return !IsMultiplied(TypesOf(device->kind()), shape.data_type());
        });
    if (without != devices.end()) {
      violations.Add(FieldPath(path, "data_type"), TypesOf((*without)->kind()).text);
    } else if (!IsMultiplied(gpu, shape.data_type())) {  // GPUs have all types that any device has
      violations.Add(FieldPath(path, "data_type"), gpu.text);
    }
    violations.Require(path, "m", shape.m(), 1, kMaxShapeDimension);
    violations.Require(path, "n", shape.n(), 1, kMaxShapeDimension);
    violations.Require(path, "k", shape.k(), 1, kMaxShapeDimension);
  }
}

// Appends unknown devices to `unknown`, all other violations to `violations`.
void CheckDevices(const v1::RunProbeRequest& request, const CalibrationSnapshot& host,
                  FieldViolations& violations, std::vector<UnknownName>& unknown) {
  if (request.devices_size() > kMaxNamedDevices) {
    violations.Add("devices", absl::StrCat("must be at most ", kMaxNamedDevices, " devices, not ",
                                           request.devices_size()));
    return;
  }
  for (int i = 0; i < request.devices_size(); ++i) {
    const std::string& name = request.devices(i);
    const std::string field = absl::StrCat("devices[", i, "]");
    if (!RequireDeviceName(name, field, violations) || host.FindDevice(name) != nullptr) continue;
    unknown.push_back({field, UnknownDevice(name, host.devices)});
  }
}

// Returns the devices that the request names, each once; where it names none, the host's GPUs, or
// all devices of a host without GPUs.
Devices DevicesOf(const v1::RunProbeRequest& request, const CalibrationSnapshot& host) {
  const bool has_gpu =
      std::any_of(host.devices.begin(), host.devices.end(),
                  [](const v1::Device& device) { return device.kind() == v1::DEVICE_KIND_GPU; });
  Devices out;
  for (const v1::Device& device : host.devices) {
    const auto names_it = [&](const std::string& name) { return host.FindDevice(name) == &device; };
    const auto& names = request.devices();
    const bool meant = names.empty() ? !has_gpu || device.kind() == v1::DEVICE_KIND_GPU
                                     : std::any_of(names.begin(), names.end(), names_it);
    if (meant) out.push_back(&device);
  }
  return out;
}

absl::Status Check(const v1::RunProbeRequest& request, const CalibrationSnapshot& host) {
  FieldViolations violations;
  std::vector<UnknownName> unknown;
  CheckMode(request.mode(), violations);
  CheckDevices(request, host, violations, unknown);
  CheckShapes(request, DevicesOf(request, host), violations);
  return StatusOfAll(unknown, violations);
}

v1::ProbeMode ModeOf(const v1::RunProbeRequest& request) {
  return request.mode() == v1::PROBE_MODE_UNSPECIFIED ? v1::PROBE_MODE_STANDARD : request.mode();
}

DeviceProbe ProbeOf(const v1::Device& device, const v1::RunProbeRequest& request,
                    const ProbeBudget& budget) {
  DeviceProbe out = {
      .uuid = device.uuid(),
      .arguments = {
          "--format=json",
          absl::StrCat("--mode=", EnumLabel(v1::ProbeMode_Name(ModeOf(request)), "PROBE_MODE_")),
          absl::StrCat("--budget=", budget.budget_seconds, "s"),
          device.kind() == v1::DEVICE_KIND_GPU ? "--backend=cuda" : "--backend=host",
          absl::StrCat("--device=", device.uuid())}};
  for (const v1::MatmulShape& shape : request.matmuls()) {
    out.arguments.push_back(
        absl::StrCat("--matmul=", shape.m(), "x", shape.n(), "x", shape.k(), ":",
                     EnumLabel(v1::DataType_Name(shape.data_type()), "DATA_TYPE_")));
  }
  return out;
}

}  // namespace

absl::StatusOr<ProbeSpec> ProbeSpecFrom(const v1::RunProbeRequest& request,
                                        const CalibrationSnapshot& host) {
  SEXTANT_RETURN_IF_ERROR(Check(request, host));
  const bool with_shapes = !request.matmuls().empty();
  ProbeSpec spec = {.probes = {},
                    .with_shapes = with_shapes,
                    .budget = ProbeBudgetOf(ModeOf(request), with_shapes)};
  for (const v1::Device* device : DevicesOf(request, host)) {
    spec.probes.push_back(ProbeOf(*device, request, spec.budget));
  }
  if (spec.probes.empty()) {
    return NoDevice(
        "this server has no device to measure: it is a planner (--role=planner), or its host has "
        "none that the probe finds; ask the server of the host whose devices are meant");
  }
  return spec;
}

}  // namespace sextant::server
