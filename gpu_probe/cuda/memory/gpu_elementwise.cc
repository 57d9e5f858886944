#include "gpu_probe/cuda/memory/gpu_elementwise.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/cuda/gpu_workload.h"
#include "gpu_probe/cuda/memory/grid.h"
#include "gpu_probe/fusion_chain.h"

namespace sextant::probe {
namespace {

constexpr float kDataScale = 0x1p-18F;  // numbers from -2 to 2

absl::Status FillRandom(const DeviceMemory& memory, uint64_t seed, const SharedSession& session) {
  const uint64_t count = static_cast<uint64_t>(memory.size_bytes()) / sizeof(float);
  return session->Launch("fill_whole_fp32", GridOver(static_cast<int64_t>(count), *session),
                         memory.address(), count, seed, kDataScale);
}

constexpr int64_t kLadderArrayBytes = int64_t{512} << 20;
constexpr int64_t kBytesOfElement = sizeof(float);
constexpr double kMovedBytesOfElement = 2.0 * kBytesOfElement;  // read and written

constexpr uint64_t kLadderSeed = uint64_t{2} << 40;

// x -> a x + b moves every element towards 1, so slowly that the array stays random however often
// the step is repeated (a thousandth of the way in 16 steps), but far enough to detect a missing
// pass.
constexpr float kSlowness = 0x1p-14F;
constexpr float kLadderFactor = 1 - kSlowness;
constexpr float kLadderSummand = kSlowness;
constexpr double kLadderFixedPoint = 1;

// A multiply-add rounds once, by 2^-24 of a value that is at most the larger of |x_0| and 1, and
// its result may have twice that step. Errors shrink by a with every later step.
constexpr double kLadderRounding = 2 * 0x1p-24;

struct GpuElementwiseArray {
  DeviceMemory x;
  GpuCheck check;
};

// `step_count` multiply-adds on every element, in place.
class GpuElementwiseWorkload : public GpuWorkload {
 public:
  GpuElementwiseWorkload(int64_t step_count, std::shared_ptr<GpuElementwiseArray> array,
                         const SharedSession& session);

  // Restores the array's initial numbers, so that an element that no pass changes, or that one pass
  // skips, is detected.
  void Poison() override;
  // Compares every element with the result of all runs since then, in double.
  absl::Status Check() override;

 private:
  absl::Status Enqueue() override;

  const int64_t step_count_;
  const std::string kernel_;
  const std::shared_ptr<GpuElementwiseArray> array_;
  int64_t runs_since_poison_ = 0;
  absl::Status poisoned_;
};

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
  poisoned_ = FillRandom(array_->x, kLadderSeed, shared_session());
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
                                    kDataScale, kLadderFixedPoint, power, rounding),
                  count, "element");
}

// The ladder's array, which lives while a workload uses it.
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

constexpr int64_t kFusionArrayBytes = int64_t{256} << 20;

constexpr uint64_t kFusionSeed = uint64_t{3} << 40;
constexpr uint64_t kResidualSeed = uint64_t{4} << 40;
constexpr uint64_t kBiasSeed = uint64_t{5} << 40;
constexpr float kFusionScale = 0.5F;  // g approximates GELU for arguments about 1

constexpr unsigned char kFusionPoison = 0xFF;  // NaN as fp32
constexpr double kFusionRounding = 10 * 0x1p-24;

// Rows of kFusionChannelCount elements; x, residual and bias are random.
struct GpuFusionArrays {
  DeviceMemory x = {};
  DeviceMemory residual = {};
  DeviceMemory y = {};
  DeviceMemory bias = {};  // one row
  GpuCheck check;

  // Errors: DeviceMemory::Allocate()'s and GpuSession::Launch()'s.
  static absl::StatusOr<std::shared_ptr<GpuFusionArrays>> Create(int64_t array_bytes,
                                                                 const SharedSession& session);
};

class GpuFusionWorkload : public GpuWorkload {
 public:
  GpuFusionWorkload(bool fused, std::shared_ptr<GpuFusionArrays> arrays,
                    const SharedSession& session);

  void Poison() override;
  // Compares y with the chain in double: the fused and the unfused chain round in different places.
  absl::Status Check() override;

 private:
  absl::Status Enqueue() override;

  const bool fused_;
  const std::shared_ptr<GpuFusionArrays> arrays_;
  const uint64_t vector_count_;
  const LaunchShape shape_;
  absl::Status poisoned_;
};

absl::StatusOr<std::shared_ptr<GpuFusionArrays>> GpuFusionArrays::Create(
    int64_t array_bytes, const SharedSession& session) {
  SEXTANT_ASSIGN_OR_RETURN(GpuCheck check, GpuCheck::Create(session));
  auto arrays = std::make_shared<GpuFusionArrays>(GpuFusionArrays{.check = std::move(check)});
  SEXTANT_ASSIGN_OR_RETURN(arrays->x, DeviceMemory::Allocate(session, array_bytes));
  SEXTANT_ASSIGN_OR_RETURN(arrays->residual, DeviceMemory::Allocate(session, array_bytes));
  SEXTANT_ASSIGN_OR_RETURN(arrays->y, DeviceMemory::Allocate(session, array_bytes));
  SEXTANT_ASSIGN_OR_RETURN(
      arrays->bias,
      DeviceMemory::Allocate(session, kFusionChannelCount * static_cast<int64_t>(sizeof(float))));
  SEXTANT_RETURN_IF_ERROR(FillRandom(arrays->x, kFusionSeed, session));
  SEXTANT_RETURN_IF_ERROR(FillRandom(arrays->residual, kResidualSeed, session));
  SEXTANT_RETURN_IF_ERROR(FillRandom(arrays->bias, kBiasSeed, session));
  return arrays;
}

