#include "client/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace sextant {

int TerminalColumns(int file_descriptor) {
  if (isatty(file_descriptor) == 0) return 0;
  constexpr int kUsual = 80;  // where a terminal does not say
  struct winsize size = {};
  const bool told = ioctl(file_descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return told ? size.ws_col : kUsual;
}

}  // namespace sextant
