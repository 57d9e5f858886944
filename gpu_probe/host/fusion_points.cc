#include "gpu_probe/host/fusion_points.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "engine/base/status_macros.h"
#include "gpu_probe/host/fusion_workload.h"
#include "gpu_probe/host/main_memory.h"

namespace sextant {
namespace {

constexpr int64_t kRowBytes = kFusionChannelCount * static_cast<int64_t>(sizeof(float));

// The chain's arrays, there while any workload uses them.
struct FusionArraysSource {
  absl::StatusOr<int64_t> array_bytes;
  std::weak_ptr<FusionArrays> arrays = {};
};

absl::StatusOr<std::unique_ptr<Workload>> Make(bool fused, FusionArraysSource* source,
                                               const SharedContext& context) {
  SEXTANT_RETURN_IF_ERROR(source->array_bytes.status());
  std::shared_ptr<FusionArrays> arrays = source->arrays.lock();
  if (arrays == nullptr) {
    SEXTANT_ASSIGN_OR_RETURN(arrays,
                             FusionArrays::Create(*source->array_bytes / kRowBytes, *context));
    source->arrays = arrays;
  }
  return std::make_unique<FusionWorkload>(FusionKernelOf(WidestSimd(context->features)), fused,
                                          std::move(arrays), context);
}

Point PointOf(bool fused, std::shared_ptr<FusionArraysSource> source,
              const SharedContext& context) {
  const int64_t array_bytes = source->array_bytes.value_or(0);
  Point point;
  point.phase = "fusion";
  point.label = fused ? "fused chain" : "unfused chain";
  point.work = (fused ? kFusedArrayCount : kUnfusedArrayCount) * static_cast<double>(array_bytes);
  point.unit = "B/s";
  point.make = [=] { return Make(fused, source.get(), context); };
  point.record = [=](const v1::TimeStatistics& time, v1::Calibration* out) {
    v1::FusionMeasurement* const measured = out->mutable_fusion();
    measured->set_operation_count(kFusionOperationCount);
    measured->set_array_bytes(array_bytes);
    *(fused ? measured->mutable_fused_time() : measured->mutable_unfused_time()) = time;
  };
  return point;
}

}  // namespace

std::vector<Point> FusionPoints(const SharedContext& context) {
  const auto source = std::make_shared<FusionArraysSource>(FusionArraysSource{
      .array_bytes = ArrayBytes({.array_count = 3, .cache_multiple = 2}, *context)});
  return {PointOf(/*fused=*/false, source, context), PointOf(/*fused=*/true, source, context)};
}

}  // namespace sextant
