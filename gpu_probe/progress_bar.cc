#include "gpu_probe/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gpu_probe/text_table.h"

namespace sextant {
namespace {

constexpr int kBarWidth = 20;
constexpr size_t kLineWidth = 79;

// Only what a signal's handler may call. The signal's own action is back in place by then.
void EraseAndEnd(int signal_number) {
  const ssize_t written = write(STDERR_FILENO, kEraseProgressBar, sizeof(kEraseProgressBar) - 1);
  (void)written;  // it ends either way
  std::raise(signal_number);
}

}  // namespace

std::string ProgressBar(const v1::ProbeProgress& progress) {
  // NaN fails both comparisons and reads as 0.
  const double fraction = progress.fraction() > 0 ? std::min(progress.fraction(), 1.0) : 0;
  const size_t full = static_cast<size_t>(std::floor(fraction * kBarWidth));
  std::string line = absl::StrFormat("[%s%s] %3.0f %%  %s", std::string(full, '#'),
                                     std::string(kBarWidth - full, '.'), std::floor(100 * fraction),
                                     progress.phase());
  if (!progress.figure().empty()) absl::StrAppend(&line, "  ", progress.figure());
  return absl::StrCat(kEraseProgressBar, CutText(PrintableText(line), kLineWidth));
}

void EraseProgressBarOnSignals() {
  for (const int signal_number : {SIGINT, SIGTERM}) {
    struct sigaction before = {};
    if (sigaction(signal_number, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_handler = EraseAndEnd;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(signal_number, &action, nullptr);
  }
}

}  // namespace sextant
