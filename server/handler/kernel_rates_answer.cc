#include "server/handler/kernel_rates_answer.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/placement.h"
#include "engine/run/device_selection.h"
#include "engine/time/kernel_curves.h"
#include "server/convert/enums.h"
#include "server/convert/kernel.h"
#include "server/convert/notes.h"

namespace sextant::server {
namespace {

constexpr int kMaxDataTypes = 16;
constexpr char kDevicePath[] = "device";

std::vector<DataType> TypesOf(const v1::GetKernelRatesRequest& request,
                              FieldViolations& violations) {
  std::vector<DataType> out;
  if (request.data_types_size() > kMaxDataTypes) {
    violations.Add("data_types", absl::StrCat("are ", request.data_types_size(), ": name at most ",
                                              kMaxDataTypes));
    return out;
  }
  for (int i = 0; i < request.data_types_size(); ++i) {
    const std::string field = absl::StrCat("data_types[", i, "]");
    const DataType type =
        DataTypeFrom(static_cast<v1::DataType>(request.data_types(i)), field, violations);
    if (request.data_types(i) == v1::DATA_TYPE_UNSPECIFIED) {
      violations.Add(field, "names no data type: write one, e.g. DATA_TYPE_BF16");
    }
    out.push_back(type);
  }
  return out;
}

// Errors: kNotFound, of the only unknown name; kFailedPrecondition RATES_NOT_MEASURED.
absl::StatusOr<Placement> PlacementFor(const DeviceSelection& selection,
                                       const DeviceSources& sources, FieldViolations& violations) {
  std::vector<UnknownName> unknown;
  const Accelerator* const accelerator = FindSelected(selection, kDevicePath, unknown);
  SEXTANT_RETURN_IF_ERROR(StatusOfAll(unknown, violations));
  if (accelerator != nullptr) {
    return PlacementOfProduct(*accelerator, sources.host.TrustedModels({.now = sources.now}),
                              absl::nullopt);
  }
  SEXTANT_RETURN_IF_ERROR(CheckMeasured(selection, "name it by device.accelerator"));
  return PlacementOf(selection.models(), selection.source());
}

}  // namespace

absl::Status AnswerKernelRates(const v1::GetKernelRatesRequest& request,
                               const DeviceSources& sources, v1::GetKernelRatesResponse* response) {
  FieldViolations violations;
  const DeviceSelection selection =
      DeviceSelectionFrom(request.device(), kDevicePath, sources, absl::nullopt, violations);
  CheckSelection(selection, kDevicePath, violations);
  std::vector<DataType> types = TypesOf(request, violations);
  SEXTANT_ASSIGN_OR_RETURN(Placement devices, PlacementFor(selection, sources, violations));
  if (types.empty()) types = devices.MeasuredTypes();
  SEXTANT_ASSIGN_OR_RETURN(const std::vector<KernelCurve> curves,
                           KernelCurvesOf(devices.devices, devices.join, types));
  if (curves.empty()) {
    return InvalidField("data_types",
                        "are none that anything is known of on this device: see sextant "
                        "accelerators, or what was measured by sextant calibration");
  }
  response->set_device(std::string(curves.front().source.device));
  SourceNumbers numbers(response->mutable_sources());
  for (const KernelCurve& curve : curves) KernelCurveTo(curve, numbers, response->add_curves());
  devices.notes.push_back(
      {NoteKind::kBurstTimes,
       "Times are of short bursts, one kernel at a time: a long run's clocks may be lower."});
  NotesTo(std::move(devices.notes), response->mutable_warnings(), response->mutable_assumptions());
  return absl::OkStatus();
}

}  // namespace sextant::server
