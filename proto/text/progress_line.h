// The line that shows the progress of what takes long.
#ifndef SEXTANT_PROTO_TEXT_PROGRESS_LINE_H_
#define SEXTANT_PROTO_TEXT_PROGRESS_LINE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::text {

// Moves a terminal's cursor to the start of its line and clears the line.
inline constexpr char kEraseLine[] = "\r\x1b[K";

// One line of fewer than `columns` characters: a bar, the fraction done and `words`.
std::string ProgressLine(double fraction, absl::string_view words, int columns);

// A probe's progress: the present work and the last figure.
std::string ProgressLine(const v1::ProbeProgress& progress, int columns);

}  // namespace sextant::text

#endif  // SEXTANT_PROTO_TEXT_PROGRESS_LINE_H_
