#include "gpu_probe/cuda/memory/gpu_stream_workload.h"

#include <utility>

#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/memory/element_check.h"
#include "gpu_probe/cuda/memory/grid.h"

namespace sextant {
namespace {

constexpr uint64_t kSeedOfA = 0;
constexpr uint64_t kSeedOfB = uint64_t{1} << 40;

// The s of calibration.proto. Results of whole numbers below 2^19 stay exact.
constexpr float kStreamScalar = 3;

constexpr unsigned char kStreamPoison = 0xFF;  // as fp32 not a number
constexpr int64_t kSumBytes = sizeof(uint32_t);

// What c must be: added + of_a a + of_b b.
struct StreamResult {
  float added = 0;
  float of_a = 0;
  float of_b = 0;
};

StreamResult ResultOf(GpuStreamOperation operation) {
  switch (operation) {
    case v1::StreamMeasurement::OPERATION_WRITE:
      return {.added = kStreamScalar};
    case v1::StreamMeasurement::OPERATION_SCALE:
      return {.of_a = kStreamScalar};
    case v1::StreamMeasurement::OPERATION_TRIAD:
      return {.of_a = 1, .of_b = kStreamScalar};
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

}  // namespace

absl::StatusOr<std::shared_ptr<GpuStreamArrays>> GpuStreamArrays::Create(
    int64_t array_bytes, const SharedSession& session) {
  SEXTANT_ASSIGN_OR_RETURN(GpuCheck check, GpuCheck::Create(session));
  auto arrays = std::make_shared<GpuStreamArrays>(
      GpuStreamArrays{.array_bytes = array_bytes, .check = std::move(check)});
  SEXTANT_ASSIGN_OR_RETURN(arrays->a, DeviceMemory::Allocate(session, array_bytes));
  SEXTANT_ASSIGN_OR_RETURN(arrays->c, DeviceMemory::Allocate(session, array_bytes));
  const int64_t most_threads = ThreadCountOf(GridOver(array_bytes / kVectorBytes, *session));
  SEXTANT_ASSIGN_OR_RETURN(arrays->sums, DeviceMemory::Allocate(session, most_threads * kSumBytes));
  SEXTANT_RETURN_IF_ERROR(FillWhole(arrays->a, kSeedOfA, session));
  return arrays;
}

absl::Status GpuStreamArrays::AddB(const SharedSession& session) {
  if (b.size_bytes() > 0) return absl::OkStatus();
  SEXTANT_ASSIGN_OR_RETURN(b, DeviceMemory::Allocate(session, array_bytes));
  return FillWhole(b, kSeedOfB, session);
}

GpuStreamWorkload::GpuStreamWorkload(GpuStreamOperation operation, int64_t pass_bytes,
                                     std::shared_ptr<GpuStreamArrays> arrays,
                                     const SharedSession& session)
    : GpuWorkload(session, HostPart::kRecords),
      operation_(operation),
      pass_bytes_(pass_bytes),
      vector_count_(static_cast<uint64_t>(pass_bytes / kVectorBytes)),
      shape_(GridOver(pass_bytes / kVectorBytes, *session)),
      arrays_(std::move(arrays)) {}

void GpuStreamWorkload::Poison() {
  poisoned_ =
      operation_ == v1::StreamMeasurement::OPERATION_READ
          ? session().Fill(arrays_->sums.address(), kStreamPoison, arrays_->sums.size_bytes())
          : session().Fill(arrays_->c.address(), kStreamPoison, pass_bytes_);
}

absl::Status GpuStreamWorkload::Enqueue() {
  const cuda::Address a = arrays_->a.address();
  const cuda::Address c = arrays_->c.address();
  switch (operation_) {
    case v1::StreamMeasurement::OPERATION_READ:
      return session().Launch("stream_read", shape_, arrays_->sums.address(), a, vector_count_);
    case v1::StreamMeasurement::OPERATION_WRITE:
      return session().Launch("stream_write", shape_, c, vector_count_, kStreamScalar);
    case v1::StreamMeasurement::OPERATION_SCALE:
      return session().Launch("stream_scale", shape_, c, a, vector_count_, kStreamScalar);
    case v1::StreamMeasurement::OPERATION_TRIAD:
      return session().Launch("stream_triad", shape_, c, a, arrays_->b.address(), vector_count_,
                              kStreamScalar);
    default:
      return session().Launch("stream_copy", shape_, c, a, vector_count_);
  }
}

absl::Status GpuStreamWorkload::CheckOutput() {
  const StreamResult expected = ResultOf(operation_);
  const int64_t count = pass_bytes_ / static_cast<int64_t>(sizeof(float));
  return AllRight(arrays_->check.Run("check_stream", GridOver(count, session()),
                                     arrays_->c.address(), static_cast<uint64_t>(count), kSeedOfA,
                                     kSeedOfB, expected.added, expected.of_a, expected.of_b),
                  count, "element");
}

absl::Status GpuStreamWorkload::CheckSums() {
  // As many threads as read: each of them adds up what it did.
  return AllRight(arrays_->check.Run("check_stream_read", shape_, arrays_->sums.address(),
                                     vector_count_, kSeedOfA),
                  ThreadCountOf(shape_), "sum");
}

absl::Status GpuStreamWorkload::Check() {
  SEXTANT_RETURN_IF_ERROR(poisoned_);
  return operation_ == v1::StreamMeasurement::OPERATION_READ ? CheckSums() : CheckOutput();
}

double GpuStreamBytes(GpuStreamOperation operation, int64_t array_bytes) {
  const bool one_array = operation == v1::StreamMeasurement::OPERATION_READ ||
                         operation == v1::StreamMeasurement::OPERATION_WRITE;
  const int count = one_array ? 1 : operation == v1::StreamMeasurement::OPERATION_TRIAD ? 3 : 2;
  return count * static_cast<double>(array_bytes);
}

}  // namespace sextant
