#include "gpu_probe/cuda/memory/gpu_fusion.h"

#include <utility>

#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/memory/element_check.h"
#include "gpu_probe/cuda/memory/grid.h"
#include "gpu_probe/fusion_chain.h"

namespace sextant {
namespace {

constexpr int64_t kFusionArrayBytes = int64_t{256} << 20;

constexpr uint64_t kFusionSeed = uint64_t{3} << 40;
constexpr uint64_t kResidualSeed = uint64_t{4} << 40;
constexpr uint64_t kBiasSeed = uint64_t{5} << 40;
constexpr float kFusionDataScale = 0x1p-18F;  // numbers from -2 to 2
constexpr float kFusionScale = 0.5F;          // g's terms are of GELU for arguments about 1

constexpr unsigned char kFusionPoison = 0xFF;  // as fp32 not a number
constexpr double kFusionRounding = 10 * 0x1p-24;

absl::Status FillRandom(const DeviceMemory& memory, uint64_t seed, const SharedSession& session) {
  const uint64_t count = static_cast<uint64_t>(memory.size_bytes()) / sizeof(float);
  return session->Launch("fill_whole_fp32", GridOver(static_cast<int64_t>(count), *session),
                         memory.address(), count, seed, kFusionDataScale);
}

// The chain's arrays, there while any workload uses them.
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

std::vector<Point> GpuFusionPoints(const SharedSession& session) {
  const auto source = std::make_shared<GpuFusionSource>(
      GpuFusionSource{.array_bytes = GpuArrayBytes(
                          {.array_count = 3, .wanted_bytes = kFusionArrayBytes}, *session)});
  return {FusionPoint(/*fused=*/false, source, session),
          FusionPoint(/*fused=*/true, source, session)};
}

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
                         kFusionDataScale, kFusionScale, kFusionRounding),
      count, "element");
}

}  // namespace sextant
