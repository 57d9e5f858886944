// Resident memory of the process: what was freed is given back, and too much is noticed.
#ifndef SEXTANT_SERVER_BASE_MEMORY_WATCH_H_
#define SEXTANT_SERVER_BASE_MEMORY_WATCH_H_

#include <cstdint>

namespace sextant::server {

// For one thread.
class MemoryWatch {
 public:
  explicit MemoryWatch(int64_t most_bytes) : most_bytes_(most_bytes) {}

  // Gives memory back where much was freed since the last time: the allocator keeps what was freed
  // below what is still in use: after large requests, or ten thousand connections, hundreds of
  // megabytes. Call it now and then: it takes microseconds where there is nothing to do.
  void ReturnFreed();

  // True where more than the most is resident, even after ReturnFreed(). Takes microseconds.
  bool IsOver();

 private:
  const int64_t most_bytes_;
  int64_t kept_bytes_ = 0;  // resident and not in use, at the least since the last return
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_BASE_MEMORY_WATCH_H_
