// Shows the progress of what takes long on a terminal.
#ifndef SEXTANT_CLIENT_IO_PROGRESS_BAR_H_
#define SEXTANT_CLIENT_IO_PROGRESS_BAR_H_

#include <ostream>
#include <string>

#include "sextant/v1/probe.pb.h"

namespace sextant::client {

// The line of progress at the cursor; shows nothing without a terminal.
class ProgressBar {
 public:
  // `columns` is the width of the terminal that `out` writes to; 0 where it is not a terminal.
  ProgressBar(std::ostream& out, int columns) : out_(out), columns_(columns) {}
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() { Erase(); }

  // Replaces the line shown before.
  void Show(double fraction, const std::string& words);
  void Show(const v1::ProbeProgress& progress);

  // Clears the line and leaves the cursor at its start.
  void Erase();

 private:
  void ShowLine(const std::string& line);

  std::ostream& out_;
  const int columns_;
  bool shown_ = false;
};

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_IO_PROGRESS_BAR_H_
