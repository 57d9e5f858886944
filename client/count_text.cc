#include "client/count_text.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "client/convention_text.h"
#include "client/format.h"
#include "client/model_flops_text.h"
#include "client/parameter_text.h"
#include "client/plan_notes.h"
#include "client/stage_text.h"
#include "client/table.h"

namespace sextant {
namespace {

bool HasTwoStacks(const v1::CountModelResponse& response) {
  const auto has = [&response](const char* part) {
    return absl::c_any_of(response.layer_kinds(),
                          [part](const v1::LayerKindCount& kind) { return kind.part() == part; });
  };
  return has("encoder") && has("decoder");
}

}  // namespace

std::string CountText(const CountCommand& command, const v1::CountModelResponse& response) {
  std::string out = absl::StrCat(ParametersHeadline(response.model_name(), response.parameters()),
                                 ParameterComponents(response.parameters()),
                                 LayerKindsSection(response.layer_kinds()));
  if (response.has_flops()) {
    absl::StrAppend(&out, ModelFlopsSection(response.flops(), HasTwoStacks(response)));
    if (command.conventions) absl::StrAppend(&out, ConventionsSection(response.flops()));
    if (command.kaplan) absl::StrAppend(&out, KaplanSection(response.flops()));
  }
  return absl::StrCat(out, StagesSection(response.stages()), TensorsSection(response.tensors()),
                      IgnoredFieldsSection(response.ignored_config_fields()), "\n",
                      Wrap("", absl::StrCat("engine ", response.engine_version()), 0));
}

}  // namespace sextant
