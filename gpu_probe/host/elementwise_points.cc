#include "gpu_probe/host/elementwise_points.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/host/elementwise_workload.h"
#include "gpu_probe/host/main_memory.h"

namespace sextant {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);
constexpr int64_t kMovedBytesAnElement = 2 * kFloatBytes;  // read and written

// The ladder's array, there while any workload uses it.
struct ArraySource {
  absl::StatusOr<int64_t> array_bytes;
  std::weak_ptr<ElementwiseArray> array = {};
};

absl::StatusOr<std::unique_ptr<Workload>> Make(int64_t multiply_add_count, ArraySource* source,
                                               const SharedContext& context) {
  SEXTANT_RETURN_IF_ERROR(source->array_bytes.status());
  std::shared_ptr<ElementwiseArray> array = source->array.lock();
  if (array == nullptr) {
    SEXTANT_ASSIGN_OR_RETURN(
        array, ElementwiseArray::Create(*source->array_bytes / kFloatBytes, *context));
    source->array = array;
  }
  return std::make_unique<ElementwiseWorkload>(
      ElementwiseRun{.kernel = ElementwiseKernelOf(WidestSimd(context->features)),
                     .step_count = multiply_add_count,
                     .segment_count = kSegmentCount},
      std::move(array), context);
}

Point PointOf(int64_t multiply_add_count, std::shared_ptr<ArraySource> source,
              const SharedContext& context) {
  const int64_t array_bytes = source->array_bytes.value_or(0);
  const double element_count = static_cast<double>(array_bytes / kFloatBytes);
  const double flops = 2 * static_cast<double>(multiply_add_count) * element_count;
  const double bytes = kMovedBytesAnElement * element_count;
  Point point;
  point.phase = "elementwise";
  point.label = absl::StrCat("fp32, ", multiply_add_count, " multiply-adds an element");
  point.work = flops / kSegmentCount;
  point.unit = "FLOP/s";
  point.make = [=] { return Make(multiply_add_count, source.get(), context); };
  point.record = [=](const v1::TimeStatistics& time, v1::Calibration* out) {
    v1::ElementwiseMeasurement* const measured = out->add_elementwise();
    measured->set_multiply_add_count(multiply_add_count);
    measured->set_flops_per_byte(flops / bytes);
    measured->set_array_bytes(array_bytes);
    *measured->mutable_time() = TimeOfPass(time, kSegmentCount);
    measured->set_flops_per_second(flops / measured->time().median_seconds());
    measured->set_bytes_per_second(bytes / measured->time().median_seconds());
  };
  return point;
}

}  // namespace

std::vector<Point> ElementwisePoints(const SharedContext& context) {
  const auto source = std::make_shared<ArraySource>(
      ArraySource{.array_bytes = ArrayBytes({.minimum_bytes = int64_t{128} << 20}, *context)});
  std::vector<Point> points;
  for (int64_t count = kFewestMultiplyAdds; count <= kMostMultiplyAdds; count *= 2) {
    points.push_back(PointOf(count, source, context));
  }
  return points;
}

}  // namespace sextant
