#include "gpu_probe/host/stream_arrays.h"

#include <limits>

#include "engine/base/status_macros.h"
#include "gpu_probe/host/random_data.h"

namespace sextant {
namespace {

// Threads share no page, and segments no cache line; every start suits streaming stores.
constexpr int64_t kPageElements = 512;
constexpr int64_t kLineElements = 8;

// Apart from a's, so that b is no copy of it.
constexpr uint64_t kBSeed = uint64_t{1} << 60;

double WholeNumber(uint64_t counter) {
  constexpr int kUnusedBits = 41;  // 23 are left: -2^22 to 2^22 - 1
  return static_cast<double>(static_cast<int64_t>(RandomBits(counter) >> kUnusedBits) -
                             (int64_t{1} << 22));
}

}  // namespace

double StreamArrays::AValue(int64_t i) { return WholeNumber(static_cast<uint64_t>(i)); }
double StreamArrays::BValue(int64_t i) { return WholeNumber(kBSeed + static_cast<uint64_t>(i)); }

absl::StatusOr<std::shared_ptr<StreamArrays>> StreamArrays::Create(int64_t count,
                                                                   const HostContext& context) {
  auto arrays = std::make_shared<StreamArrays>();
  arrays->count = count;
  const int64_t bytes = count * static_cast<int64_t>(sizeof(double));
  SEXTANT_ASSIGN_OR_RETURN(arrays->a, context.memory->Allocate(bytes));
  SEXTANT_ASSIGN_OR_RETURN(arrays->b, context.memory->Allocate(bytes));
  SEXTANT_ASSIGN_OR_RETURN(arrays->c, context.memory->Allocate(bytes));
  context.team->Run([&](int index) {
    const Part part = ThreadPart(count, index, context.team->size());
    for (int64_t i = part.begin; i < part.end; ++i) {
      arrays->a.As<double>()[i] = AValue(i);
      arrays->b.As<double>()[i] = BValue(i);
      arrays->c.As<double>()[i] = std::numeric_limits<double>::quiet_NaN();
    }
  });
  return arrays;
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
