#include "gpu_probe/host/elementwise_workload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/host/stream_arrays.h"

namespace sextant {
namespace {

// x -> a x + b draws every element towards b / (1 - a), about 1, slowly: it stays an ordinary
// number however often it is repeated, and differs from what it was before.
constexpr float kFactor = 0.99F;
constexpr float kSummand = 0.01F;
const double kFixedPoint = double{kSummand} / (1 - double{kFactor});

// A step rounds twice at most, by 2^-24 of a value that is at most the larger of |x_0| and 1;
// what earlier steps added shrinks with every step, so that all together stay below 1/(1 - a)
// times that.
constexpr double kRoundingOfStep = 2 * 0x1p-24;

}  // namespace

absl::StatusOr<std::shared_ptr<ElementwiseArray>> ElementwiseArray::Create(
    int64_t count, const HostContext& context) {
  auto array = std::make_shared<ElementwiseArray>();
  array->count = count;
  SEXTANT_ASSIGN_OR_RETURN(array->x,
                           context.memory->Allocate(count * static_cast<int64_t>(sizeof(float))));
  context.team->Run([&](int index) {
    const Part part = ThreadPart(count, index, context.team->size());
    array->pattern.Copy(part.begin, part.end - part.begin, array->x.As<float>() + part.begin);
  });
  return array;
}

ElementwiseWorkload::ElementwiseWorkload(const ElementwiseRun& run,
                                         std::shared_ptr<ElementwiseArray> array,
                                         SharedContext context)
    : context_(std::move(context)), run_(run), array_(std::move(array)) {}

Part ElementwiseWorkload::PartOfThread(int index, int64_t segment) const {
  return SegmentPart(ThreadPart(array_->count, index, context_->team->size()), segment,
                     run_.segment_count);
}

void ElementwiseWorkload::Poison() {
  poisoned_segment_ = next_segment_;
  runs_since_poison_ = 0;
  context_->team->Run([&](int index) {
    const Part part = PartOfThread(index, poisoned_segment_);
    array_->pattern.Copy(part.begin, part.end - part.begin, array_->x.As<float>() + part.begin);
  });
}

absl::Status ElementwiseWorkload::Run(int64_t repetition_count) {
  context_->team->Run([&](int index) {
    for (int64_t i = 0; i < repetition_count; ++i) {
      const Part part = PartOfThread(index, (next_segment_ + i) % run_.segment_count);
      run_.kernel({.x = array_->x.As<float>() + part.begin,
                   .count = part.end - part.begin,
                   .step_count = run_.step_count,
                   .a = kFactor,
                   .b = kSummand});
    }
  });
  next_segment_ = (next_segment_ + repetition_count) % run_.segment_count;
  runs_since_poison_ += repetition_count;
  return absl::OkStatus();
}

int64_t ElementwiseWorkload::FirstWrong(const Part& part) const {
  const double steps =
      static_cast<double>(CeilDivide(runs_since_poison_, run_.segment_count) * run_.step_count);
  const double power = std::pow(double{kFactor}, steps);
  const double rounding = kRoundingOfStep * std::min(steps, 1 / (1 - double{kFactor}));
  return FirstOfBlocks(part.begin, part.end, [&](int64_t first, int64_t count) -> int64_t {
    std::array<float, kCheckedElementCount> start;
    array_->pattern.Copy(first, count, start.data());
    const float* const x = array_->x.As<float>() + first;
    for (int64_t i = 0; i < count; ++i) {
      const double begin = start[static_cast<size_t>(i)];
      const double expected = kFixedPoint + (begin - kFixedPoint) * power;
      const double allowed = rounding * std::max(std::abs(begin), 1.0);
      if (!(std::abs(x[i] - expected) <= allowed)) return first + i;
    }
    return -1;
  });
}

absl::Status ElementwiseWorkload::Check() {
  std::vector<int64_t> wrong(static_cast<size_t>(context_->team->size()), -1);
  context_->team->Run([&](int index) {
    wrong[static_cast<size_t>(index)] = FirstWrong(PartOfThread(index, poisoned_segment_));
  });
  for (const int64_t i : wrong) {
    if (i < 0) continue;
    return absl::DataLossError(absl::StrCat("element ", i, " is ", array_->x.As<float>()[i],
                                            " after ", run_.step_count,
                                            " multiply-adds a pass, not what they give"));
  }
  return absl::OkStatus();
}

}  // namespace sextant
