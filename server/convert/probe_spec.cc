#include "server/convert/probe_spec.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "server/convert/enums.h"
#include "server/convert/short_name.h"
#include "server/unknown_device.h"

namespace sextant {
namespace {

constexpr int kMaxDevices = 64;
constexpr int kMaxShapes = 16;
constexpr int64_t kMaxShapeDimension = 1'000'000;

void CheckMode(v1::ProbeMode mode, FieldViolations& violations) {
  if (v1::ProbeMode_IsValid(mode)) return;
  violations.Add("mode", UnknownEnumNumber(mode));
}

void CheckShapes(const v1::RunProbeRequest& request, FieldViolations& violations) {
  if (request.matmuls_size() > kMaxShapes) {
    violations.Add("matmuls", absl::StrCat("must be at most ", kMaxShapes, " shapes, not ",
                                           request.matmuls_size()));
    return;
  }
  for (int i = 0; i < request.matmuls_size(); ++i) {
    const v1::MatmulShape& shape = request.matmuls(i);
    const std::string path = absl::StrCat("matmuls[", i, "]");
    const v1::DataType type = shape.data_type();
    if (type != v1::DATA_TYPE_FP32 && type != v1::DATA_TYPE_BF16 && type != v1::DATA_TYPE_INT8) {
      violations.Add(FieldPath(path, "data_type"), "must be FP32, BF16 or INT8");
    }
    violations.Require(path, "m", shape.m(), 1, kMaxShapeDimension);
    violations.Require(path, "n", shape.n(), 1, kMaxShapeDimension);
    violations.Require(path, "k", shape.k(), 1, kMaxShapeDimension);
  }
}

// A GPU is none of the devices that the probe of this version lists; should another one list
// it, it could not be told to measure it.
constexpr char kProcessorsOnly[] =
    "is no processor, and this version measures processors alone: write \"host\"";

// Devices that are not known go to `unknown`, all other faults to `violations`.
void CheckDevices(const v1::RunProbeRequest& request, const CalibrationSnapshot& host,
                  FieldViolations& violations, FieldViolations& unknown) {
  if (request.device_uuids_size() > kMaxDevices) {
    violations.Add("device_uuids", absl::StrCat("must be at most ", kMaxDevices, " devices, not ",
                                                request.device_uuids_size()));
    return;
  }
  for (int i = 0; i < request.device_uuids_size(); ++i) {
    const std::string& uuid = request.device_uuids(i);
    const std::string path = absl::StrCat("device_uuids[", i, "]");
    const v1::Device* device = host.FindDevice(uuid);
    if (device == nullptr) {
      unknown.Add(path, UnknownDeviceMessage(uuid, host.devices));
    } else if (device->kind() != v1::DEVICE_KIND_CPU) {
      violations.Add(path, kProcessorsOnly);
    }
  }
}

absl::Status Check(const v1::RunProbeRequest& request, const CalibrationSnapshot& host) {
  FieldViolations violations;
  FieldViolations unknown;
  CheckMode(request.mode(), violations);
  CheckDevices(request, host, violations, unknown);
  CheckShapes(request, violations);
  if (violations.empty() && !unknown.empty()) {
    return UnknownDevice(unknown.all().front().description);
  }
  for (const FieldViolation& v : unknown.all()) violations.Add(v.field, v.description);
  return violations.ToStatus();
}

// Those that the request names, each once; all of the host where it names none, since the
// probe then measures what it lists.
std::vector<std::string> DevicesOf(const v1::RunProbeRequest& request,
                                   const CalibrationSnapshot& host) {
  std::vector<std::string> out;
  for (const v1::Device& device : host.devices) {
    const auto names_it = [&](const std::string& name) { return host.FindDevice(name) == &device; };
    if (request.device_uuids().empty() ||
        std::any_of(request.device_uuids().begin(), request.device_uuids().end(), names_it)) {
      out.push_back(device.uuid());
    }
  }
  return out;
}

v1::ProbeMode ModeOf(const v1::RunProbeRequest& request) {
  return request.mode() == v1::PROBE_MODE_UNSPECIFIED ? v1::PROBE_MODE_STANDARD : request.mode();
}

std::vector<std::string> ArgumentsOf(const v1::RunProbeRequest& request,
                                     const ProbeBudget& budget) {
  std::vector<std::string> out = {
      "--format=json",
      absl::StrCat("--mode=", ShortName(v1::ProbeMode_Name(ModeOf(request)), "PROBE_MODE_")),
      absl::StrCat("--budget=", budget.budget_seconds, "s")};
  if (!request.device_uuids().empty()) out.push_back("--backend=host");
  for (const v1::MatmulShape& shape : request.matmuls()) {
    out.push_back(absl::StrCat("--matmul=", shape.m(), "x", shape.n(), "x", shape.k(), ":",
                               ShortName(v1::DataType_Name(shape.data_type()), "DATA_TYPE_")));
  }
  return out;
}

}  // namespace

absl::StatusOr<ProbeSpec> ProbeSpecFrom(const v1::RunProbeRequest& request,
                                        const CalibrationSnapshot& host) {
  SEXTANT_RETURN_IF_ERROR(Check(request, host));
  const bool with_shapes = !request.matmuls().empty();
  const ProbeBudget budget = ProbeBudgetOf(ModeOf(request), with_shapes);
  return ProbeSpec{.device_uuids = DevicesOf(request, host),
                   .with_shapes = with_shapes,
                   .budget = budget,
                   .arguments = ArgumentsOf(request, budget)};
}

}  // namespace sextant
