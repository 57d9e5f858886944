#include "server/cancellation.h"

#include <sys/eventfd.h>
#include <unistd.h>

namespace sextant {

Cancellation::Cancellation() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Cancellation::~Cancellation() {
  if (fd_ >= 0) close(fd_);
}

void Cancellation::Cancel() {
  cancelled_ = true;
  if (fd_ >= 0) eventfd_write(fd_, 1);
}

}  // namespace sextant
