#include "tests/validation/kernel_score_table.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sextant {
namespace {

std::string Pair(const ErrorSummary& errors) {
  if (errors.count == 0) return "-";
  return absl::StrFormat("%.1f / %.1f", 100 * errors.median, 100 * errors.p90);
}

std::string RowOf(const KernelScore& score) {
  return absl::StrFormat("| %s | %s | %s | %s | %d | %d | %s | %.0f | %+.1f | %.0f | %s | %s |\n",
                         score.gpu, score.data_type, score.kernel, score.domain, score.point_count,
                         score.ours.count, Pair(score.ours), 100 * score.ours.within_10,
                         100 * score.ours.median_signed, 100 * score.in_interval,
                         Pair(score.datasheet), Pair(score.measured_peak));
}

}  // namespace

std::string KernelScoreTable(const KernelScores& scores) {
  std::string out =
      "| GPU | type | kernel | shapes | points | scored | median / p90 % | within 10 % | bias % | "
      "in interval % | datasheet roofline | measured-peak roofline |\n"
      "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (const KernelScore& score : scores.scores) absl::StrAppend(&out, RowOf(score));
  for (const std::string& reason : scores.left_out) absl::StrAppend(&out, "\nLeft out: ", reason);
  if (!scores.left_out.empty()) absl::StrAppend(&out, "\n");
  return out;
}

}  // namespace sextant
