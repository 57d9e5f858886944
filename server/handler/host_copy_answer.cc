#include "server/handler/host_copy_answer.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/host_link.h"
#include "engine/hardware/links/node_type.h"
#include "engine/time/rate_requirement.h"

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

}  // namespace

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

}  // namespace sextant::server
