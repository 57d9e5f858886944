#include "server/launcher/export.h"

#include <initializer_list>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/framework/recipe.h"
#include "server/convert/architecture.h"
#include "server/convert/enums.h"
#include "server/launcher/launched_run.h"
#include "server/launcher/launcher.h"

namespace sextant::server {
namespace {

constexpr int kMaxLayouts = 64;
constexpr size_t kMaxScriptBytes = 4096;
constexpr double kMaxElapsed = 1e12;

// A refusal by fields of PlanRunRequest as one by those of the ExportRunRequest that has them: the
// layout's and the recomputation's in layouts[`layout`], unless that is below 0.
absl::Status InExport(const absl::Status& refused, int layout) {
  if (FieldViolationsOf(refused).empty()) {
    return InvalidField("request", absl::StrCat("is refused: ", refused.message()));
  }
  const absl::Status out = WithPaths(refused, [layout](absl::string_view field) {
    const bool recompute = field == "training.recompute";
    if (layout < 0 || !(recompute || absl::StartsWith(field, "layout"))) {
      return FieldPath("request", field);
    }
    return absl::StrCat("layouts[", layout, "].", recompute ? "recompute" : field);
  });
  return WithMessage(out, refused.message());
}

void Put(const v1::LaunchLayout& option, v1::PlanRunRequest* request) {
  *request->mutable_layout() = option.layout();
  request->mutable_training()->set_recompute(option.recompute());
}

// The layouts that may be written, the best first.
std::vector<v1::LaunchLayout> LayoutsOf(const v1::ExportRunRequest& request) {
  if (request.layouts_size() > 0) return {request.layouts().begin(), request.layouts().end()};
  v1::LaunchLayout given;
  *given.mutable_layout() = request.request().layout();
  given.set_recompute(request.request().training().recompute());
  return {given};
}

bool IsAnyOf(int given, std::initializer_list<int> usual) {
  return absl::c_linear_search(usual, given);
}

// Fills in the types that a plan takes from its framework's own recipe for the model, which a file
// has to say.
void NameRecipeTypes(const v1::Architecture& shape, v1::PlanRunRequest* request) {
  const v1::ModelChanges& changes = request->model().changes();
  const v1::PrecisionPolicy& given = request->training().precision();
  const bool usual =
      IsAnyOf(given.compute_data_type(), {v1::DATA_TYPE_UNSPECIFIED, v1::DATA_TYPE_BF16}) &&
      IsAnyOf(given.weight_data_type(), {v1::DATA_TYPE_UNSPECIFIED, v1::DATA_TYPE_BF16}) &&
      (!given.has_master_weights() || given.master_weights()) &&
      IsAnyOf(request->training().optimizer().kind(),
              {v1::OptimizerSpec::KIND_UNSPECIFIED, v1::OptimizerSpec::KIND_ADAM,
               v1::OptimizerSpec::KIND_ADAMW});
  const bool bridge =
      request->layout().framework().kind() == v1::FrameworkMemory::KIND_MEGATRON_BRIDGE;
  if (!bridge || !usual || changes.has_adapters() || changes.base_frozen()) return;
  FieldViolations checked;
  const Recipe* const recipe =
      FindRecipe(Framework::kMegatronBridge, ArchitectureFrom(shape, "", checked));
  if (recipe == nullptr) return;
  v1::PrecisionPolicy& precision = *request->mutable_training()->mutable_precision();
  if (precision.gradient_data_type() == v1::DATA_TYPE_UNSPECIFIED) {
    precision.set_gradient_data_type(DataTypePair::To(recipe->gradients));
  }
  if (precision.optimizer_data_type() == v1::DATA_TYPE_UNSPECIFIED) {
    precision.set_optimizer_data_type(DataTypePair::To(recipe->moments));
  }
}

void NameFramework(const std::string& launcher, v1::PlanRunRequest* request) {
  v1::FrameworkMemory& framework = *request->mutable_layout()->mutable_framework();
  if (framework.kind() != v1::FrameworkMemory::KIND_UNSPECIFIED) return;
  framework.set_kind(FrameworkOf(launcher));
}

}  // namespace

absl::Status CheckExport(const v1::ExportRunRequest& request, v1::ExportRunResponse* out) {
  FieldViolations violations;
  const std::vector<std::string> names = LauncherNames();
  if (!absl::c_linear_search(names, request.launcher())) {
    violations.Add("launcher",
                   absl::StrCat(request.launcher().empty() ? "is required: write one of "
                                                           : "is not known: write one of ",
                                absl::StrJoin(names, ", ")));
  }
  if (request.layouts_size() > kMaxLayouts) {
    violations.Add("layouts",
                   absl::StrCat("are ", request.layouts_size(), ": give at most ", kMaxLayouts));
  }
  if (request.script().size() > kMaxScriptBytes) {
    violations.Add("script", absl::StrCat("must have at most ", kMaxScriptBytes, " bytes"));
  }
  if (request.script().find_first_of(std::string("\0\n\r", 3)) != std::string::npos) {
    violations.Add("script", "must be on one line: write the file's name alone");
  }
  violations.RequireRange("", "elapsed_seconds", request.elapsed_seconds(),
                          {.low = 0, .high = kMaxElapsed});
  if (!violations.empty()) return violations.ToStatus();
  *out->mutable_request() = request.request();
  NameFramework(request.launcher(), out->mutable_request());
  const absl::Status checked = CheckLauncher(request.launcher(), out->request());
  return checked.ok() ? checked : InExport(checked, -1);
}

absl::Status ExportRun(const v1::ExportRunRequest& request, const ExportedModel& model,
                       v1::ExportRunResponse* out) {
  LaunchedRun run = {.request = request.request(),
                     .model = model.shape,
                     .model_name = model.name,
                     .devices_per_node = model.devices_per_node,
                     .elapsed_seconds = request.elapsed_seconds(),
                     .script = request.script()};
  std::vector<absl::Status> refused;
  for (const v1::LaunchLayout& option : LayoutsOf(request)) {
    Put(option, &run.request);
    NameFramework(request.launcher(), &run.request);
    NameRecipeTypes(model.shape, &run.request);
    absl::StatusOr<LauncherFile> file = WriteLauncher(request.launcher(), run);
    if (!file.ok()) {
      refused.push_back(file.status());
      continue;
    }
    v1::LaunchFile* const written = out->add_files();
    written->set_name(FileNameOf(request.launcher()));
    written->set_content(std::move(file->text));
    for (std::string& each : file->left_out) out->add_left_out(std::move(each));
    *out->mutable_request() = std::move(run.request);
    out->set_layout_index(static_cast<int>(refused.size()));
    for (const absl::Status& each : refused) out->add_refused(std::string(each.message()));
    return absl::OkStatus();
  }
  return InExport(refused.front(), request.layouts_size() > 0 ? 0 : -1);
}

}  // namespace sextant::server
