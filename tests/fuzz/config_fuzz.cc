// Files config.json of any bytes: no crash and no hang. A model that is read can be counted and
// planned, in finite numbers, or is refused by its fields, in few words.
#include <string>

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/model/count_model.h"
#include "engine/run/plan.h"
#include "server/convert/count_spec.h"
#include "server/convert/counted_model.h"
#include "server/convert/model_spec.h"
#include "server/convert/plan.h"
#include "server/convert/run_spec.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/possible_answer.h"
#include "tests/server/sample_calibration.h"

namespace sextant::server {
namespace {

void RequireRefusal(const absl::Status& status) {
  Require(status.code() == absl::StatusCode::kInvalidArgument, status.ToString());
  Require(!FieldViolationsOf(status).empty(), "no field: " + status.ToString());
  for (const FieldViolation& v : FieldViolationsOf(status)) {
    Require(!v.field.empty() && v.description.size() < 2000, v.field + ": " + v.description);
  }
}

void Count(const std::string& config) {
  v1::CountModelRequest request;
  request.mutable_model()->set_hugging_face_config(config);
  request.mutable_step()->add_sequences()->set_length(2048);
  request.set_include_components(true);
  FieldViolations violations;
  const CountSpec spec = CountSpecFrom(request, violations);
  const auto counted = CountModel(spec, std::move(violations));
  if (!counted.ok()) return RequireRefusal(counted.status());
  v1::CountModelResponse response;
  CountedModelTo(*counted, spec, request, &response);
  RequirePossible(response);
}

void PlanOn(const std::string& config, bool with_layout) {
  static auto& supplied = *new SuppliedCalibrations();
  v1::PlanRunRequest request;
  request.mutable_model()->set_hugging_face_config(config);
  request.mutable_training()->set_token_count(1'000'000'000'000);
  request.mutable_training()->set_sequence_length(2048);
  request.mutable_cluster()->mutable_device()->set_accelerator("h100-sxm");
  request.mutable_cluster()->set_device_count(16);
  request.mutable_cluster()->set_node_type("dgx-h100");
  request.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  if (with_layout) {
    v1::RunLayout& layout = *request.mutable_layout();
    layout.set_global_batch_size(64);
    layout.mutable_parallel()->set_tensor_parallel_size(2);
    layout.mutable_parallel()->set_pipeline_parallel_size(2);
    layout.mutable_framework()->set_kind(v1::FrameworkMemory::KIND_MEGATRON_LM);
  }
  FieldViolations violations;
  CheckPlanNumbers(request, violations);
  const RunSpec run = RunSpecFrom(request, FinderOf(supplied), violations);
  auto plan = PlanRun(run, std::move(violations));
  if (!plan.ok()) return RequireRefusal(plan.status());
  v1::Plan answer;
  PlanTo(*std::move(plan), run.options.full, &answer);
  RequirePossible(answer);
}

void Read(const std::string& config) {
  const auto model = ReadHuggingFaceConfig(config);
  if (!model.ok()) return RequireRefusal(model.status());
  Count(config);
  PlanOn(config, false);
  PlanOn(config, true);
}

}  // namespace
}  // namespace sextant::server

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sextant::server::Read({reinterpret_cast<const char*>(data), size});
  return 0;
}
