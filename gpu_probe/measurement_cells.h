// What the tables of a calibration say of every measurement alike.
#ifndef SEXTANT_GPU_PROBE_MEASUREMENT_CELLS_H_
#define SEXTANT_GPU_PROBE_MEASUREMENT_CELLS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "gpu_probe/text_table.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

// "unstable", or nothing.
std::string StableText(const v1::TimeStatistics& time);

// "1.2 %"; "-" of one sample, which has no spread to tell.
std::string SpreadText(const v1::TimeStatistics& time);

// `table` under its heading and an empty line; nothing where it has no row.
std::string Section(absl::string_view heading, const TextTable& table);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_MEASUREMENT_CELLS_H_
