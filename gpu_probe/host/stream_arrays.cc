#include "gpu_probe/host/stream_arrays.h"

#include <cstddef>
#include <vector>

#include "absl/memory/memory.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

// Threads share no page, and segments no cache line; every start suits streaming stores.
constexpr int64_t kPageElements = 512;
constexpr int64_t kLineElements = 8;

// Where b begins in the pattern that a begins at the start of: b is no copy of a.
constexpr int64_t kBStart = 314'159;

std::vector<double> WholeNumbers() {
  constexpr int kUnusedBits = 41;  // 23 are left: -2^22 to 2^22 - 1
  constexpr int64_t kHalf = int64_t{1} << 22;
  std::vector<double> out(static_cast<size_t>(kPatternCount));
  for (size_t i = 0; i < out.size(); ++i) {
    const auto bits = static_cast<int64_t>(RandomBits(i) >> kUnusedBits);
    // 0 stands for what was not written.
    out[i] = static_cast<double>(bits == kHalf ? 1 : bits - kHalf);
  }
  return out;
}

}  // namespace

StreamArrays::StreamArrays(int64_t count) : count_(count), pattern_(WholeNumbers()) {}

absl::StatusOr<std::shared_ptr<StreamArrays>> StreamArrays::Create(int64_t count,
                                                                   const HostContext& context) {
  auto arrays = absl::WrapUnique(new StreamArrays(count));
  const int64_t bytes = count * static_cast<int64_t>(sizeof(double));
  SEXTANT_ASSIGN_OR_RETURN(arrays->a_, context.memory->Allocate(bytes));
  SEXTANT_ASSIGN_OR_RETURN(arrays->c_, context.memory->Allocate(bytes));
  context.team->Run([&](int index) {
    const Part part = ThreadPart(count, index, context.team->size());
    arrays->CopyOfA(part.begin, part.end - part.begin, arrays->a_.As<double>() + part.begin);
    for (int64_t i = part.begin; i < part.end; i += kPageElements) arrays->c()[i] = 0;
  });
  return arrays;
}

absl::Status StreamArrays::AddB(const HostContext& context) {
  if (b_.size_bytes() > 0) return absl::OkStatus();
  SEXTANT_ASSIGN_OR_RETURN(b_, context.memory->Allocate(a_.size_bytes()));
  context.team->Run([&](int index) {
    const Part part = ThreadPart(count_, index, context.team->size());
    CopyOfB(part.begin, part.end - part.begin, b_.As<double>() + part.begin);
  });
  return absl::OkStatus();
}

void StreamArrays::CopyOfA(int64_t first, int64_t count, double* to) const {
  pattern_.Copy(first, count, to);
}

void StreamArrays::CopyOfB(int64_t first, int64_t count, double* to) const {
  pattern_.Copy(kBStart + first, count, to);
}

Part ThreadPart(int64_t count, int index, int thread_count) {
  return PartOf(count, index, thread_count, kPageElements);
}

Part SegmentPart(const Part& part, int64_t segment, int64_t segment_count) {
  const Part inside = PartOf(part.end - part.begin, static_cast<int>(segment),
                             static_cast<int>(segment_count), kLineElements);
  return {.begin = part.begin + inside.begin, .end = part.begin + inside.end};
}

}  // namespace sextant
