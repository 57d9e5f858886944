#include "gpu_probe/cuda/memory/memory_points.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/cuda/gpu_workload.h"
#include "gpu_probe/cuda/memory/gpu_elementwise.h"
#include "gpu_probe/cuda/memory/grid.h"
#include "gpu_probe/cuda/memory/host_copies.h"
#include "gpu_probe/cuda/memory/multiprocessors.h"
#include "gpu_probe/derived_figures.h"

namespace sextant::probe {
namespace {

using GpuMemoryPassOperation = v1::StreamMeasurement::Operation;

// a and b hold whole numbers by place; operations write c.
struct GpuMemoryPassArrays {
  int64_t array_bytes = 0;
  DeviceMemory a = {};
  DeviceMemory b = {};  // empty before AddB()
  DeviceMemory c = {};
  DeviceMemory sums = {};  // of READ, one a thread
  GpuCheck check;

  // Errors: DeviceMemory::Allocate()'s and GpuSession::Launch()'s.
  static absl::StatusOr<std::shared_ptr<GpuMemoryPassArrays>> Create(int64_t array_bytes,
                                                                     const SharedSession& session);
  // Adds b, for TRIAD, where it is missing. Errors: Create()'s.
  absl::Status AddB(const SharedSession& session);
};

class GpuMemoryPassWorkload : public GpuWorkload {
 public:
  // Each pass covers the first `pass_bytes` of each array.
  GpuMemoryPassWorkload(GpuMemoryPassOperation operation, int64_t pass_bytes,
                        std::shared_ptr<GpuMemoryPassArrays> arrays, const SharedSession& session);

  void Poison() override;
  // Compares every element, or every thread's sum.
  absl::Status Check() override;

 private:
  absl::Status Enqueue() override;
  absl::Status CheckOutput();
  absl::Status CheckSums();

