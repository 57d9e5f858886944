#include "server/handler/operation_answer.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/host_link.h"
#include "engine/hardware/links/node_type.h"
#include "engine/hardware/placement.h"
#include "engine/hardware/rates.h"
#include "engine/operation/analysis.h"
#include "engine/operation/operation.h"
#include "engine/time/memory_pass_prediction.h"
#include "engine/time/operation_prediction.h"
#include "engine/time/operation_rates.h"
#include "engine/time/rate_requirement.h"
#include "engine/time/unfused_attention.h"
#include "server/convert/kernel.h"
#include "server/convert/notes.h"
#include "server/convert/operation.h"
#include "server/convert/operation_cost.h"
#include "server/convert/operation_device.h"
#include "server/convert/rates.h"
#include "server/device/device_finder.h"
#include "sextant/v1/accounting_service.pb.h"

namespace sextant::server {
namespace {

constexpr char kNodeType[] = "operation.host_copy.node_type";
constexpr char kSelector[] = "device.device";

// Adds fields of the device that are about its own memory and units.
void CheckDeviceFields(const v1::OperationDevice& device, FieldViolations& violations) {
  const std::pair<bool, const char*> given[] = {
      {device.has_matrix_flops_per_second(), "matrix_flops_per_second"},
      {device.has_general_flops_per_second(), "general_flops_per_second"},
      {device.has_memory_bytes_per_second(), "memory_bytes_per_second"},
      {device.launch_seconds() != 0, "launch_seconds"},
      {device.method() != v1::ROOFLINE_METHOD_UNSPECIFIED, "method"},
      {device.regime() != v1::KERNEL_REGIME_UNSPECIFIED, "regime"}};
  for (const auto& [present, name] : given) {
    if (!present) continue;
    violations.Add(FieldPath("device", name),
                   "says nothing of a copy between host and device: leave it out");
  }
}

// The names of a request, resolved; `models` are the named devices'.
struct HostLinkSources {
  HostLinkQuery query;
  std::vector<const DeviceModel*> models;
  std::vector<UnknownName> unknown;
};

void FindNode(const std::string& name, HostLinkSources& out, FieldViolations& violations) {
  if (name.empty()) return;
  const absl::StatusOr<const NodeType*> node = FindNodeType(name);
  if (!node.ok()) {
    out.unknown.push_back({kNodeType, node.status()});
    return;
  }
  out.query.node = *node;
  const Accelerator* const product = out.query.accelerator;
  if (product == nullptr || Holds(**node, product->name)) return;
  violations.Add(kNodeType, absl::StrCat("is ", (*node)->name, ", which comes with ",
                                         absl::StrJoin((*node)->accelerators, ", "), ", not ",
                                         product->name, ": leave it out, or name another"));
}

HostLinkSources SourcesOf(const OperationDevice& named, const std::string& node_type,
                          FieldViolations& violations) {
  HostLinkSources out;
  CheckSelection(named.device, kSelector, violations);
  out.query.accelerator = FindSelected(named.device, kSelector, out.unknown);
  out.models = named.device.models();
  out.query.measured_by = named.device.source();
  if (!out.models.empty()) out.query.accelerator = out.models.front()->accelerator();
  FindNode(node_type, out, violations);
  return out;
}

std::string RequiredText(const v1::AnalyzeOperationRequest& request, absl::string_view what) {
  if (!request.has_device() && request.operation().host_copy().node_type().empty()) {
    return absl::StrCat("is required where neither device nor ", kNodeType, " is given");
  }
  return absl::StrCat("is required: ", what, " of the named device is not known");
}

// Fills what `copy` lacks. A rate that nothing says is a violation, and any rate stands in for it.
void Fill(const v1::AnalyzeOperationRequest& request, const HostLinkQuery& query, HostCopy& copy,
          std::vector<Rate>& used, FieldViolations& violations) {
  const bool lacks_link = copy.link == BytesPerSecond(0);
  const bool lacks_staging = !copy.pinned && copy.staging == BytesPerSecond(0);
  if (lacks_link && lacks_staging) {
    copy.staged = PageableHostLink(query, used);
    if (copy.staged.has_value()) return;
  }
  if (lacks_link) {
    const absl::optional<BytesPerSecond> link = PinnedHostLink(query, used);
    if (!link.has_value()) {
      violations.Add("operation.host_copy.link_bytes_per_second",
                     RequiredText(request, "the link to the host"));
    }
    copy.link = link.value_or(BytesPerSecond(1));
  }
  if (!lacks_staging) return;
  violations.Add("operation.host_copy.staging_bytes_per_second",
                 RequiredText(request, "the rate of pageable copies"));
  copy.staging = BytesPerSecond(1);
}

// Fills the rates that `copy`, the request's operation, lacks from `named`, the request's device,
// and appends them to `used`. Adds to `violations` rates that nothing says, and fields of the
// device that say nothing of such a copy.
//
// Errors: kNotFound GPU_UNKNOWN, DEVICE_UNKNOWN, NODE_TYPE_UNKNOWN; kFailedPrecondition
// RATES_NOT_MEASURED, where a device was never measured or its rates are worse than
// device.rate_requirement demands. None of them where there are violations.
absl::Status FillHostCopy(const v1::AnalyzeOperationRequest& request, const OperationDevice& named,
                          HostCopy& copy, std::vector<Rate>& used, FieldViolations& violations) {
  CheckDeviceFields(request.device(), violations);
  CheckRequirement(named.requirement, "device.rate_requirement", violations);
  HostLinkSources sources =
      SourcesOf(named, request.operation().host_copy().node_type(), violations);
  SEXTANT_RETURN_IF_ERROR(StatusOfAll(sources.unknown, violations));
  if (violations.empty()) {
    SEXTANT_RETURN_IF_ERROR(CheckMeasured(named.device, "name it by device.device.accelerator"));
  }
  sources.query.models = sources.models;
  Fill(request, sources.query, copy, used, violations);
  if (used.empty() || !violations.empty()) return absl::OkStatus();
  return CheckOperationRates(named, used, "device");
}

// An achieved time needs a device, and an operation that does arithmetic.
void CheckCombination(const v1::AnalyzeOperationRequest& request, FieldViolations& violations) {
  if (request.has_achieved_seconds() && request.operation().has_host_copy()) {
    violations.Add("achieved_seconds",
                   "says nothing of a copy between host and device, which does no arithmetic: "
                   "leave it out");
  } else if (request.has_achieved_seconds() && !request.has_device()) {
    violations.Add("device",
                   "is required with achieved_seconds: utilisation is a share of its "
                   "rate");
  }
}

struct Device {
  OperationDevice named = {};
  RooflineMethod method = RooflineMethod::kSmooth;
  KernelRegime regime = KernelRegime::kBurst;
  // Texts of `named` point into it.
  std::shared_ptr<const CalibrationSnapshot> host = nullptr;
  CalibrationQuery query = {};
};

Device DeviceFrom(const v1::AnalyzeOperationRequest& request, const AccountingOptions& options,
                  FieldViolations& violations) {
  const v1::OperationDevice& wire = request.device();
  Device out = {.host = options.calibrations(), .query = {.now = options.now()}};
  const DeviceFinder finder({.supplied = *options.supplied,
                             .host = *out.host,
                             .now = out.query.now,
                             .fleet = options.fleet});
  out.named = OperationDeviceFrom(wire, "device", finder, violations);
  out.method = RooflineMethodPair::From(wire.method(), "device.method", violations);
  out.regime = KernelRegimePair::From(wire.regime(), "device.regime", violations);
  const absl::optional<double> age = out.named.requirement.maximum_age_seconds;
  if (age.has_value()) out.query.maximum_age = absl::Seconds(*age);
  return out;
}

OperationNeed NeedOf(const OperationAnalysis& analysis) {
  const bool products =
      analysis.forward.sum.matrix_flops > Flops(0) ||
      (analysis.backward.has_value() && analysis.backward->cost.sum.matrix_flops > Flops(0));
  return products ? OperationNeed::kProducts : OperationNeed::kMemoryAlone;
}

// The devices' kernels; absent where the request gives rates of its own. Every device has
// measurements: RatesFor() checked it.
absl::optional<Placement> KernelsOf(const Device& device) {
  const OperationDevice& named = device.named;
  if (named.matrix_flops_per_second.has_value() || named.memory_bytes_per_second.has_value()) {
    return absl::nullopt;
  }
  const std::vector<const DeviceModel*> measured = named.device.models();
  if (!measured.empty()) return PlacementOf(measured, named.device.source());
  const Accelerator* accelerator = AcceleratorNamed(named.device.accelerator);
  if (accelerator == nullptr) return absl::nullopt;
  return PlacementOfProduct(*accelerator, device.host->TrustedModels(device.query),
                            device.query.OldestUnixSeconds());
}

// The time that measured kernels predict; absent where no kernel of the kind was measured.
absl::StatusOr<absl::optional<OperationPrediction>> PredictionOf(const OperationRequest& asked,
                                                                 const OperationAnalysis& analysis,
                                                                 const Placement& kernels,
                                                                 CallWork& work) {
  SEXTANT_ASSIGN_OR_RETURN(
      absl::optional<OperationPrediction> out,
      PredictOperation(asked.operation, asked.types, kernels.devices, kernels.join, &work));
  if (out.has_value()) return out;
  return PredictMemoryPasses(asked.operation, analysis, kernels.devices, kernels.join);
}

void PredictedTimesTo(const OperationPrediction& prediction, const OperationAnalysis& analysis,
                      PredictedWork work, SourceNumbers& sources, v1::OperationTime* out) {
  const auto set_flops = [&work](const auto& sum) {
    work.flops = sum.flops();
    work.matrix_flops = sum.matrix_flops;
  };
  set_flops(analysis.forward.sum);
  KernelPredictionTo(prediction, prediction.forward, work, sources,
                     out->mutable_predicted_forward());
  if (prediction.unfused.has_value()) {
    set_flops(analysis.unfused->sum);
    KernelPredictionTo(prediction, *prediction.unfused, work, sources,
                       out->mutable_predicted_unfused());
  }
  if (analysis.backward.has_value() && prediction.backward.expected > Seconds(0)) {
    set_flops(analysis.backward->cost.sum);
    OperationPrediction backward = prediction;
    if (backward.backward_source.has_value()) backward.source = *backward.backward_source;
    KernelPredictionTo(backward, backward.backward, work, sources,
                       out->mutable_predicted_backward());
  }
}

// Adds the prediction to the answer, where there is one.
absl::Status PredictionTo(const TimedOperation& timed, const Device& device, CallWork& work,
                          SourceNumbers& sources, v1::OperationTime* out) {
  const OperationRequest& asked = timed.request;
  const OperationAnalysis& analysis = timed.analysis;
  const absl::optional<Placement> kernels = KernelsOf(device);
  if (!kernels.has_value()) return absl::OkStatus();
  SEXTANT_ASSIGN_OR_RETURN(absl::optional<OperationPrediction> prediction,
                           PredictionOf(asked, analysis, *kernels, work));
  if (!prediction.has_value()) return absl::OkStatus();
  SEXTANT_RETURN_IF_ERROR(CheckPredictionSource(device.named, prediction->source, "device"));
  if (prediction->backward_source.has_value()) {
    SEXTANT_RETURN_IF_ERROR(
        CheckPredictionSource(device.named, *prediction->backward_source, "device"));
  }
  Notes notes = kernels->notes;
  if (device.regime == KernelRegime::kSustained) {
    const PlacedDevice& deciding = kernels->devices[prediction->device];
    SEXTANT_ASSIGN_OR_RETURN(Note how, MakeSustained(deciding, asked.types.input, *prediction));
    notes.push_back(std::move(how));
  } else {
    notes.push_back(
        {.kind = NoteKind::kBurstTimes,
         .text = absl::StrCat(
             "Predicted times are of bursts of milliseconds: in a long run, products and attention "
             "may take longer; device.regime says which are wanted.",
             PassesText(*prediction)),
         .fields = {"device.regime"}});
  }
  for (Note& note : prediction->notes) notes.push_back(std::move(note));
  NotesTo(std::move(notes), out->mutable_warnings(), out->mutable_assumptions());
  // A peak of products does not apply to operations that multiply no matrices.
  PredictedWork predicted;
  if (!prediction->memory_pass) predicted.peak = timed.rates.datasheet_peak;
  PredictedTimesTo(*prediction, analysis, predicted, sources, out);
  return absl::OkStatus();
}

void HostCopyRatesTo(const std::vector<Rate>& rates, v1::HostCopyTime* out) {
  SourceNumbers sources(out->mutable_sources());
  for (const Rate& rate : rates) RateTo(rate, sources, out->add_rates());
}

struct Analysed {
  const OperationRequest& asked;
  const OperationAnalysis& analysis;
};

// Fills the times on `device`.
absl::Status TimesTo(const v1::AnalyzeOperationRequest& request, const Device& device,
                     Analysed operation, CallWork& work, v1::OperationTime* out) {
  SEXTANT_ASSIGN_OR_RETURN(
      const OperationRates rates,
      RatesFor(device.named, operation.asked.types.input, "device", NeedOf(operation.analysis)));
  TimedOperation timed = {.request = operation.asked,
                          .analysis = operation.analysis,
                          .rates = rates,
                          .method = device.method};
  if (request.has_achieved_seconds()) timed.achieved_seconds = request.achieved_seconds();
  SourceNumbers sources(out->mutable_sources());
  SEXTANT_RETURN_IF_ERROR(OperationTimeTo(timed, sources, out));
  return PredictionTo(timed, device, work, sources, out);
}

}  // namespace

absl::Status AnswerOperation(const v1::AnalyzeOperationRequest& request,
                             const AccountingOptions& options, CallWork& work,
                             v1::AnalyzeOperationResponse* response) {
  FieldViolations violations;
  OperationRequest asked;
  absl::optional<ReadOperation> read = OperationFrom(request.operation(), "operation", violations);
  asked.types = OperationTypesFrom(request.data_types(), "data_types", violations);
  if (request.has_transcendental_flops()) {
    asked.convention.transcendental = request.transcendental_flops();
  }
  const Device device = DeviceFrom(request, options, violations);
  CheckCombination(request, violations);
  if (!read.has_value()) return violations.ToStatus();
  FillSizeDefaults(read->operation);
  asked.operation = std::move(read->operation);
  std::vector<Rate> copy_rates;
  if (auto* const copy = std::get_if<HostCopy>(&asked.operation)) {
    SEXTANT_RETURN_IF_ERROR(FillHostCopy(request, device.named, *copy, copy_rates, violations));
  }

  const absl::StatusOr<OperationAnalysis> analysis = AnalyzeOperation(asked, read->path);
  if (!analysis.ok()) violations.AddAll(analysis.status());
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  SEXTANT_RETURN_IF_ERROR(OperationAnalysisTo(asked.operation, *analysis, response));
  if (request.operation().has_host_copy()) {
    HostCopyRatesTo(copy_rates, response->mutable_host_copy());
    return absl::OkStatus();
  }
  if (!request.has_device()) return absl::OkStatus();
  return TimesTo(request, device, {.asked = asked, .analysis = *analysis}, work,
                 response->mutable_time());
}

}  // namespace sextant::server