GpuFusionWorkload::GpuFusionWorkload(bool fused, std::shared_ptr<GpuFusionArrays> arrays,
                                     const SharedSession& session)
    : GpuWorkload(session, HostPart::kRecords),
      fused_(fused),
      arrays_(std::move(arrays)),
      vector_count_(static_cast<uint64_t>(arrays_->y.size_bytes() / kVectorBytes)),
      shape_(GridOver(arrays_->y.size_bytes() / kVectorBytes, *session)) {}

void GpuFusionWorkload::Poison() {
  poisoned_ = session().Fill(arrays_->y.address(), kFusionPoison, arrays_->y.size_bytes());
}

absl::Status GpuFusionWorkload::Enqueue() {
  GpuSession& gpu = session();
  const cuda::Address x = arrays_->x.address();
  const cuda::Address y = arrays_->y.address();
  const cuda::Address bias = arrays_->bias.address();
  const cuda::Address residual = arrays_->residual.address();
  if (fused_) {
    return gpu.Launch("fusion_all", shape_, y, x, bias, residual, vector_count_, kFusionScale);
  }
  SEXTANT_RETURN_IF_ERROR(gpu.Launch("fusion_scale", shape_, y, x, vector_count_, kFusionScale));
  SEXTANT_RETURN_IF_ERROR(gpu.Launch("fusion_add_bias", shape_, y, bias, vector_count_));
  SEXTANT_RETURN_IF_ERROR(gpu.Launch("fusion_activate", shape_, y, vector_count_));
  return gpu.Launch("fusion_add_residual", shape_, y, residual, vector_count_);
}

absl::Status GpuFusionWorkload::Check() {
  SEXTANT_RETURN_IF_ERROR(poisoned_);
  const int64_t count = arrays_->y.size_bytes() / static_cast<int64_t>(sizeof(float));
  return AllRight(
      arrays_->check.Run("check_fusion", GridOver(count, session()), arrays_->y.address(),
                         static_cast<uint64_t>(count), kFusionSeed, kBiasSeed, kResidualSeed,
                         kDataScale, kFusionScale, kFusionRounding),
      count, "element");
}

// The chain's arrays, which live while a workload uses them.
struct GpuFusionSource {
  absl::StatusOr<int64_t> array_bytes;
  std::weak_ptr<GpuFusionArrays> arrays = {};
};

absl::StatusOr<std::unique_ptr<Workload>> MakeFusion(bool fused, GpuFusionSource* source,
                                                     const SharedSession& session) {
  SEXTANT_RETURN_IF_ERROR(source->array_bytes.status());
  std::shared_ptr<GpuFusionArrays> arrays = source->arrays.lock();
  if (arrays == nullptr) {
    SEXTANT_ASSIGN_OR_RETURN(arrays, GpuFusionArrays::Create(*source->array_bytes, session));
    source->arrays = arrays;
  }
  return std::make_unique<GpuFusionWorkload>(fused, std::move(arrays), session);
}

Point FusionPoint(bool fused, std::shared_ptr<GpuFusionSource> source,
                  const SharedSession& session) {
  const int64_t array_bytes = source->array_bytes.value_or(0);
  Point point;
  point.phase = "fusion";
  point.label = fused ? "fused chain" : "unfused chain";
  point.work = (fused ? kFusedArrayCount : kUnfusedArrayCount) * static_cast<double>(array_bytes);
  point.unit = "B/s";
  point.minimum_sample_seconds = kGpuSampleSeconds;
  point.make = [=] { return MakeFusion(fused, source.get(), session); };
  point.record = [=](const v1::TimeStatistics& time, v1::Calibration* out) {
    v1::FusionMeasurement* const measured = out->mutable_fusion();
    measured->set_operation_count(kFusionOperationCount);
    measured->set_array_bytes(array_bytes);
    *(fused ? measured->mutable_fused_time() : measured->mutable_unfused_time()) = time;
  };
  return point;
}

}  // namespace

std::vector<Point> GpuElementwisePoints(const SharedSession& session) {
  const auto source = std::make_shared<LadderSource>(
      LadderSource{.array_bytes = GpuArrayBytes({.wanted_bytes = kLadderArrayBytes}, *session)});
  std::vector<Point> points;
  for (int64_t count = kMinGpuMultiplyAdds; count <= kMaxGpuMultiplyAdds; count *= 2) {
    points.push_back(LadderPoint(count, source, session));
  }
  return points;
}

std::vector<Point> GpuFusionPoints(const SharedSession& session) {
  const auto source = std::make_shared<GpuFusionSource>(
      GpuFusionSource{.array_bytes = GpuArrayBytes(
                          {.array_count = 3, .wanted_bytes = kFusionArrayBytes}, *session)});
  return {FusionPoint(/*fused=*/false, source, session),
          FusionPoint(/*fused=*/true, source, session)};
}

}  // namespace sextant::probe
