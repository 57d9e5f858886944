#include "gpu_probe/host/elementwise_workload.h"

#include <algorithm>
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
    for (int64_t i = part.begin; i < part.end; ++i) array->x.As<float>()[i] = array->pattern.at(i);
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
    for (int64_t i = part.begin; i < part.end; ++i) {
      array_->x.As<float>()[i] = array_->pattern.at(i);
    }
  });
}

void ElementwiseWorkload::Run(int64_t repetition_count) {
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
}

int64_t ElementwiseWorkload::StepsSincePoison() const {
  return CeilDivide(runs_since_poison_, run_.segment_count) * run_.step_count;
}

double ElementwiseWorkload::Expected(int64_t i) const {
  const double power = std::pow(double{kFactor}, static_cast<double>(StepsSincePoison()));
  return kFixedPoint + (array_->pattern.at(i) - kFixedPoint) * power;
}

double ElementwiseWorkload::Allowed(int64_t i) const {
  const double steps = std::min(static_cast<double>(StepsSincePoison()), 1 / (1 - double{kFactor}));
  return steps * kRoundingOfStep * std::max(std::abs(double{array_->pattern.at(i)}), 1.0);
}

int64_t ElementwiseWorkload::FirstWrong(const Part& part) const {
  const float* const x = array_->x.As<float>();
  for (int64_t i = part.begin; i < part.end; ++i) {
    if (!(std::abs(x[i] - Expected(i)) <= Allowed(i))) return i;
  }
  return -1;
}

absl::Status ElementwiseWorkload::Check() {
  std::vector<int64_t> wrong(static_cast<size_t>(context_->team->size()), -1);
  context_->team->Run([&](int index) {
    wrong[static_cast<size_t>(index)] = FirstWrong(PartOfThread(index, poisoned_segment_));
  });
  for (const int64_t i : wrong) {
    if (i < 0) continue;
    return absl::DataLossError(
        absl::StrCat("element ", i, " is ", array_->x.As<float>()[i], ", not ", Expected(i)));
  }
  return absl::OkStatus();
}

}  // namespace sextant
