#include "gpu_probe/host/memory_pass.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "engine/base/status_macros.h"

namespace sextant::probe {
namespace {

// The place in the pattern where b starts; a starts at 0, so b is not a copy of a.
constexpr int64_t kBStart = 314'159;

std::vector<double> WholeNumbers() {
  constexpr int kUnusedBits = 41;  // 23 are left: -2^22 to 2^22 - 1
  constexpr int64_t kHalf = int64_t{1} << 22;
  std::vector<double> out(static_cast<size_t>(kPatternCount));
  for (size_t i = 0; i < out.size(); ++i) {
    const auto bits = static_cast<int64_t>(RandomBits(i) >> kUnusedBits);
    // 0 marks elements that were not written.
    out[i] = static_cast<double>(bits == kHalf ? 1 : bits - kHalf);
  }
  return out;
}

constexpr double kScalar = 3;  // keeps all results whole and exact
constexpr double kUnwrittenNumber = std::numeric_limits<double>::quiet_NaN();

// `count` elements of c from `first` on, as the operation has to leave them.
std::array<double, kCheckedElementCount> Expected(MemoryPassOperation operation,
                                                  const MemoryPassArrays& arrays, int64_t first,
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

// The least size of arrays that exceed all caches, where memory allows: a cache shared with others
// may be larger than the host reports. Only FULL has time for the larger size.
constexpr int64_t kMinBytes = int64_t{256} << 20;
constexpr int64_t kMinBytesInFull = int64_t{1} << 30;

constexpr int64_t kSmallPageBytes = 4096;
constexpr int64_t kDoubleBytes = sizeof(double);

// A thread's part of each array for caches: with the second array, half of a first-level cache of
// 32 KiB, and of a second-level cache of 1 MiB.
constexpr int64_t kFirstLevelBytes = int64_t{8} << 10;
constexpr int64_t kSecondLevelBytes = int64_t{256} << 10;
// Both arrays together take a quarter of the last level, which others may use, too.
constexpr int64_t kLastLevelShare = 8;

// Arrays of one size, which live while a workload uses them.
class MemoryPassArraysSource {
 public:
  MemoryPassArraysSource(absl::StatusOr<int64_t> array_bytes, SharedContext context)
      : array_bytes_(std::move(array_bytes)), context_(std::move(context)) {}

  // 0 where no arrays will be made.
  int64_t array_bytes() const { return array_bytes_.value_or(0); }

  absl::StatusOr<std::shared_ptr<MemoryPassArrays>> Get() {
    SEXTANT_RETURN_IF_ERROR(array_bytes_.status());
    if (std::shared_ptr<MemoryPassArrays> there = arrays_.lock()) return there;
    SEXTANT_ASSIGN_OR_RETURN(std::shared_ptr<MemoryPassArrays> made,
                             MemoryPassArrays::Create(*array_bytes_ / kDoubleBytes, *context_));
    arrays_ = made;
    return made;
  }

 private:
  const absl::StatusOr<int64_t> array_bytes_;
  const SharedContext context_;
  std::weak_ptr<MemoryPassArrays> arrays_;
};

Point PointOf(MemoryPassOperation operation, bool main_memory,
              std::shared_ptr<MemoryPassArraysSource> source, const SharedContext& context) {
  const std::string name = absl::AsciiStrToLower(
      absl::StripPrefix(v1::StreamMeasurement::Operation_Name(operation), "OPERATION_"));
  const int64_t segment_count = main_memory ? kSegmentCount : 1;
  const int64_t array_bytes = source->array_bytes();
  const double pass_bytes = MemoryPassBytes(operation, array_bytes / kDoubleBytes);
  Point point;
  point.phase = main_memory ? "memory" : "cache";
  // No size where no memory is left.
  point.label = array_bytes > 0 ? absl::StrCat(name, " ", array_bytes / 1024, " KiB")
                                : absl::StrCat(name, " in ", point.phase);
  point.work = pass_bytes / static_cast<double>(segment_count);
  point.unit = "B/s";
  point.make = [=]() -> absl::StatusOr<std::unique_ptr<Workload>> {
    SEXTANT_ASSIGN_OR_RETURN(std::shared_ptr<MemoryPassArrays> arrays, source->Get());
    if (operation == v1::StreamMeasurement::OPERATION_TRIAD) {
      SEXTANT_RETURN_IF_ERROR(arrays->AddB(*context));
    }
    return std::make_unique<MemoryPassWorkload>(
        MemoryPassRun{.operation = operation,
                      .kernel = MemoryPassKernelOf(WidestSimd(context->features)),
                      .segment_count = segment_count,
                      .past_caches = main_memory},
        std::move(arrays), context);
  };
  point.record = [=](const v1::TimeStatistics& time, v1::Calibration* out) {
    v1::StreamMeasurement* const measured = out->add_streams();
    measured->set_operation(operation);
    measured->set_array_bytes(array_bytes);
    measured->set_main_memory(main_memory);
    *measured->mutable_time() = TimeOfPass(time, static_cast<double>(segment_count));
    measured->set_bytes_per_second(pass_bytes / measured->time().median_seconds());
  };
  return point;
}

// Bytes of each array where both fit into a cache, smallest first.
std::vector<int64_t> CachedSizes(v1::ProbeMode mode, const HostContext& context) {
  const int64_t threads = context.team->size();
  if (mode == v1::PROBE_MODE_QUICK) return {};
  std::vector<int64_t> sizes = {kFirstLevelBytes * threads, kSecondLevelBytes * threads};
  const int64_t last_level_bytes = context.cache_bytes.value_or(0) / kLastLevelShare;
  if (mode == v1::PROBE_MODE_FULL) {
    sizes.clear();
    const int64_t end = std::max(last_level_bytes, kSecondLevelBytes * threads);
    for (int64_t size = kFirstLevelBytes * threads; size < end; size *= 4) sizes.push_back(size);
  }
  const int64_t whole_pages_bytes = last_level_bytes / kSmallPageBytes * kSmallPageBytes;
  if (whole_pages_bytes > sizes.back()) sizes.push_back(whole_pages_bytes);
  return sizes;
}

}  // namespace

MemoryPassArrays::MemoryPassArrays(int64_t count) : count_(count), pattern_(WholeNumbers()) {}

absl::StatusOr<std::shared_ptr<MemoryPassArrays>> MemoryPassArrays::Create(
    int64_t count, const HostContext& context) {
  auto arrays = absl::WrapUnique(new MemoryPassArrays(count));
  const int64_t bytes = count * static_cast<int64_t>(sizeof(double));
  SEXTANT_ASSIGN_OR_RETURN(arrays->a_, context.memory->Allocate(bytes));
  SEXTANT_ASSIGN_OR_RETURN(arrays->c_, context.memory->Allocate(bytes));
  context.team->Run([&](int index) {
    const Part part = ThreadPart(count, index, context.team->size());
    arrays->CopyOfA(part.begin, part.end - part.begin, arrays->a_.As<double>() + part.begin);
    for (int64_t i = part.begin; i < part.end; i += kThreadPartBlock) arrays->c()[i] = 0;
  });
  return arrays;
}

absl::Status MemoryPassArrays::AddB(const HostContext& context) {
  if (b_.size_bytes() > 0) return absl::OkStatus();
  SEXTANT_ASSIGN_OR_RETURN(b_, context.memory->Allocate(a_.size_bytes()));
  context.team->Run([&](int index) {
    const Part part = ThreadPart(count_, index, context.team->size());
    CopyOfB(part.begin, part.end - part.begin, b_.As<double>() + part.begin);
  });
  return absl::OkStatus();
}

void MemoryPassArrays::CopyOfA(int64_t first, int64_t count, double* to) const {
  pattern_.Copy(first, count, to);
}

void MemoryPassArrays::CopyOfB(int64_t first, int64_t count, double* to) const {
  pattern_.Copy(kBStart + first, count, to);
}

MemoryPassWorkload::MemoryPassWorkload(const MemoryPassRun& run,
                                       std::shared_ptr<MemoryPassArrays> arrays,
                                       SharedContext context)
    : context_(std::move(context)),
      run_(run),
      arrays_(std::move(arrays)),
      sums_(static_cast<size_t>(context_->team->size())) {}

Part MemoryPassWorkload::PartOfThread(int index, int64_t segment) const {
  return SegmentPart(ThreadPart(arrays_->count(), index, context_->team->size()), segment,
                     run_.segment_count);
}

MemoryPassSpan MemoryPassWorkload::SpanOf(const Part& part) const {
  return {.a = arrays_->a() + part.begin,
          .b = arrays_->b() == nullptr ? nullptr : arrays_->b() + part.begin,
          .c = arrays_->c() + part.begin,
          .count = part.end - part.begin,
          .scalar = kScalar,
          .past_caches = run_.past_caches};
}

void MemoryPassWorkload::Poison() {
  poisoned_segment_ = next_segment_;
  for (Sum& sum : sums_) sum.value = kUnwrittenNumber;
  context_->team->Run([&](int index) {
    const Part part = PartOfThread(index, poisoned_segment_);
    std::fill(arrays_->c() + part.begin, arrays_->c() + part.end, kUnwrittenNumber);
  });
}

absl::Status MemoryPassWorkload::Run(int64_t repetition_count) {
  context_->team->Run([&](int index) {
    Part part = PartOfThread(index, next_segment_);
    for (int64_t i = 0; i < repetition_count; ++i) {
      // PartOfThread()'s divisions take a fifth of the time of a pass over first-level caches.
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

int64_t MemoryPassWorkload::FirstWrong(const Part& part) const {
  return FirstOfBlocks(part.begin, part.end, [&](int64_t first, int64_t count) -> int64_t {
    const auto expected = Expected(run_.operation, *arrays_, first, count);
    const double* const c = arrays_->c() + first;
    for (int64_t i = 0; i < count; ++i) {
      if (c[i] != expected[static_cast<size_t>(i)]) return first + i;
    }
    return -1;
  });
}

absl::Status MemoryPassWorkload::CheckOutput(int64_t segment) const {
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

absl::Status MemoryPassWorkload::CheckSums() const {
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

absl::Status MemoryPassWorkload::Check() {
  if (run_.operation == v1::StreamMeasurement::OPERATION_READ) return CheckSums();
  SEXTANT_RETURN_IF_ERROR(CheckOutput(poisoned_segment_));
  if (last_segment_ == poisoned_segment_) return absl::OkStatus();
  return CheckOutput(last_segment_);
}

std::vector<Point> MemoryPassPoints(v1::ProbeMode mode, const SharedContext& context) {
  std::vector<Point> points;
  const bool quick = mode == v1::PROBE_MODE_QUICK;
  const int64_t minimum_bytes = mode == v1::PROBE_MODE_FULL ? kMinBytesInFull : kMinBytes;
  const auto main_arrays = std::make_shared<MemoryPassArraysSource>(
      ArrayBytes({.array_count = 3, .minimum_bytes = minimum_bytes}, *context), context);
  points.push_back(
      PointOf(v1::StreamMeasurement::OPERATION_COPY, /*main_memory=*/true, main_arrays, context));
  points.back().first = true;
  if (quick) return points;
  for (const auto operation :
       {v1::StreamMeasurement::OPERATION_READ, v1::StreamMeasurement::OPERATION_WRITE,
        v1::StreamMeasurement::OPERATION_SCALE, v1::StreamMeasurement::OPERATION_TRIAD}) {
    points.push_back(PointOf(operation, /*main_memory=*/true, main_arrays, context));
  }
  for (const int64_t bytes : CachedSizes(mode, *context)) {
    points.push_back(PointOf(v1::StreamMeasurement::OPERATION_COPY, /*main_memory=*/false,
                             std::make_shared<MemoryPassArraysSource>(bytes, context), context));
  }
  return points;
}

}  // namespace sextant::probe
