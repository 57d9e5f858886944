#include "gpu_probe/host/memory_budget.h"

#include <sys/mman.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace sextant::probe {

Buffer::~Buffer() {
  if (data_ == nullptr) return;
  munmap(data_, static_cast<size_t>(size_bytes_));
  budget_->used_bytes_ -= size_bytes_;
}

Buffer::Buffer(Buffer&& other) noexcept { *this = std::move(other); }

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(budget_, other.budget_);
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

absl::StatusOr<Buffer> MemoryBudget::Allocate(int64_t size_bytes) {
  if (size_bytes <= 0) return absl::InternalError("a buffer of no bytes was asked for");
  if (size_bytes > cap_bytes_ - used_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("needs ", size_bytes, " bytes, and ", cap_bytes_ - used_bytes_, " of the ",
                     cap_bytes_, " that the probe may take are free"));
  }
  void* const data = mmap(nullptr, static_cast<size_t>(size_bytes), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("needs ", size_bytes, " bytes, which the system refused"));
  }
  // Huge pages keep address translation out of the figures, which are lower without them.
  madvise(data, static_cast<size_t>(size_bytes), MADV_HUGEPAGE);
  Buffer out;
  out.budget_ = this;
  out.data_ = data;
  out.size_bytes_ = size_bytes;
  used_bytes_ += size_bytes;
  return out;
}

}  // namespace sextant::probe
