// Shows how far a probe has come, on a terminal.
#ifndef SEXTANT_CLIENT_PROGRESS_BAR_H_
#define SEXTANT_CLIENT_PROGRESS_BAR_H_

#include <ostream>
#include <string>

#include "sextant/v1/probe.pb.h"

namespace sextant {

// One line of at most `columns` characters: a bar, the share done, what is being done and the
// last figure.
std::string ProgressLine(const v1::ProbeProgress& progress, int columns);

// The line of progress at the cursor; nothing at all where there is no terminal.
class ProgressBar {
 public:
  // `columns` is the width of the terminal behind `out`; 0 where it is none.
  ProgressBar(std::ostream& out, int columns) : out_(out), columns_(columns) {}
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() { Erase(); }

  // In place of what was shown before.
  void Show(const v1::ProbeProgress& progress);

  // Leaves the line empty and the cursor at its start, as they were.
  void Erase();

 private:
  std::ostream& out_;
  const int columns_;
  bool shown_ = false;
};

}  // namespace sextant

#endif  // SEXTANT_CLIENT_PROGRESS_BAR_H_
