// The two functions of glibc 2.35 and 2.36 that the compiler's archives call, defined here so that
// a program linked from archives starts where glibc is 2.34. Hidden: libraries that the program
// loads find glibc's own.
#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

// A compiler for an older glibc calls neither.
#if __GLIBC_PREREQ(2, 35)
namespace {

struct ObjectSearch {
  uintptr_t address;
  dl_find_object* found;
};

// Sets the first and the last address of an object's loaded segments, and its unwind table. Returns
// 1, which ends the search, where one of the segments has the address.
int LookInObject(dl_phdr_info* object, size_t /*size*/, void* argument) {
  const auto* search = static_cast<const ObjectSearch*>(argument);
  uintptr_t start = UINTPTR_MAX, end = 0, frames = 0;
  bool has_address = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const uintptr_t first = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == DLFO_EH_SEGMENT_TYPE) frames = first;
    if (segment.p_type != PT_LOAD) continue;
    const uintptr_t last = first + segment.p_memsz;
    // Mapped from a page's start; p_align is a power of two, or 0 or 1 for none (elf(5)).
    start = std::min(start, segment.p_align > 1 ? first & -segment.p_align : first);
    end = std::max(end, last);
    has_address |= search->address >= first && search->address < last;
  }
  if (!has_address) return 0;
  *search->found = {};
  search->found->dlfo_map_start = reinterpret_cast<void*>(start);
  search->found->dlfo_map_end = reinterpret_cast<void*>(end);
  search->found->dlfo_eh_frame = reinterpret_cast<void*>(frames);
  return 1;
}

}  // namespace

// Finds the object that was loaded at `address`, for libgcc's unwinder: glibc's manual, "Dynamic
// Linker Introspection". The unwinder reads only the result's dlfo_eh_frame. dlfo_link_map stays
// null, and so does the base of data-relative pointers, which are not used. Returns -1 where no
// object has the address, or where the object has no unwind table.
extern "C" __attribute__((visibility("hidden"))) int _dl_find_object(
    void* address, dl_find_object* result) noexcept {
  ObjectSearch search = {reinterpret_cast<uintptr_t>(address), result};
  const bool found = dl_iterate_phdr(LookInObject, &search) != 0;
  return found && result->dlfo_eh_frame != nullptr ? 0 : -1;
}
#endif

#if __GLIBC_PREREQ(2, 36)
// 32 random bits from the kernel, for libstdc++'s std::random_device. Like glibc's, it ends the
// program where the kernel returns none.
extern "C" __attribute__((visibility("hidden"))) uint32_t arc4random() noexcept {
  uint32_t value = 0;
  ssize_t got = 0;
  do {
    got = getrandom(&value, sizeof(value), 0);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof(value)) std::abort();
  return value;
}
#endif
