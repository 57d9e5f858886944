#include "gpu_probe/cuda/memory/gpu_elementwise.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/gpu_workload.h"
#include "gpu_probe/cuda/memory/grid.h"
#include "gpu_probe/fusion_chain.h"
#include "gpu_probe/points/memory.h"

namespace sextant::probe {
namespace {

constexpr float kDataScale = 0x1p-18F;  // numbers from -2 to 2

constexpr int64_t kLadderArrayBytes = int64_t{512} << 20;
constexpr int64_t kBytesOfElement = sizeof(float);

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

struct LadderArray {
  DeviceMemory x = {};
  GpuCheck check = {};
  int64_t run_count = 0;  // since it was poisoned
};

absl::StatusOr<std::shared_ptr<LadderArray>> MakeLadderArray(int64_t array_bytes,
                                                             const SharedSession& session) {
  auto array = std::make_shared<LadderArray>();
  SEXTANT_ASSIGN_OR_RETURN(array->check, GpuCheck::Create(session));
  SEXTANT_ASSIGN_OR_RETURN(array->x, DeviceMemory::Allocate(session, array_bytes));
  return array;
}

// Compares every element with the result of all runs since it was poisoned, in double.
absl::Status CheckLadder(int64_t step_count, LadderArray& array, GpuSession& session) {
  const double steps = static_cast<double>(array.run_count * step_count);
  const double power = std::pow(double{kLadderFactor}, steps);
  const double rounding = kLadderRounding * std::min(steps, 1 / double{kSlowness});
  const int64_t count = array.x.size_bytes() / kBytesOfElement;
  return AllRight(array.check.Run("check_multiply_adds", GridOver(count, session),
                                  array.x.address(), static_cast<uint64_t>(count), kLadderSeed,
                                  kDataScale, kLadderFixedPoint, power, rounding),
                  count, "element");
}

// `step_count` multiply-adds on every element, in place. Not recorded: the check has to know how
// often it ran. The poison is the array's initial numbers, so that an element that no pass changes,
// or that one pass skips, is detected.
std::unique_ptr<Workload> LadderWorkload(int64_t step_count, std::shared_ptr<LadderArray> array,
                                         const SharedSession& session) {
  return MakeGpuWorkload(
      session, {.host_part = HostPart::kQueues,
                .poison =
                    [=] {
                      array->run_count = 0;
                      return FillWhole(array->x, kLadderSeed, kDataScale, *session);
                    },
                .enqueue =
                    [=, kernel = absl::StrCat("multiply_adds_", step_count)] {
                      ++array->run_count;
                      const int64_t vector_count = array->x.size_bytes() / kVectorBytes;
                      return session->Launch(
                          kernel.c_str(), GridOver(vector_count, *session), array->x.address(),
                          static_cast<uint64_t>(vector_count), kLadderFactor, kLadderSummand);
                    },
                .check = [=] { return CheckLadder(step_count, *array, *session); }});
}

constexpr int64_t kFusionArrayBytes = int64_t{256} << 20;

constexpr uint64_t kFusionSeed = uint64_t{3} << 40;
constexpr uint64_t kResidualSeed = uint64_t{4} << 40;
constexpr uint64_t kBiasSeed = uint64_t{5} << 40;
constexpr float kFusionScale = 0.5F;  // g approximates GELU for arguments about 1

constexpr unsigned char kFusionPoison = 0xFF;  // NaN as fp32
constexpr double kFusionRounding = 10 * 0x1p-24;

// Rows of kFusionChannelCount elements; x, residual and bias are random.
struct ChainArrays {
  DeviceMemory x = {};
  DeviceMemory residual = {};
  DeviceMemory y = {};
  DeviceMemory bias = {};  // one row
  GpuCheck check = {};
};

absl::StatusOr<std::shared_ptr<ChainArrays>> MakeChainArrays(int64_t array_bytes,
                                                             const SharedSession& session) {
  auto arrays = std::make_shared<ChainArrays>();
  SEXTANT_ASSIGN_OR_RETURN(arrays->check, GpuCheck::Create(session));
  SEXTANT_ASSIGN_OR_RETURN(arrays->x, DeviceMemory::Allocate(session, array_bytes));
  SEXTANT_ASSIGN_OR_RETURN(arrays->residual, DeviceMemory::Allocate(session, array_bytes));
  SEXTANT_ASSIGN_OR_RETURN(arrays->y, DeviceMemory::Allocate(session, array_bytes));
  SEXTANT_ASSIGN_OR_RETURN(arrays->bias,
                           DeviceMemory::Allocate(session, kFusionChannelCount * kBytesOfElement));
  SEXTANT_RETURN_IF_ERROR(FillWhole(arrays->x, kFusionSeed, kDataScale, *session));
  SEXTANT_RETURN_IF_ERROR(FillWhole(arrays->residual, kResidualSeed, kDataScale, *session));
  SEXTANT_RETURN_IF_ERROR(FillWhole(arrays->bias, kBiasSeed, kDataScale, *session));
  return arrays;
}

absl::Status EnqueueChain(bool fused, const ChainArrays& arrays, GpuSession& gpu) {
  const auto count = static_cast<uint64_t>(arrays.y.size_bytes() / kVectorBytes);
  const LaunchShape shape = GridOver(arrays.y.size_bytes() / kVectorBytes, gpu);
  const cuda::Address x = arrays.x.address();
  const cuda::Address y = arrays.y.address();
  const cuda::Address bias = arrays.bias.address();
  const cuda::Address residual = arrays.residual.address();
  if (fused) return gpu.Launch("fusion_all", shape, y, x, bias, residual, count, kFusionScale);
  SEXTANT_RETURN_IF_ERROR(gpu.Launch("fusion_scale", shape, y, x, count, kFusionScale));
  SEXTANT_RETURN_IF_ERROR(gpu.Launch("fusion_add_bias", shape, y, bias, count));
  SEXTANT_RETURN_IF_ERROR(gpu.Launch("fusion_activate", shape, y, count));
  return gpu.Launch("fusion_add_residual", shape, y, residual, count);
}

// Its check compares y with the chain in double: the fused and the unfused chain round in different
// places.
std::unique_ptr<Workload> ChainWorkload(bool fused, std::shared_ptr<ChainArrays> arrays,
                                        const SharedSession& session) {
  const int64_t count = arrays->y.size_bytes() / kBytesOfElement;
  return MakeGpuWorkload(
      session,
      {.poison =
           [=] {
             return session->Fill(arrays->y.address(), kFusionPoison, arrays->y.size_bytes());
           },
       .enqueue = [=] { return EnqueueChain(fused, *arrays, *session); },
       .check =
           [=] {
             return AllRight(
                 arrays->check.Run("check_fusion", GridOver(count, *session), arrays->y.address(),
                                   static_cast<uint64_t>(count), kFusionSeed, kBiasSeed,
                                   kResidualSeed, kDataScale, kFusionScale, kFusionRounding),
                 count, "element");
           }});
}

}  // namespace

std::vector<Point> GpuElementwisePoints(const SharedSession& session) {
  const auto array_bytes = GpuArrayBytes({.wanted_bytes = kLadderArrayBytes}, *session);
  return LadderPoints(
      {.fewest = kMinGpuMultiplyAdds,
       .most = kMaxGpuMultiplyAdds,
       .array_bytes = array_bytes.value_or(0)},
      OnArrays<int64_t, LadderArray>(
          array_bytes, [=](int64_t bytes) { return MakeLadderArray(bytes, session); },
          [=](int64_t step_count, const std::shared_ptr<LadderArray>& array) {
            return LadderWorkload(step_count, array, session);
          }));
}

std::vector<Point> GpuFusionPoints(const SharedSession& session) {
  const auto array_bytes =
      GpuArrayBytes({.array_count = 3, .wanted_bytes = kFusionArrayBytes}, *session);
  return FusionPair(array_bytes.value_or(0),
                    OnArrays<bool, ChainArrays>(
                        array_bytes, [=](int64_t bytes) { return MakeChainArrays(bytes, session); },
                        [=](bool fused, const std::shared_ptr<ChainArrays>& arrays) {
                          return ChainWorkload(fused, arrays, session);
                        }));
}

}  // namespace sextant::probe
