#include "gpu_probe/host/host_context.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace sextant::probe {
namespace {

constexpr int64_t kPageBytes = 4096;
constexpr int64_t kGib = int64_t{1} << 30;

int64_t WholePages(double bytes) {
  return static_cast<int64_t>(std::ceil(bytes / kPageBytes)) * kPageBytes;
}

}  // namespace

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
  out.data_ = {data, [this, size_bytes](void* mapped) {
                 munmap(mapped, static_cast<size_t>(size_bytes));
                 used_bytes_ -= size_bytes;
               }};
  out.size_bytes_ = size_bytes;
  used_bytes_ += size_bytes;
  return out;
}

void AddNote(const std::string& note, v1::Calibration* out) {
  const auto& notes = out->notes();
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) out->add_notes(note);
}

absl::StatusOr<int64_t> ArrayBytes(const ArraysWanted& wanted, const HostContext& context) {
  const int64_t cap_bytes = context.memory->cap_bytes() / wanted.array_count;
  const int64_t needed_bytes =
      context.cache_bytes
          ? WholePages(wanted.cache_multiple * static_cast<double>(*context.cache_bytes))
          : kGib;
  if (needed_bytes > cap_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("needs ", wanted.array_count, " arrays of ", needed_bytes, " bytes, which ",
                     context.cache_bytes ? "no cache holds" : "no cache is likely to hold",
                     ", and the probe may take ", context.memory->cap_bytes(), " bytes in all"));
  }
  const int64_t pages_in_cap = cap_bytes / kPageBytes * kPageBytes;
  return std::min(std::max(needed_bytes, wanted.minimum_bytes), pages_in_cap);
}

Part ArrayWorkload::PartOfThread(int index, int64_t segment) const {
  const Part part = PartOf(shape_.element_count, index, context_->team->size(), shape_.block);
  return shape_.segment_count == 1 ? part : SegmentPart(part, segment, shape_.segment_count);
}

void ArrayWorkload::Poison() {
  poisoned_segment_ = next_segment_;
  runs_since_poison_ = 0;
  context_->team->Run([&](int index) { PoisonPart(PartOfThread(index, poisoned_segment_)); });
}

absl::Status ArrayWorkload::Run(int64_t repetition_count) {
  context_->team->Run([&](int index) {
    // PartOfThread()'s divisions take a fifth of the time of a pass over first-level caches.
    if (shape_.segment_count == 1) return RunPart(index, PartOfThread(index, 0), repetition_count);
    for (int64_t i = 0; i < repetition_count; ++i) {
      RunPart(index, PartOfThread(index, (next_segment_ + i) % shape_.segment_count), /*times=*/1);
    }
  });
  last_segment_ = (next_segment_ + repetition_count - 1) % shape_.segment_count;
  next_segment_ = (next_segment_ + repetition_count) % shape_.segment_count;
  runs_since_poison_ += repetition_count;
  return absl::OkStatus();
}

absl::Status ArrayWorkload::CheckSegment(int64_t segment) const {
  std::vector<int64_t> wrong(static_cast<size_t>(context_->team->size()), -1);
  context_->team->Run([&](int index) {
    wrong[static_cast<size_t>(index)] = FirstWrong(PartOfThread(index, segment));
  });
  for (const int64_t i : wrong) {
    if (i >= 0) return absl::DataLossError(absl::StrCat("element ", i, " ", Fault(i)));
  }
  return absl::OkStatus();
}

}  // namespace sextant::probe
