#include "gpu_probe/cuda/memory/element_check.h"

#include "absl/strings/str_cat.h"

namespace sextant {

absl::Status AllRight(const absl::StatusOr<GpuCheckReport>& report, int64_t count,
                      absl::string_view noun) {
  if (!report.ok()) return report.status();
  if (report->wrong_count == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(report->wrong_count, " of ", count, " ", noun,
                                          "s are wrong, the first of them ", noun, " ",
                                          report->first_wrong));
}

}  // namespace sextant
