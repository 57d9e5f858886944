#include "gpu_probe/host/host_context.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"

namespace sextant::probe {
namespace {

constexpr int64_t kPageBytes = 4096;
constexpr int64_t kGib = int64_t{1} << 30;

int64_t WholePages(double bytes) {
  return static_cast<int64_t>(std::ceil(bytes / kPageBytes)) * kPageBytes;
}

}  // namespace

v1::TimeStatistics TimeOfPass(const v1::TimeStatistics& time, double run_count) {
  v1::TimeStatistics out = time;
  out.set_median_seconds(time.median_seconds() * run_count);
  out.set_p10_seconds(time.p10_seconds() * run_count);
  out.set_p90_seconds(time.p90_seconds() * run_count);
  return out;
}

void AddNote(const std::string& note, v1::Calibration* out) {
  const auto& notes = out->notes();
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) out->add_notes(note);
}

absl::StatusOr<int64_t> ArrayBytes(const ArraysWanted& wanted, const HostContext& context) {
  const int64_t cap_bytes = context.memory->cap_bytes() / wanted.array_count;
  const int64_t needed_bytes =
      context.cache_bytes
          ? WholePages(wanted.cache_multiple * static_cast<double>(*context.cache_bytes))
          : kGib;
  if (needed_bytes > cap_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("needs ", wanted.array_count, " arrays of ", needed_bytes, " bytes, which ",
                     context.cache_bytes ? "no cache holds" : "no cache is likely to hold",
                     ", and the probe may take ", context.memory->cap_bytes(), " bytes in all"));
  }
  const int64_t pages_in_cap = cap_bytes / kPageBytes * kPageBytes;
  return std::min(std::max(needed_bytes, wanted.minimum_bytes), pages_in_cap);
}

}  // namespace sextant::probe
