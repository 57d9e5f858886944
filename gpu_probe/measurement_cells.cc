#include "gpu_probe/measurement_cells.h"

#include "absl/strings/str_cat.h"
#include "gpu_probe/figure_text.h"

namespace sextant {

std::string StableText(const v1::TimeStatistics& time) { return time.stable() ? "" : "unstable"; }

std::string SpreadText(const v1::TimeStatistics& time) {
  return time.sample_count() > 1 ? PercentText(time.relative_spread()) : "-";
}

std::string Section(absl::string_view heading, const TextTable& table) {
  const std::string text = table.Text();
  return text.empty() ? "" : absl::StrCat("\n", heading, "\n", text);
}

}  // namespace sextant
