#include "client/io/progress_bar.h"

#include "client/text/text.h"

namespace sextant::client {

void ProgressBar::Show(double fraction, const std::string& words) {
  ShowLine(ProgressLine(fraction, words, columns_));
}

void ProgressBar::Show(const v1::ProbeProgress& progress) {
  ShowLine(ProgressLine(progress, columns_));
}

void ProgressBar::ShowLine(const std::string& line) {
  if (columns_ <= 0) return;
  out_ << text::kEraseLine << line << std::flush;
  shown_ = true;
}

void ProgressBar::Erase() {
  if (shown_) out_ << text::kEraseLine << std::flush;
  shown_ = false;
}

}  // namespace sextant::client
