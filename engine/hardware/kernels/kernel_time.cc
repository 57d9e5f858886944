#include "engine/hardware/kernels/kernel_time.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sextant {

void CheckKernelTime(absl::string_view path, Seconds time, FieldViolations& out) {
  out.RequireRange(path, "seconds", time.value(),
                   {.low = 0, .high = kMaxKernelSeconds, .above_low = true});
}

void CheckKernelRate(absl::string_view path, Flops flops, Seconds time,
                     absl::optional<FlopsPerSecond> peak, FieldViolations& out) {
  if (!peak.has_value()) return;
  const double rate = flops.value() / time.value();
  if (rate <= kMaxOfPeak * peak->value()) return;
  out.Add(absl::StrCat(path, ".seconds"),
          absl::StrFormat("is too short: %.4g FLOP/s, above the peak of %.4g; measure again", rate,
                          peak->value()));
}

}  // namespace sextant
