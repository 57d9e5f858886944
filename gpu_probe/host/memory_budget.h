// Large buffers under a common cap.
#ifndef SEXTANT_GPU_PROBE_HOST_MEMORY_BUDGET_H_
#define SEXTANT_GPU_PROBE_HOST_MEMORY_BUDGET_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace sextant::probe {

class MemoryBudget;

// Zeroed memory that starts at a page. The system places a page near the core that first writes it,
// so each thread must be the first to write the part that it uses.
class Buffer {
 public:
  Buffer() = default;
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  int64_t size_bytes() const { return size_bytes_; }

  template <typename Element>
  Element* As() const {
    return static_cast<Element*>(data_);
  }

 private:
  friend class MemoryBudget;

  MemoryBudget* budget_ = nullptr;
  void* data_ = nullptr;
  int64_t size_bytes_ = 0;
};

// Must outlive its buffers. Not thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(int64_t cap_bytes) : cap_bytes_(cap_bytes) {}

  int64_t cap_bytes() const { return cap_bytes_; }
  int64_t used_bytes() const { return used_bytes_; }

  // Errors: kResourceExhausted, naming the bytes, above the cap or where the system refuses.
  absl::StatusOr<Buffer> Allocate(int64_t size_bytes);

 private:
  friend class Buffer;

  const int64_t cap_bytes_;
  int64_t used_bytes_ = 0;
};

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_MEMORY_BUDGET_H_
