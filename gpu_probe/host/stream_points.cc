#include "gpu_probe/host/stream_points.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/host/main_memory.h"
#include "gpu_probe/host/stream_arrays.h"
#include "gpu_probe/host/stream_workload.h"

namespace sextant {
namespace {

// Arrays that no cache holds are at least so large, where memory allows: a cache that others
// share may be larger than the host says. FULL alone has the time for more.
constexpr int64_t kMinimumBytes = int64_t{256} << 20;
constexpr int64_t kMinimumBytesInFull = int64_t{1} << 30;

constexpr int64_t kSmallPageBytes = 4096;
constexpr int64_t kDoubleBytes = sizeof(double);

// A thread's part of each array where caches hold it: with the second array, half of a
// first-level cache of 32 KiB, and of a second-level cache of 1 MiB.
constexpr int64_t kFirstLevelBytes = int64_t{8} << 10;
constexpr int64_t kSecondLevelBytes = int64_t{256} << 10;
// Both arrays together take a quarter of the last level, which others may use too.
constexpr int64_t kLastLevelShare = 8;

// Arrays of one size, there while any workload uses them.
class StreamArraysSource {
 public:
  StreamArraysSource(absl::StatusOr<int64_t> array_bytes, SharedContext context)
      : array_bytes_(std::move(array_bytes)), context_(std::move(context)) {}

  // 0 where there will be none.
  int64_t array_bytes() const { return array_bytes_.value_or(0); }

  absl::StatusOr<std::shared_ptr<StreamArrays>> Get() {
    SEXTANT_RETURN_IF_ERROR(array_bytes_.status());
    if (std::shared_ptr<StreamArrays> there = arrays_.lock()) return there;
    SEXTANT_ASSIGN_OR_RETURN(std::shared_ptr<StreamArrays> made,
                             StreamArrays::Create(*array_bytes_ / kDoubleBytes, *context_));
    arrays_ = made;
    return made;
  }

 private:
  const absl::StatusOr<int64_t> array_bytes_;
  const SharedContext context_;
  std::weak_ptr<StreamArrays> arrays_;
};

Point PointOf(StreamOperation operation, bool main_memory,
              std::shared_ptr<StreamArraysSource> source, const SharedContext& context) {
  const std::string name = absl::AsciiStrToLower(
      absl::StripPrefix(v1::StreamMeasurement::Operation_Name(operation), "OPERATION_"));
  const int64_t segment_count = main_memory ? kSegmentCount : 1;
  const int64_t array_bytes = source->array_bytes();
  const double pass_bytes = StreamBytes(operation, array_bytes / kDoubleBytes);
  Point point;
  point.phase = main_memory ? "memory" : "cache";
  // No size where memory for none is left.
  point.label = array_bytes > 0 ? absl::StrCat(name, " ", array_bytes / 1024, " KiB")
                                : absl::StrCat(name, " in ", point.phase);
  point.work = pass_bytes / static_cast<double>(segment_count);
  point.unit = "B/s";
  point.make = [=]() -> absl::StatusOr<std::unique_ptr<Workload>> {
    SEXTANT_ASSIGN_OR_RETURN(std::shared_ptr<StreamArrays> arrays, source->Get());
    if (operation == v1::StreamMeasurement::OPERATION_TRIAD) {
      SEXTANT_RETURN_IF_ERROR(arrays->AddB(*context));
    }
    return std::make_unique<StreamWorkload>(
        StreamRun{.operation = operation,
                  .kernel = StreamKernelOf(WidestSimd(context->features)),
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

// Bytes of each array where caches hold both, smallest first.
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

std::vector<Point> StreamPoints(v1::ProbeMode mode, const SharedContext& context) {
  std::vector<Point> points;
  const bool quick = mode == v1::PROBE_MODE_QUICK;
  const int64_t minimum_bytes = mode == v1::PROBE_MODE_FULL ? kMinimumBytesInFull : kMinimumBytes;
  const auto main_arrays = std::make_shared<StreamArraysSource>(
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
                             std::make_shared<StreamArraysSource>(bytes, context), context));
  }
  return points;
}

}  // namespace sextant
