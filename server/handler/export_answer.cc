#include "server/handler/export_answer.h"

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/links/node_type.h"
#include "engine/model/count_model.h"
#include "server/convert/count_spec.h"
#include "server/convert/counted_model.h"
#include "server/convert/run_spec.h"
#include "server/launcher/export.h"

namespace sextant::server {
namespace {

// Files are made of these numbers: sizes of lists too.
absl::Status CheckNumbersOf(const v1::ExportRunRequest& request) {
  FieldViolations violations;
  CheckPlanNumbers(request.request(), violations);
  SEXTANT_RETURN_IF_ERROR(BelowField(violations.ToStatus(), "request"));
  for (int i = 0; i < request.layouts_size(); ++i) {
    v1::PlanRunRequest run = request.request();
    *run.mutable_layout() = request.layouts(i).layout();
    FieldViolations of_layout;
    CheckPlanNumbers(run, of_layout);
    SEXTANT_RETURN_IF_ERROR(BelowField(of_layout.ToStatus(), absl::StrCat("layouts[", i, "]")));
  }
  return absl::OkStatus();
}

// The shape of the run's model, before its changes, which launchers have settings for.
absl::Status ShapeTo(const v1::ModelSpec& model, ExportedModel* out) {
  v1::CountModelRequest request;
  *request.mutable_model() = model;
  request.mutable_model()->clear_changes();
  request.set_include_architecture(true);
  FieldViolations violations;
  const CountSpec spec = CountSpecFrom(request, violations);
  SEXTANT_ASSIGN_OR_RETURN(const CountedModel counted, CountModel(spec, std::move(violations)));
  v1::CountModelResponse answer;
  CountedModelTo(counted, spec, request, &answer);
  out->shape = std::move(*answer.mutable_architecture());
  out->name = answer.model_name();
  return absl::OkStatus();
}

// The devices of the run's kind of server: where none is named, of the first of its product. 0
// where none is known.
absl::StatusOr<int64_t> DevicesPerNode(const v1::ClusterSpec& cluster) {
  if (!cluster.node_type().empty()) {
    const auto node = FindNodeType(cluster.node_type());
    if (!node.ok()) return WithField(node.status(), "cluster.node_type");
    return (*node)->device_count;
  }
  const auto accelerator = FindAccelerator(cluster.device().accelerator());
  if (!accelerator.ok()) return 0;
  const std::vector<const NodeType*> nodes = NodeTypesOf((*accelerator)->name);
  return nodes.empty() ? 0 : nodes.front()->device_count;
}

}  // namespace

absl::Status AnswerExport(const v1::ExportRunRequest& request, v1::ExportRunResponse* response) {
  SEXTANT_RETURN_IF_ERROR(CheckExport(request, response));
  if (request.check_only()) return absl::OkStatus();
  SEXTANT_RETURN_IF_ERROR(CheckNumbersOf(request));
  ExportedModel model;
  SEXTANT_RETURN_IF_ERROR(BelowField(ShapeTo(request.request().model(), &model), "request"));
  absl::StatusOr<int64_t> devices = DevicesPerNode(request.request().cluster());
  if (!devices.ok()) return BelowField(devices.status(), "request");
  model.devices_per_node = *devices;
  return ExportRun(request, model, response);
}

}  // namespace sextant::server
