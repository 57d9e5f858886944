// One line of a terminal that shows how far a probe is.
#ifndef SEXTANT_GPU_PROBE_PROGRESS_BAR_H_
#define SEXTANT_GPU_PROBE_PROGRESS_BAR_H_

#include <string>

#include "sextant/v1/probe.pb.h"

namespace sextant {

// "\r[#########...........]  45 %  matmul bf16  1024x1024x1024: 312.4 GFLOP/s": written over the
// line before it, at most 79 columns, so that it never wraps.
std::string ProgressBar(const v1::ProbeProgress& progress);

// Leaves the line empty.
inline constexpr char kEraseProgressBar[] = "\r\x1b[K";

// From now on Ctrl-C (SIGINT) and SIGTERM empty that line of standard error, a terminal, before
// they end the process as always. A signal that is ignored stays so.
void EraseProgressBarOnSignals();

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_PROGRESS_BAR_H_
