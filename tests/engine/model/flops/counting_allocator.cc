#include "tests/engine/model/flops/counting_allocator.h"

#include <cstdlib>
#include <new>

namespace {

int64_t allocations = 0;

}  // namespace

void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
// Which std::stable_sort asks for its buffer.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace sextant {

int64_t AllocationCount() { return allocations; }

}  // namespace sextant
