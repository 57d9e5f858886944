#include "gpu_probe/cuda/memory/gpu_elementwise.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/memory/element_check.h"
#include "gpu_probe/cuda/memory/grid.h"

namespace sextant {
namespace {

constexpr int64_t kLadderArrayBytes = int64_t{512} << 20;
constexpr int64_t kBytesOfElement = sizeof(float);
constexpr double kMovedBytesOfElement = 2.0 * kBytesOfElement;  // read and written

constexpr uint64_t kLadderSeed = uint64_t{2} << 40;
constexpr float kLadderDataScale = 0x1p-18F;  // numbers from -2 to 2

// x -> a x + b draws every element towards 1 so slowly that the array stays random however often
// it is repeated (a thousandth of the way in 16 steps), and far enough for a missing pass to show.
constexpr float kSlowness = 0x1p-14F;
constexpr float kLadderFactor = 1 - kSlowness;
constexpr float kLadderSummand = kSlowness;
constexpr double kLadderFixedPoint = 1;

// A multiply-add rounds once, by 2^-24 of a value that is at most the larger of |x_0| and 1, and
// its result may be twice as coarse as that; what steps added shrinks by a with every later one.
constexpr double kLadderRounding = 2 * 0x1p-24;

// The ladder's array, there while any workload uses it.
struct LadderSource {
  absl::StatusOr<int64_t> array_bytes;
  std::weak_ptr<GpuElementwiseArray> array = {};
};

absl::StatusOr<std::unique_ptr<Workload>> MakeLadderStep(int64_t step_count, LadderSource* source,
                                                         const SharedSession& session) {
  SEXTANT_RETURN_IF_ERROR(source->array_bytes.status());
  std::shared_ptr<GpuElementwiseArray> array = source->array.lock();
  if (array == nullptr) {
    SEXTANT_ASSIGN_OR_RETURN(GpuCheck check, GpuCheck::Create(session));
    SEXTANT_ASSIGN_OR_RETURN(DeviceMemory x, DeviceMemory::Allocate(session, *source->array_bytes));
    array = std::make_shared<GpuElementwiseArray>(
        GpuElementwiseArray{.x = std::move(x), .check = std::move(check)});
    source->array = array;
  }
  return std::make_unique<GpuElementwiseWorkload>(step_count, std::move(array), session);
}

Point LadderPoint(int64_t step_count, std::shared_ptr<LadderSource> source,
                  const SharedSession& session) {
  const int64_t array_bytes = source->array_bytes.value_or(0);
  const double element_count = static_cast<double>(array_bytes / kBytesOfElement);
  const double flops = 2 * static_cast<double>(step_count) * element_count;
  const double bytes = kMovedBytesOfElement * element_count;
  Point point;
  point.phase = "elementwise";
  point.label = absl::StrCat("fp32, ", step_count, " multiply-adds an element");
  point.work = flops;
  point.unit = "FLOP/s";
  point.minimum_sample_seconds = kGpuSampleSeconds;
  point.make = [=] { return MakeLadderStep(step_count, source.get(), session); };
  point.record = [=](const v1::TimeStatistics& time, v1::Calibration* out) {
    v1::ElementwiseMeasurement* const measured = out->add_elementwise();
    measured->set_multiply_add_count(step_count);
    measured->set_flops_per_byte(flops / bytes);
    measured->set_array_bytes(array_bytes);
    *measured->mutable_time() = time;
    measured->set_flops_per_second(flops / time.median_seconds());
    measured->set_bytes_per_second(bytes / time.median_seconds());
  };
  return point;
}

}  // namespace

std::vector<Point> GpuElementwisePoints(const SharedSession& session) {
  const auto source = std::make_shared<LadderSource>(
      LadderSource{.array_bytes = GpuArrayBytes({.wanted_bytes = kLadderArrayBytes}, *session)});
  std::vector<Point> points;
  for (int64_t count = kFewestGpuMultiplyAdds; count <= kMostGpuMultiplyAdds; count *= 2) {
    points.push_back(LadderPoint(count, source, session));
  }
  return points;
}

// Not recorded: the check has to know how often it ran.
GpuElementwiseWorkload::GpuElementwiseWorkload(int64_t step_count,
                                               std::shared_ptr<GpuElementwiseArray> array,
                                               const SharedSession& session)
    : GpuWorkload(session, HostPart::kQueues),
      step_count_(step_count),
      kernel_(absl::StrCat("multiply_adds_", step_count)),
      array_(std::move(array)) {}

void GpuElementwiseWorkload::Poison() {
  runs_since_poison_ = 0;
  const int64_t count = array_->x.size_bytes() / kBytesOfElement;
  poisoned_ = session().Launch("fill_whole_fp32", GridOver(count, session()), array_->x.address(),
                               static_cast<uint64_t>(count), kLadderSeed, kLadderDataScale);
}

absl::Status GpuElementwiseWorkload::Enqueue() {
  ++runs_since_poison_;
  const int64_t vector_count = array_->x.size_bytes() / kVectorBytes;
  return session().Launch(kernel_.c_str(), GridOver(vector_count, session()), array_->x.address(),
                          static_cast<uint64_t>(vector_count), kLadderFactor, kLadderSummand);
}

absl::Status GpuElementwiseWorkload::Check() {
  SEXTANT_RETURN_IF_ERROR(poisoned_);
  const double steps = static_cast<double>(runs_since_poison_ * step_count_);
  const double power = std::pow(double{kLadderFactor}, steps);
  const double rounding = kLadderRounding * std::min(steps, 1 / double{kSlowness});
  const int64_t count = array_->x.size_bytes() / kBytesOfElement;
  return AllRight(array_->check.Run("check_multiply_adds", GridOver(count, session()),
                                    array_->x.address(), static_cast<uint64_t>(count), kLadderSeed,
                                    kLadderDataScale, kLadderFixedPoint, power, rounding),
                  count, "element");
}

}  // namespace sextant
