#include "gpu_probe/cuda/memory/memory_points.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/gpu_workload.h"
#include "gpu_probe/cuda/memory/gpu_elementwise.h"
#include "gpu_probe/cuda/memory/grid.h"
#include "gpu_probe/cuda/memory/host_copies.h"
#include "gpu_probe/cuda/memory/multiprocessors.h"
#include "gpu_probe/points/memory.h"

namespace sextant::probe {
namespace {

// a and b hold whole numbers by place; operations write c.
struct PassArrays {
  DeviceMemory a = {};
  DeviceMemory b = {};  // empty before TRIAD needs it
  DeviceMemory c = {};
  DeviceMemory sums = {};  // of READ, one a thread
  GpuCheck check = {};
};

constexpr uint64_t kSeedOfA = 0;
constexpr uint64_t kSeedOfSecondArray = uint64_t{1} << 40;

// The s of calibration.proto. Results from whole numbers below 2^19 stay exact.
constexpr float kPassScalar = 3;

constexpr unsigned char kPassPoison = 0xFF;  // NaN as fp32
constexpr int64_t kSumBytes = sizeof(uint32_t);

int64_t ThreadCountOf(const LaunchShape& shape) {
  return int64_t{shape.block_count} * shape.thread_count;
}

// Errors: DeviceMemory::Allocate()'s and GpuSession::Launch()'s.
absl::StatusOr<std::shared_ptr<PassArrays>> MakePassArrays(int64_t array_bytes,
                                                           const SharedSession& session) {
  auto arrays = std::make_shared<PassArrays>();
  SEXTANT_ASSIGN_OR_RETURN(arrays->check, GpuCheck::Create(session));
  SEXTANT_ASSIGN_OR_RETURN(arrays->a, DeviceMemory::Allocate(session, array_bytes));
  SEXTANT_ASSIGN_OR_RETURN(arrays->c, DeviceMemory::Allocate(session, array_bytes));
  const int64_t most_threads = ThreadCountOf(GridOver(array_bytes / kVectorBytes, *session));
  SEXTANT_ASSIGN_OR_RETURN(arrays->sums, DeviceMemory::Allocate(session, most_threads * kSumBytes));
  SEXTANT_RETURN_IF_ERROR(FillWhole(arrays->a, kSeedOfA, 1.0F, *session));
  return arrays;
}

// The sums of all threads, each of which its check recomputes.
std::unique_ptr<Workload> ReadWorkload(int64_t array_bytes, std::shared_ptr<PassArrays> arrays,
                                       const SharedSession& session) {
  const auto vector_count = static_cast<uint64_t>(array_bytes / kVectorBytes);
  const LaunchShape shape = GridOver(array_bytes / kVectorBytes, *session);
  return MakeGpuWorkload(
      session, {.poison =
                    [=] {
                      const DeviceMemory& sums = arrays->sums;
                      return session->Fill(sums.address(), kPassPoison, sums.size_bytes());
                    },
                .enqueue =
                    [=] {
                      return session->Launch("memory_pass_read", shape, arrays->sums.address(),
                                             arrays->a.address(), vector_count);
                    },
                .check =
                    [=] {
                      return AllRight(
                          arrays->check.Run("check_memory_pass_read", shape, arrays->sums.address(),
                                            vector_count, kSeedOfA),
                          ThreadCountOf(shape), "sum");
                    }});
}

// An operation that writes c = added + of_a a + of_b b.
struct Writing {
  const char* kernel = nullptr;
  float added = 0;
  float of_a = 0;
  float of_b = 0;
};

Writing WritingOf(StreamOperation operation) {
  switch (operation) {
    case v1::StreamMeasurement::OPERATION_WRITE:
      return {.kernel = "memory_pass_write", .added = kPassScalar};
    case v1::StreamMeasurement::OPERATION_SCALE:
      return {.kernel = "memory_pass_scale", .of_a = kPassScalar};
    case v1::StreamMeasurement::OPERATION_TRIAD:
      return {.kernel = "memory_pass_triad", .of_a = 1, .of_b = kPassScalar};
    default:
      return {.kernel = "memory_pass_copy", .of_a = 1};
  }
}

absl::Status EnqueueWriting(StreamOperation operation, int64_t array_bytes,
                            const PassArrays& arrays, GpuSession& session) {
  const char* const kernel = WritingOf(operation).kernel;
  const LaunchShape shape = GridOver(array_bytes / kVectorBytes, session);
  const auto count = static_cast<uint64_t>(array_bytes / kVectorBytes);
  const cuda::Address a = arrays.a.address();
  const cuda::Address c = arrays.c.address();
  switch (operation) {
    case v1::StreamMeasurement::OPERATION_WRITE:
      return session.Launch(kernel, shape, c, count, kPassScalar);
    case v1::StreamMeasurement::OPERATION_SCALE:
      return session.Launch(kernel, shape, c, a, count, kPassScalar);
    case v1::StreamMeasurement::OPERATION_TRIAD:
      return session.Launch(kernel, shape, c, a, arrays.b.address(), count, kPassScalar);
    default:
      return session.Launch(kernel, shape, c, a, count);
  }
}

// Its check compares every element.
std::unique_ptr<Workload> WritingWorkload(const StreamPass& pass,
                                          std::shared_ptr<PassArrays> arrays,
                                          const SharedSession& session) {
  const int64_t count = pass.array_bytes / static_cast<int64_t>(sizeof(float));
  return MakeGpuWorkload(
      session,
      {.poison = [=] { return session->Fill(arrays->c.address(), kPassPoison, pass.array_bytes); },
       .enqueue =
           [=] { return EnqueueWriting(pass.operation, pass.array_bytes, *arrays, *session); },
       .check =
           [=] {
             const Writing expected = WritingOf(pass.operation);
             return AllRight(arrays->check.Run("check_memory_pass", GridOver(count, *session),
                                               arrays->c.address(), static_cast<uint64_t>(count),
                                               kSeedOfA, kSeedOfSecondArray, expected.added,
                                               expected.of_a, expected.of_b),
                             count, "element");
           }});
}

constexpr int64_t kLargestPassBytes = int64_t{1} << 30;
constexpr int64_t kSmallestCopyBytes = int64_t{64} << 10;
constexpr int64_t kCopyGrowth = 4;

MakeOne<StreamPass> PassesOn(const absl::StatusOr<int64_t>& array_bytes,
                             const SharedSession& session) {
  return OnArrays<StreamPass, PassArrays>(
      array_bytes, [=](int64_t bytes) { return MakePassArrays(bytes, session); },
      [=](const StreamPass& pass,
          const std::shared_ptr<PassArrays>& arrays) -> absl::StatusOr<std::unique_ptr<Workload>> {
        if (pass.operation == v1::StreamMeasurement::OPERATION_READ) {
          return ReadWorkload(pass.array_bytes, arrays, session);
        }
        if (pass.operation == v1::StreamMeasurement::OPERATION_TRIAD &&
            arrays->b.size_bytes() == 0) {
          SEXTANT_ASSIGN_OR_RETURN(arrays->b,
                                   DeviceMemory::Allocate(session, arrays->a.size_bytes()));
          SEXTANT_RETURN_IF_ERROR(FillWhole(arrays->b, kSeedOfSecondArray, 1.0F, *session));
        }
        return WritingWorkload(pass, arrays, session);
      });
}

// All operations on arrays as large as the memory cap allows (QUICK: only the copy), and copies
// from 64 KiB up to that size in steps of 4. Sizes that don't fit are left out, with a note.
std::vector<Point> GpuMemoryPassPoints(v1::ProbeMode mode, const SharedSession& session) {
  const auto main_bytes =
      GpuArrayBytes({.array_count = 3, .wanted_bytes = kLargestPassBytes}, *session);
  const MakeOne<StreamPass> in_memory = PassesOn(main_bytes, session);
  std::vector<Point> points =
      MainMemoryPoints(mode, {.array_bytes = main_bytes.value_or(0)}, in_memory);
  if (mode == v1::PROBE_MODE_QUICK) return points;
  const int64_t end =
      std::min(main_bytes.value_or(kLargestPassBytes), MostArrayBytes(/*array_count=*/2, *session));
  std::vector<int64_t> sizes;
  int64_t most_cached_bytes = 0;
  for (int64_t size = kSmallestCopyBytes; size < end; size *= kCopyGrowth) {
    sizes.push_back(size);
    if (!IsMainMemory(size, *session)) most_cached_bytes = size;
  }
  const MakeOne<StreamPass> in_cache = PassesOn(most_cached_bytes, session);
  for (const int64_t bytes : sizes) {
    const bool main_memory = IsMainMemory(bytes, *session);
    points.push_back(StreamPoint({.array_bytes = bytes, .main_memory = main_memory},
                                 main_memory ? in_memory : in_cache));
  }
  return points;
}

// The time to start an empty kernel: by one host call a kernel, and by recordings of
// kMaxRecordedRuns kernels.
Point LaunchPoint(v1::LaunchMeasurement::Kind kind, const SharedSession& session) {
  const bool recorded = kind == v1::LaunchMeasurement::KIND_GRAPH;
  Point point;
  point.phase = "launch";
  point.label = recorded ? "empty kernels, recorded" : "empty kernels, one call each";
  point.work = 1;
  point.unit = "kernels/s";
  point.make = [=] {
    return MakeGpuWorkload(
        session,
        {.host_part = recorded ? HostPart::kRecords : HostPart::kBlocks,
         .enqueue =
             [=] { return session->Launch("do_nothing", {.block_count = 1, .thread_count = 32}); },
         // All launches ended without an error.
         .check = [=] { return session->Synchronize(); }});
  };
  point.record = [=](const v1::TimeStatistics& time, v1::Calibration* out) {
    v1::LaunchMeasurement* const measured = out->add_launches();
    measured->set_kind(kind);
    *measured->mutable_time() = time;
  };
  return point;
}

}  // namespace

std::vector<Point> GpuMemoryPoints(v1::ProbeMode mode, const SharedSession& session) {
  std::vector<Point> points = GpuMemoryPassPoints(mode, session);
  Append(HostCopyPoints(mode, session), &points);
  if (mode != v1::PROBE_MODE_QUICK) {
    points.push_back(LaunchPoint(v1::LaunchMeasurement::KIND_STREAM, session));
    points.push_back(LaunchPoint(v1::LaunchMeasurement::KIND_GRAPH, session));
    Append(GpuElementwisePoints(session), &points);
    Append(GpuFusionPoints(session), &points);
    Append(MultiprocessorPoints(session), &points);
  }
  for (Point& point : points) point.minimum_sample_seconds = kGpuSampleSeconds;
  return points;
}

void SummariseGpuMemory(v1::Calibration* calibration) {
  FillRidge(kMinGpuMultiplyAdds, kMaxGpuMultiplyAdds, calibration);
  FillFusionSpeedup(calibration);
}

}  // namespace sextant::probe
