#include "gpu_probe/cuda/memory/host_copies.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/memory/grid.h"
#include "gpu_probe/cuda/memory/host_copy_workload.h"

namespace sextant {
namespace {

constexpr int64_t kKiB = int64_t{1} << 10;
constexpr int64_t kMiB = int64_t{1} << 20;

struct CopySizes {
  std::vector<int64_t> pinned;
  std::vector<int64_t> pageable;
};

CopySizes SizesOf(v1::ProbeMode mode) {
  if (mode == v1::PROBE_MODE_QUICK) return {.pinned = {64 * kMiB}, .pageable = {}};
  const std::vector<int64_t> all = {64 * kKiB, kMiB, 16 * kMiB, 256 * kMiB};
  if (mode == v1::PROBE_MODE_FULL) return {.pinned = all, .pageable = all};
  return {.pinned = {64 * kKiB, 16 * kMiB, 256 * kMiB}, .pageable = {64 * kKiB, 16 * kMiB}};
}

// Buffers that all copies share, there while any of them uses them.
struct CopySource {
  // The largest copies that fit.
  int64_t pinned_bytes = 0;
  int64_t pageable_bytes = 0;
  std::weak_ptr<HostCopyBuffers> buffers = {};
};

absl::StatusOr<std::unique_ptr<Workload>> MakeCopy(const HostCopy& copy, CopySource* source,
                                                   const SharedSession& session) {
  const int64_t host_bytes = copy.pageable ? source->pageable_bytes : source->pinned_bytes;
  if (copy.size_bytes > host_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("needs twice ", copy.size_bytes,
                                                     " bytes of the GPU's memory, and the probe ",
                                                     "may take ", session->memory_cap_bytes()));
  }
  std::shared_ptr<HostCopyBuffers> buffers = source->buffers.lock();
  if (buffers == nullptr) {
    SEXTANT_ASSIGN_OR_RETURN(
        buffers,
        HostCopyBuffers::Create(std::max(source->pinned_bytes, source->pageable_bytes), session));
    source->buffers = buffers;
  }
  SEXTANT_RETURN_IF_ERROR(buffers->NeedHostMemory(copy.pageable, host_bytes, session));
  return std::make_unique<HostCopyWorkload>(copy, std::move(buffers), session);
}

Point CopyPoint(const HostCopy& copy, std::shared_ptr<CopySource> source,
                const SharedSession& session) {
  const bool to_device = copy.direction == v1::HostCopyMeasurement::DIRECTION_HOST_TO_DEVICE;
  Point point;
  point.phase = "host_copy";
  point.label =
      absl::StrCat(to_device ? "host to device, " : "device to host, ", copy.size_bytes / kKiB,
                   " KiB, ", copy.pageable ? "pageable" : "pinned");
  point.work = static_cast<double>(copy.size_bytes);
  point.unit = "B/s";
  point.minimum_sample_seconds = kGpuSampleSeconds;
  point.make = [=] { return MakeCopy(copy, source.get(), session); };
  point.record = [=](const v1::TimeStatistics& time, v1::Calibration* out) {
    v1::HostCopyMeasurement* const measured = out->add_host_copies();
    measured->set_direction(copy.direction);
    measured->set_pageable(copy.pageable);
    measured->set_size_bytes(copy.size_bytes);
    *measured->mutable_time() = time;
    measured->set_bytes_per_second(static_cast<double>(copy.size_bytes) / time.median_seconds());
  };
  return point;
}

}  // namespace

std::vector<Point> HostCopyPoints(v1::ProbeMode mode, const SharedSession& session) {
  const CopySizes sizes = SizesOf(mode);
  const int64_t most_bytes = MostArrayBytes(/*array_count=*/2, *session);
  const auto source = std::make_shared<CopySource>();
  std::vector<Point> points;
  for (const bool pageable : {false, true}) {
    int64_t& largest_bytes = pageable ? source->pageable_bytes : source->pinned_bytes;
    for (const int64_t bytes : pageable ? sizes.pageable : sizes.pinned) {
      if (bytes <= most_bytes) largest_bytes = std::max(largest_bytes, bytes);
      for (const auto direction : {v1::HostCopyMeasurement::DIRECTION_HOST_TO_DEVICE,
                                   v1::HostCopyMeasurement::DIRECTION_DEVICE_TO_HOST}) {
        points.push_back(CopyPoint(
            {.direction = direction, .pageable = pageable, .size_bytes = bytes}, source, session));
      }
    }
  }
  return points;
}

}  // namespace sextant
