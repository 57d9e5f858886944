#include "server/base/memory_watch.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace sextant::server {
namespace {

constexpr int64_t kWorthwhileBytes = 16 << 20;

int64_t ResidentBytes() {
  int64_t total = 0;
  int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// Resident memory that holds nothing allocated: what was freed, code, stacks and libraries.
int64_t SpareBytes() {
  const struct mallinfo2 allocated = mallinfo2();
  return ResidentBytes() - static_cast<int64_t>(allocated.uordblks + allocated.hblkhd);
}

}  // namespace

void MemoryWatch::ReturnFreed() {
  const int64_t spare = SpareBytes();
  kept_bytes_ = std::min(kept_bytes_, spare);
  if (spare - kept_bytes_ < kWorthwhileBytes) return;
  malloc_trim(0);
  kept_bytes_ = SpareBytes();
}

bool MemoryWatch::IsOver() {
  if (ResidentBytes() <= most_bytes_) return false;
  ReturnFreed();
  return ResidentBytes() > most_bytes_;
}

}  // namespace sextant::server
