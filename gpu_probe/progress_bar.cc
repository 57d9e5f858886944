#include "gpu_probe/progress_bar.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gpu_probe/text_table.h"

namespace sextant {
namespace {

constexpr int kBarWidth = 20;
constexpr size_t kLineWidth = 79;

}  // namespace

std::string ProgressBar(const v1::ProbeProgress& progress) {
  // NaN fails both comparisons and reads as 0.
  const double fraction = progress.fraction() > 0 ? std::min(progress.fraction(), 1.0) : 0;
  const size_t full = static_cast<size_t>(std::floor(fraction * kBarWidth));
  std::string line = absl::StrFormat("[%s%s] %3.0f %%  %s", std::string(full, '#'),
                                     std::string(kBarWidth - full, '.'), std::floor(100 * fraction),
                                     progress.phase());
  if (!progress.figure().empty()) absl::StrAppend(&line, "  ", progress.figure());
  return absl::StrCat(kEraseProgressBar, CutText(PrintableText(line), kLineWidth));
}

}  // namespace sextant
