#include "gpu_probe/cuda/memory/gpu_stream_points.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/gpu_workload.h"
#include "gpu_probe/cuda/memory/gpu_stream_workload.h"
#include "gpu_probe/cuda/memory/grid.h"

namespace sextant {
namespace {

constexpr int64_t kLargestStreamBytes = int64_t{1} << 30;
constexpr int64_t kSmallestCopyBytes = int64_t{64} << 10;
constexpr int64_t kCopyGrowth = 4;

// Arrays that the points of a phase share, there while any of them uses them.
struct StreamSource {
  absl::StatusOr<int64_t> array_bytes;
  std::weak_ptr<GpuStreamArrays> arrays = {};
};
using SharedStreamSource = std::shared_ptr<StreamSource>;

struct Pass {
  GpuStreamOperation operation = v1::StreamMeasurement::OPERATION_COPY;
  int64_t bytes = 0;  // of each array; 0 where there is no memory for it
};

absl::StatusOr<std::unique_ptr<Workload>> MakeStream(const Pass& pass, StreamSource* source,
                                                     const SharedSession& session) {
  SEXTANT_RETURN_IF_ERROR(source->array_bytes.status());
  std::shared_ptr<GpuStreamArrays> arrays = source->arrays.lock();
  if (arrays == nullptr) {
    SEXTANT_ASSIGN_OR_RETURN(arrays, GpuStreamArrays::Create(*source->array_bytes, session));
    source->arrays = arrays;
  }
  if (pass.operation == v1::StreamMeasurement::OPERATION_TRIAD) {
    SEXTANT_RETURN_IF_ERROR(arrays->AddB(session));
  }
  return std::make_unique<GpuStreamWorkload>(pass.operation, pass.bytes, std::move(arrays),
                                             session);
}

Point StreamPoint(const Pass& pass, bool main_memory, SharedStreamSource source,
                  const SharedSession& session) {
  const std::string name = absl::AsciiStrToLower(
      absl::StripPrefix(v1::StreamMeasurement::Operation_Name(pass.operation), "OPERATION_"));
  const double moved_bytes = GpuStreamBytes(pass.operation, pass.bytes);
  Point point;
  point.phase = main_memory ? "memory" : "cache";
  point.label = pass.bytes > 0 ? absl::StrCat(name, " ", pass.bytes / 1024, " KiB")
                               : absl::StrCat(name, " in memory");
  point.work = moved_bytes;
  point.unit = "B/s";
  point.minimum_sample_seconds = kGpuSampleSeconds;
  point.make = [=] { return MakeStream(pass, source.get(), session); };
  point.record = [=](const v1::TimeStatistics& time, v1::Calibration* out) {
    v1::StreamMeasurement* const measured = out->add_streams();
    measured->set_operation(pass.operation);
    measured->set_array_bytes(pass.bytes);
    measured->set_main_memory(main_memory);
    *measured->mutable_time() = time;
    measured->set_bytes_per_second(moved_bytes / time.median_seconds());
  };
  return point;
}

// Sizes of copies below the largest, smallest first.
std::vector<int64_t> SmallerCopySizes(const StreamSource& main, const GpuSession& session) {
  const int64_t end = std::min(main.array_bytes.value_or(kLargestStreamBytes),
                               MostArrayBytes(/*array_count=*/2, session));
  std::vector<int64_t> sizes;
  for (int64_t size = kSmallestCopyBytes; size < end; size *= kCopyGrowth) sizes.push_back(size);
  return sizes;
}

void AppendSmallerCopies(const SharedStreamSource& main, const SharedSession& session,
                         std::vector<Point>* points) {
  const auto cached = std::make_shared<StreamSource>(StreamSource{.array_bytes = 0});
  for (const int64_t bytes : SmallerCopySizes(*main, *session)) {
    const bool main_memory = IsMainMemory(bytes, *session);
    if (!main_memory) cached->array_bytes = bytes;  // the largest of them is the last
    points->push_back(
        StreamPoint({.bytes = bytes}, main_memory, main_memory ? main : cached, session));
  }
}

}  // namespace

std::vector<Point> GpuStreamPoints(v1::ProbeMode mode, const SharedSession& session) {
  const auto main = std::make_shared<StreamSource>(
      StreamSource{.array_bytes = GpuArrayBytes(
                       {.array_count = 3, .wanted_bytes = kLargestStreamBytes}, *session)});
  const int64_t main_bytes = main->array_bytes.value_or(0);
  std::vector<Point> points;
  points.push_back(StreamPoint({.bytes = main_bytes}, /*main_memory=*/true, main, session));
  points.back().first = true;
  if (mode == v1::PROBE_MODE_QUICK) return points;
  for (const auto operation :
       {v1::StreamMeasurement::OPERATION_READ, v1::StreamMeasurement::OPERATION_WRITE,
        v1::StreamMeasurement::OPERATION_SCALE, v1::StreamMeasurement::OPERATION_TRIAD}) {
    points.push_back(StreamPoint({.operation = operation, .bytes = main_bytes},
                                 /*main_memory=*/true, main, session));
  }
  AppendSmallerCopies(main, session, &points);
  return points;
}

}  // namespace sextant