  const GpuMemoryPassOperation operation_;
  const int64_t pass_bytes_;
  const uint64_t vector_count_;
  const LaunchShape shape_;
  const std::shared_ptr<GpuMemoryPassArrays> arrays_;
  absl::Status poisoned_;
};

constexpr uint64_t kSeedOfA = 0;
constexpr uint64_t kSeedOfSecondArray = uint64_t{1} << 40;

// The s of calibration.proto. Results from whole numbers below 2^19 stay exact.
constexpr float kPassScalar = 3;

constexpr unsigned char kPassPoison = 0xFF;  // NaN as fp32
constexpr int64_t kSumBytes = sizeof(uint32_t);

// The expected c: added + of_a a + of_b b.
struct MemoryPassResult {
  float added = 0;
  float of_a = 0;
  float of_b = 0;
};

MemoryPassResult ResultOf(GpuMemoryPassOperation operation) {
  switch (operation) {
    case v1::StreamMeasurement::OPERATION_WRITE:
      return {.added = kPassScalar};
    case v1::StreamMeasurement::OPERATION_SCALE:
      return {.of_a = kPassScalar};
    case v1::StreamMeasurement::OPERATION_TRIAD:
      return {.of_a = 1, .of_b = kPassScalar};
    default:
      return {.of_a = 1};  // COPY
  }
}

absl::Status FillWhole(const DeviceMemory& memory, uint64_t seed, const SharedSession& session) {
  const uint64_t count = static_cast<uint64_t>(memory.size_bytes()) / sizeof(float);
  return session->Launch("fill_whole_fp32", GridOver(static_cast<int64_t>(count), *session),
                         memory.address(), count, seed, 1.0F);
}

int64_t ThreadCountOf(const LaunchShape& shape) {
  return int64_t{shape.block_count} * shape.thread_count;
}

absl::StatusOr<std::shared_ptr<GpuMemoryPassArrays>> GpuMemoryPassArrays::Create(
    int64_t array_bytes, const SharedSession& session) {
  SEXTANT_ASSIGN_OR_RETURN(GpuCheck check, GpuCheck::Create(session));
  auto arrays = std::make_shared<GpuMemoryPassArrays>(
      GpuMemoryPassArrays{.array_bytes = array_bytes, .check = std::move(check)});
  SEXTANT_ASSIGN_OR_RETURN(arrays->a, DeviceMemory::Allocate(session, array_bytes));
  SEXTANT_ASSIGN_OR_RETURN(arrays->c, DeviceMemory::Allocate(session, array_bytes));
  const int64_t most_threads = ThreadCountOf(GridOver(array_bytes / kVectorBytes, *session));
  SEXTANT_ASSIGN_OR_RETURN(arrays->sums, DeviceMemory::Allocate(session, most_threads * kSumBytes));
  SEXTANT_RETURN_IF_ERROR(FillWhole(arrays->a, kSeedOfA, session));
  return arrays;
}

absl::Status GpuMemoryPassArrays::AddB(const SharedSession& session) {
  if (b.size_bytes() > 0) return absl::OkStatus();
  SEXTANT_ASSIGN_OR_RETURN(b, DeviceMemory::Allocate(session, array_bytes));
  return FillWhole(b, kSeedOfSecondArray, session);
}

GpuMemoryPassWorkload::GpuMemoryPassWorkload(GpuMemoryPassOperation operation, int64_t pass_bytes,
                                             std::shared_ptr<GpuMemoryPassArrays> arrays,
                                             const SharedSession& session)
    : GpuWorkload(session, HostPart::kRecords),
      operation_(operation),
      pass_bytes_(pass_bytes),
      vector_count_(static_cast<uint64_t>(pass_bytes / kVectorBytes)),
      shape_(GridOver(pass_bytes / kVectorBytes, *session)),
      arrays_(std::move(arrays)) {}

void GpuMemoryPassWorkload::Poison() {
  poisoned_ = operation_ == v1::StreamMeasurement::OPERATION_READ
                  ? session().Fill(arrays_->sums.address(), kPassPoison, arrays_->sums.size_bytes())
                  : session().Fill(arrays_->c.address(), kPassPoison, pass_bytes_);
}

absl::Status GpuMemoryPassWorkload::Enqueue() {
  const cuda::Address a = arrays_->a.address();
  const cuda::Address c = arrays_->c.address();
  switch (operation_) {
    case v1::StreamMeasurement::OPERATION_READ:
      return session().Launch("memory_pass_read", shape_, arrays_->sums.address(), a,
                              vector_count_);
    case v1::StreamMeasurement::OPERATION_WRITE:
      return session().Launch("memory_pass_write", shape_, c, vector_count_, kPassScalar);
    case v1::StreamMeasurement::OPERATION_SCALE:
      return session().Launch("memory_pass_scale", shape_, c, a, vector_count_, kPassScalar);
    case v1::StreamMeasurement::OPERATION_TRIAD:
      return session().Launch("memory_pass_triad", shape_, c, a, arrays_->b.address(),
                              vector_count_, kPassScalar);
    default:
      return session().Launch("memory_pass_copy", shape_, c, a, vector_count_);
  }
}

absl::Status GpuMemoryPassWorkload::CheckOutput() {
  const MemoryPassResult expected = ResultOf(operation_);
  const int64_t count = pass_bytes_ / static_cast<int64_t>(sizeof(float));
  return AllRight(
      arrays_->check.Run("check_memory_pass", GridOver(count, session()), arrays_->c.address(),
                         static_cast<uint64_t>(count), kSeedOfA, kSeedOfSecondArray, expected.added,
                         expected.of_a, expected.of_b),
      count, "element");
}

absl::Status GpuMemoryPassWorkload::CheckSums() {
  // With as many threads as the pass had: each recomputes its own sum.
  return AllRight(arrays_->check.Run("check_memory_pass_read", shape_, arrays_->sums.address(),
                                     vector_count_, kSeedOfA),
                  ThreadCountOf(shape_), "sum");
}

absl::Status GpuMemoryPassWorkload::Check() {
  SEXTANT_RETURN_IF_ERROR(poisoned_);
  return operation_ == v1::StreamMeasurement::OPERATION_READ ? CheckSums() : CheckOutput();
}

// Bytes that a pass over arrays of `array_bytes` reads and writes.
double GpuMemoryPassBytes(GpuMemoryPassOperation operation, int64_t array_bytes) {
  const bool one_array = operation == v1::StreamMeasurement::OPERATION_READ ||
                         operation == v1::StreamMeasurement::OPERATION_WRITE;
  const int count = one_array ? 1 : operation == v1::StreamMeasurement::OPERATION_TRIAD ? 3 : 2;
  return count * static_cast<double>(array_bytes);
}

constexpr int64_t kLargestPassBytes = int64_t{1} << 30;
constexpr int64_t kSmallestCopyBytes = int64_t{64} << 10;
constexpr int64_t kCopyGrowth = 4;

// Arrays that the points of a phase share, which live while one of them uses them.
struct MemoryPassSource {
  absl::StatusOr<int64_t> array_bytes;
  std::weak_ptr<GpuMemoryPassArrays> arrays = {};
};
using SharedMemoryPassSource = std::shared_ptr<MemoryPassSource>;

struct Pass {
  GpuMemoryPassOperation operation = v1::StreamMeasurement::OPERATION_COPY;
  int64_t bytes = 0;  // of each array; 0 where memory is too small
};

absl::StatusOr<std::unique_ptr<Workload>> MakeMemoryPass(const Pass& pass, MemoryPassSource* source,
                                                         const SharedSession& session) {
  SEXTANT_RETURN_IF_ERROR(source->array_bytes.status());
  std::shared_ptr<GpuMemoryPassArrays> arrays = source->arrays.lock();
  if (arrays == nullptr) {
    SEXTANT_ASSIGN_OR_RETURN(arrays, GpuMemoryPassArrays::Create(*source->array_bytes, session));
    source->arrays = arrays;
  }
  if (pass.operation == v1::StreamMeasurement::OPERATION_TRIAD) {
    SEXTANT_RETURN_IF_ERROR(arrays->AddB(session));
  }
  return std::make_unique<GpuMemoryPassWorkload>(pass.operation, pass.bytes, std::move(arrays),
                                                 session);
}

Point MemoryPassPoint(const Pass& pass, bool main_memory, SharedMemoryPassSource source,
                      const SharedSession& session) {
  const std::string name = absl::AsciiStrToLower(
      absl::StripPrefix(v1::StreamMeasurement::Operation_Name(pass.operation), "OPERATION_"));
  const double moved_bytes = GpuMemoryPassBytes(pass.operation, pass.bytes);
  Point point;
  point.phase = main_memory ? "memory" : "cache";
  point.label = pass.bytes > 0 ? absl::StrCat(name, " ", pass.bytes / 1024, " KiB")
                               : absl::StrCat(name, " in memory");
  point.work = moved_bytes;
  point.unit = "B/s";
  point.minimum_sample_seconds = kGpuSampleSeconds;
  point.make = [=] { return MakeMemoryPass(pass, source.get(), session); };
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
std::vector<int64_t> SmallerCopySizes(const MemoryPassSource& main, const GpuSession& session) {
  const int64_t end = std::min(main.array_bytes.value_or(kLargestPassBytes),
                               MostArrayBytes(/*array_count=*/2, session));
  std::vector<int64_t> sizes;
  for (int64_t size = kSmallestCopyBytes; size < end; size *= kCopyGrowth) sizes.push_back(size);
  return sizes;
}

void AppendSmallerCopies(const SharedMemoryPassSource& main, const SharedSession& session,
                         std::vector<Point>* points) {
  const auto cached = std::make_shared<MemoryPassSource>(MemoryPassSource{.array_bytes = 0});
  for (const int64_t bytes : SmallerCopySizes(*main, *session)) {
    const bool main_memory = IsMainMemory(bytes, *session);
    if (!main_memory) cached->array_bytes = bytes;  // the last one is the largest
    points->push_back(
        MemoryPassPoint({.bytes = bytes}, main_memory, main_memory ? main : cached, session));
  }
}

// All operations on arrays as large as the memory cap allows (QUICK: only the copy), and copies
// from 64 KiB up to that size in steps of 4. Sizes that don't fit are left out, with a note.
std::vector<Point> GpuMemoryPassPoints(v1::ProbeMode mode, const SharedSession& session) {
  const auto main = std::make_shared<MemoryPassSource>(
      MemoryPassSource{.array_bytes = GpuArrayBytes(
                           {.array_count = 3, .wanted_bytes = kLargestPassBytes}, *session)});
  const int64_t main_bytes = main->array_bytes.value_or(0);
  std::vector<Point> points;
  points.push_back(MemoryPassPoint({.bytes = main_bytes}, /*main_memory=*/true, main, session));
  points.back().first = true;
  if (mode == v1::PROBE_MODE_QUICK) return points;
  for (const auto operation :
       {v1::StreamMeasurement::OPERATION_READ, v1::StreamMeasurement::OPERATION_WRITE,
        v1::StreamMeasurement::OPERATION_SCALE, v1::StreamMeasurement::OPERATION_TRIAD}) {
    points.push_back(MemoryPassPoint({.operation = operation, .bytes = main_bytes},
                                     /*main_memory=*/true, main, session));
  }
  AppendSmallerCopies(main, session, &points);
  return points;
}

class LaunchWorkload : public GpuWorkload {
 public:
  LaunchWorkload(bool recorded, const SharedSession& session)
      : GpuWorkload(session, recorded ? HostPart::kRecords : HostPart::kBlocks) {}

  void Poison() override {}  // it writes nothing
  // Checks that all launches ended without an error.
  absl::Status Check() override { return session().Synchronize(); }

 private:
  absl::Status Enqueue() override {
    return session().Launch("do_nothing", {.block_count = 1, .thread_count = 32});
  }
};

Point LaunchPoint(v1::LaunchMeasurement::Kind kind, const SharedSession& session) {
  const bool recorded = kind == v1::LaunchMeasurement::KIND_GRAPH;
  Point point;
  point.phase = "launch";
  point.label = recorded ? "empty kernels, recorded" : "empty kernels, one call each";
  point.work = 1;
  point.unit = "kernels/s";
  point.minimum_sample_seconds = kGpuSampleSeconds;
  point.make = [=]() -> absl::StatusOr<std::unique_ptr<Workload>> {
    return std::make_unique<LaunchWorkload>(recorded, session);
  };
  point.record = [=](const v1::TimeStatistics& time, v1::Calibration* out) {
    v1::LaunchMeasurement* const measured = out->add_launches();
    measured->set_kind(kind);
    *measured->mutable_time() = time;
  };
  return point;
}

// The time to start an empty kernel: by one host call a kernel, and by recordings of
// kMaxRecordedRuns kernels.
std::vector<Point> GpuLaunchPoints(const SharedSession& session) {
  return {LaunchPoint(v1::LaunchMeasurement::KIND_STREAM, session),
          LaunchPoint(v1::LaunchMeasurement::KIND_GRAPH, session)};
}

}  // namespace

std::vector<Point> GpuMemoryPoints(v1::ProbeMode mode, const SharedSession& session) {
  std::vector<Point> points = GpuMemoryPassPoints(mode, session);
  const auto append = [&](std::vector<Point> more) {
    std::move(more.begin(), more.end(), std::back_inserter(points));
  };
  append(HostCopyPoints(mode, session));
  if (mode == v1::PROBE_MODE_QUICK) return points;
  append(GpuLaunchPoints(session));
  append(GpuElementwisePoints(session));
  append(GpuFusionPoints(session));
  append(MultiprocessorPoints(session));
  return points;
}

void SummariseGpuMemory(v1::Calibration* calibration) {
  FillRidge(kMinGpuMultiplyAdds, kMaxGpuMultiplyAdds, calibration);
  FillFusionSpeedup(calibration);
}

}  // namespace sextant::probe
