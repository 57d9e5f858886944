#include "client/io/progress_bar.h"

#include "client/report/text.h"

namespace sextant::client {

void ProgressBar::Show(const v1::ProbeProgress& progress) {
  if (columns_ <= 0) return;
  out_ << text::kEraseLine << ProgressLine(progress, columns_) << std::flush;
  shown_ = true;
}

void ProgressBar::Erase() {
  if (shown_) out_ << text::kEraseLine << std::flush;
  shown_ = false;
}

}  // namespace sextant::client
