#include "gpu_probe/host/stream_workload.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

constexpr double kScalar = 3;  // keeps all results whole and exact
constexpr double kUnwrittenNumber = std::numeric_limits<double>::quiet_NaN();

// `count` elements of c from `first` on, as they have to be after the operation.
std::array<double, kCheckedElementCount> Expected(StreamOperation operation,
                                                  const StreamArrays& arrays, int64_t first,
                                                  int64_t count) {
  std::array<double, kCheckedElementCount> out;
  std::array<double, kCheckedElementCount> b;
  out.fill(kScalar);
  if (operation == v1::StreamMeasurement::OPERATION_WRITE) return out;
  arrays.CopyOfA(first, count, out.data());
  for (double& value : out) {
    if (operation == v1::StreamMeasurement::OPERATION_SCALE) value *= kScalar;
  }
  if (operation == v1::StreamMeasurement::OPERATION_TRIAD) {
    arrays.CopyOfB(first, count, b.data());
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) out[i] += kScalar * b[i];
  }
  return out;
}

}  // namespace

StreamWorkload::StreamWorkload(const StreamRun& run, std::shared_ptr<StreamArrays> arrays,
                               SharedContext context)
    : context_(std::move(context)),
      run_(run),
      arrays_(std::move(arrays)),
      sums_(static_cast<size_t>(context_->team->size())) {}

Part StreamWorkload::PartOfThread(int index, int64_t segment) const {
  return SegmentPart(ThreadPart(arrays_->count(), index, context_->team->size()), segment,
                     run_.segment_count);
}

StreamSpan StreamWorkload::SpanOf(const Part& part) const {
  return {.a = arrays_->a() + part.begin,
          .b = arrays_->b() == nullptr ? nullptr : arrays_->b() + part.begin,
          .c = arrays_->c() + part.begin,
          .count = part.end - part.begin,
          .scalar = kScalar,
          .past_caches = run_.past_caches};
}

void StreamWorkload::Poison() {
  poisoned_segment_ = next_segment_;
  for (Sum& sum : sums_) sum.value = kUnwrittenNumber;
  context_->team->Run([&](int index) {
    const Part part = PartOfThread(index, poisoned_segment_);
    std::fill(arrays_->c() + part.begin, arrays_->c() + part.end, kUnwrittenNumber);
  });
}

absl::Status StreamWorkload::Run(int64_t repetition_count) {
  context_->team->Run([&](int index) {
    Part part = PartOfThread(index, next_segment_);
    for (int64_t i = 0; i < repetition_count; ++i) {
      // Its divisions take a fifth of the time of a pass over first-level caches.
      if (i > 0 && run_.segment_count > 1) {
        part = PartOfThread(index, (next_segment_ + i) % run_.segment_count);
      }
      sums_[static_cast<size_t>(index)].value = run_.kernel(run_.operation, SpanOf(part));
    }
  });
  last_segment_ = (next_segment_ + repetition_count - 1) % run_.segment_count;
  next_segment_ = (next_segment_ + repetition_count) % run_.segment_count;
  return absl::OkStatus();
}

int64_t StreamWorkload::FirstWrong(const Part& part) const {
  return FirstOfBlocks(part.begin, part.end, [&](int64_t first, int64_t count) -> int64_t {
    const auto expected = Expected(run_.operation, *arrays_, first, count);
    const double* const c = arrays_->c() + first;
    for (int64_t i = 0; i < count; ++i) {
      if (c[i] != expected[static_cast<size_t>(i)]) return first + i;
    }
    return -1;
  });
}

absl::Status StreamWorkload::CheckOutput(int64_t segment) const {
  std::vector<int64_t> wrong(sums_.size(), -1);
  context_->team->Run([&](int index) {
    wrong[static_cast<size_t>(index)] = FirstWrong(PartOfThread(index, segment));
  });
  for (const int64_t i : wrong) {
    if (i < 0) continue;
    return absl::DataLossError(absl::StrCat("element ", i, " is ", arrays_->c()[i], ", not ",
                                            Expected(run_.operation, *arrays_, i, /*count=*/1)[0]));
  }
  return absl::OkStatus();
}

absl::Status StreamWorkload::CheckSums() const {
  std::vector<Sum> expected(sums_.size());
  context_->team->Run([&](int index) {
    const Part part = PartOfThread(index, last_segment_);
    std::array<double, kCheckedElementCount> a;
    double sum = 0;
    FirstOfBlocks(part.begin, part.end, [&](int64_t first, int64_t count) -> int64_t {
      arrays_->CopyOfA(first, count, a.data());
      for (size_t i = 0; i < static_cast<size_t>(count); ++i) sum += a[i];
      return -1;
    });
    expected[static_cast<size_t>(index)].value = sum;
  });
  for (size_t i = 0; i < sums_.size(); ++i) {
    if (sums_[i].value == expected[i].value) continue;
    return absl::DataLossError(
        absl::StrCat("the sum of thread ", i, " is ", sums_[i].value, ", not ", expected[i].value));
  }
  return absl::OkStatus();
}

absl::Status StreamWorkload::Check() {
  if (run_.operation == v1::StreamMeasurement::OPERATION_READ) return CheckSums();
  SEXTANT_RETURN_IF_ERROR(CheckOutput(poisoned_segment_));
  if (last_segment_ == poisoned_segment_) return absl::OkStatus();
  return CheckOutput(last_segment_);
}

}  // namespace sextant
