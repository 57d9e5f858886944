#include "proto/text/progress_line.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/text/format.h"
#include "proto/text/table.h"

namespace sextant::text {
namespace {

constexpr int kBarColumns = 24;
constexpr int kMinColumnsForBar = 60;  // narrower terminals get no bar

// NaN counts as 0.
double Share(double fraction) { return fraction > 0 ? std::min(fraction, 1.0) : 0; }

std::string Bar(double share) {
  const auto full = static_cast<size_t>(share * kBarColumns);
  return absl::StrCat("[", std::string(full, '#'), std::string(kBarColumns - full, '.'), "] ");
}

}  // namespace

std::string ProgressLine(const v1::ProbeProgress& progress, int columns) {
  return ProgressLine(
      progress.fraction(),
      absl::StrCat(progress.phase(), progress.figure().empty() ? "" : "  ", progress.figure()),
      columns);
}

std::string ProgressLine(double fraction, absl::string_view words, int columns) {
  const double share = Share(fraction);
  const std::string line =
      absl::StrCat(columns >= kMinColumnsForBar ? Bar(share) : "",
                   absl::StrFormat("%3d %%  ", static_cast<int>(100 * share)), words);
  const std::string printable = Printable(OneLine(line));
  // The last column stays free: some terminals wrap on writing it.
  return printable.substr(0, PrefixBytes(printable, static_cast<size_t>(std::max(columns - 1, 0))));
}

}  // namespace sextant::text
