#include "gpu_probe/host/host_context.h"

#include <algorithm>
#include <string>

namespace sextant {

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

}  // namespace sextant
