// Files that start a run, of any bytes: no crash and no hang. What is read makes a request that can
// be planned, in finite numbers, or is refused by its fields, in few words.
//
// An input is up to three files; a line "===" ends one.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/run/plan.h"
#include "server/convert/plan.h"
#include "server/convert/run_spec.h"
#include "server/launcher/import.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/possible_answer.h"
#include "tests/server/sample_calibration.h"

namespace sextant::server {
namespace {

constexpr char kEnd[] = "\n===\n";

void RequireFields(const absl::Status& status, bool of_files) {
  Require(status.code() == absl::StatusCode::kInvalidArgument ||
              (!of_files && status.code() == absl::StatusCode::kNotFound),
          status.ToString());
  for (const FieldViolation& v : FieldViolationsOf(status)) {
    Require(!v.field.empty() && v.description.size() < 2000, v.field + ": " + v.description);
    Require(!of_files || absl::StartsWith(v.field, "files["), v.field);
    Require(!absl::StrContains(v.description, "json.exception"), v.description);  // its own text
  }
}

void PlanOf(v1::PlanRunRequest request) {
  static auto& supplied = *new SuppliedCalibrations();
  request.mutable_training()->set_token_count(1'000'000'000);
  request.mutable_options()->set_search(v1::LAYOUT_SEARCH_NONE);
  FieldViolations violations;
  CheckPlanNumbers(request, violations);
  const RunSpec run = RunSpecFrom(request, FinderOf(supplied), violations);
  auto plan = PlanRun(run, std::move(violations));
  if (!plan.ok()) return RequireFields(plan.status(), false);
  v1::Plan answer;
  PlanTo(*std::move(plan), run.options.full, &answer);
  RequirePossible(answer);
}

void ReadFiles(absl::string_view bytes) {
  v1::ImportRunRequest request;
  const std::vector<std::string> files = absl::StrSplit(bytes, absl::MaxSplits(kEnd, 2));
  for (const std::string& file : files) request.add_files()->set_content(file);
  request.mutable_request()->mutable_cluster()->mutable_device()->set_accelerator("h100-sxm");
  request.mutable_request()->mutable_cluster()->set_device_count(16);
  v1::ImportRunResponse response;
  const absl::Status status = ImportRun(request, &response);
  if (!status.ok()) return RequireFields(status, true);
  Require(response.files_size() == request.files_size(), "not an account of each file");
  PlanOf(std::move(*response.mutable_request()));
}

}  // namespace
}  // namespace sextant::server

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sextant::server::ReadFiles({reinterpret_cast<const char*>(data), size});
  return 0;
}
