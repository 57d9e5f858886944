// Memory that was freed, given back to the system.
#ifndef SEXTANT_SERVER_BASE_MEMORY_RETURN_H_
#define SEXTANT_SERVER_BASE_MEMORY_RETURN_H_

#include <cstdint>

namespace sextant::server {

// The allocator keeps what was freed below what is still in use: after large requests, or ten
// thousand connections, hundreds of megabytes.
class MemoryReturn {
 public:
  // Gives memory back where much was freed since the last time. Call it now and then: it takes
  // microseconds where there is nothing to do.
  void Look();

 private:
  int64_t kept_bytes_ = 0;  // resident and not in use, at the least since the last return
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_BASE_MEMORY_RETURN_H_
