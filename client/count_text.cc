#include "client/count_text.h"

#include "absl/strings/str_cat.h"
#include "client/convention_text.h"
#include "client/format.h"
#include "client/model_flops_text.h"
#include "client/parameter_text.h"
#include "client/plan_notes.h"
#include "client/stage_text.h"
#include "client/table.h"

namespace sextant {

std::string CountText(const CountCommand& command, const v1::CountModelResponse& response) {
  std::string out = absl::StrCat(ParametersHeadline(response.model_name(), response.parameters()),
                                 ParameterComponents(response.parameters()),
                                 LayerKindsSection(response.layer_kinds()));
  if (response.has_flops()) {
    absl::StrAppend(&out, ModelFlopsSection(response.flops()));
    if (command.conventions) absl::StrAppend(&out, ConventionsSection(response.flops()));
    if (command.kaplan) absl::StrAppend(&out, KaplanSection(response.flops()));
  }
  return absl::StrCat(out, StagesSection(response.stages()), TensorsSection(response.tensors()),
                      IgnoredFieldsSection(response.ignored_config_fields()), "\n",
                      Wrap("", absl::StrCat("engine ", response.engine_version()), 0));
}

}  // namespace sextant
