#include "tests/support/live_bytes.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int64_t> live_bytes = 0;
std::atomic<int64_t> peak_bytes = 0;

void* Count(void* memory) {
  if (memory == nullptr) return nullptr;
  const auto size = static_cast<int64_t>(malloc_usable_size(memory));
  const int64_t live = live_bytes.fetch_add(size) + size;
  int64_t peak = peak_bytes.load();
  while (live > peak && !peak_bytes.compare_exchange_weak(peak, live)) {
  }
  return memory;
}

void* CountOrThrow(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return Count(memory);
}

void Free(void* memory) {
  if (memory != nullptr) live_bytes -= static_cast<int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(size_t size) { return CountOrThrow(std::malloc(size)); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return Count(std::malloc(size)); }
void* operator new(size_t size, std::align_val_t alignment) {
  const auto align = static_cast<size_t>(alignment);
  return CountOrThrow(std::aligned_alloc(align, (size + align - 1) / align * align));
}
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { Free(memory); }

namespace sextant {

int64_t LiveBytes() { return live_bytes; }
int64_t PeakBytes() { return peak_bytes; }
void ResetPeakBytes() { peak_bytes = live_bytes.load(); }

}  // namespace sextant
