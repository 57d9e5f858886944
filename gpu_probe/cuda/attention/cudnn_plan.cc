#include "gpu_probe/cuda/attention/cudnn_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/attention/cudnn_numbers.h"

namespace sextant {
namespace {

// The library lists its choices best first; of attention it has at most a handful.
constexpr int64_t kMostConfigs = 8;

// Configurations that the device supports, best first.
absl::StatusOr<std::vector<CudnnDescriptor>> ConfigsOf(const FinishedCudnnGraph& graph,
                                                       const CudnnTarget& target) {
  const SharedCudnn& cudnn = graph.graph.cudnn();
  CudnnDescriptor heuristics(cudnn, cudnn::kEngineHeuristics);
  heuristics.SetDescriptor(cudnn::kHeuristicsGraph, graph.graph.get())
      .SetEnum(cudnn::kHeuristicsMode, cudnn::kOfHeuristicsMode, cudnn::kHeuristicsBest);
  if (target.description != nullptr) {
    heuristics.SetDescriptor(cudnn::kHeuristicsDevice, target.description->get());
  }
  SEXTANT_RETURN_IF_ERROR(heuristics.Finalize());
  // The library fills descriptors that the caller made.
  std::vector<CudnnDescriptor> configs;
  std::vector<void*> objects;
  for (int64_t i = 0; i < kMostConfigs; ++i) {
    configs.emplace_back(cudnn, cudnn::kEngineConfig);
    objects.push_back(configs.back().get());
  }
  int64_t count = 0;
  SEXTANT_RETURN_IF_ERROR(
      CudnnStatus(*cudnn,
                  cudnn->descriptor_get(heuristics.get(), cudnn::kHeuristicsResults,
                                        cudnn::kOfDescriptor, kMostConfigs, &count, objects.data()),
                  "cudnnBackendGetAttribute of heuristics"));
  configs.resize(static_cast<std::size_t>(std::clamp<int64_t>(count, 0, kMostConfigs)));
  return configs;
}

absl::StatusOr<CudnnDescriptor> FinishPlan(const CudnnDescriptor& config, const CudnnTarget& target,
                                           void* cache) {
  CudnnDescriptor plan(config.cudnn(), cudnn::kExecutionPlan);
  plan.SetDescriptor(cudnn::kPlanConfig, config.get());
  if (target.handle != nullptr) plan.SetHandle(cudnn::kPlanHandle, target.handle);
  if (target.description != nullptr) {
    plan.SetDescriptor(cudnn::kPlanDevice, target.description->get());
  }
  if (cache != nullptr) plan.SetDescriptor(cudnn::kPlanKernelCache, cache);
  SEXTANT_RETURN_IF_ERROR(plan.Finalize());
  return plan;
}

absl::StatusOr<int64_t> WorkspaceBytesOf(const CudnnDescriptor& plan) {
  int64_t count = 0;
  int64_t bytes = 0;
  SEXTANT_RETURN_IF_ERROR(
      CudnnStatus(*plan.cudnn(),
                  plan.cudnn()->descriptor_get(plan.get(), cudnn::kPlanWorkspaceSize,
                                               cudnn::kOfInt64, 1, &count, &bytes),
                  "cudnnBackendGetAttribute of the workspace's size"));
  return bytes;
}

}  // namespace

absl::StatusOr<CudnnDescriptor> CudnnDeviceFrom(const SharedCudnn& cudnn, absl::string_view json) {
  CudnnDescriptor device(cudnn, cudnn::kDeviceProperties);
  device.Set(cudnn::kDeviceJson, cudnn::kOfChar, static_cast<int64_t>(json.size()), json.data());
  SEXTANT_RETURN_IF_ERROR(device.Finalize());
  return device;
}

absl::StatusOr<void*> CudnnKernelCache::For(const FinishedCudnnGraph& graph) {
  if (cache_.get() == nullptr) {
    CudnnDescriptor made(graph.graph.cudnn(), cudnn::kKernelCache);
    made.SetDescriptor(cudnn::kKernelCacheGraph, graph.graph.get());
    SEXTANT_RETURN_IF_ERROR(made.Finalize());
    cache_ = std::move(made);
  }
  return cache_.get();
}

absl::StatusOr<CudnnPlan> PlanOf(FinishedCudnnGraph graph, const CudnnTarget& target,
                                 CudnnKernelCache* cache) {
  void* kernels = nullptr;
  if (cache != nullptr) {
    SEXTANT_ASSIGN_OR_RETURN(kernels, cache->For(graph));
  }
  SEXTANT_ASSIGN_OR_RETURN(std::vector<CudnnDescriptor> configs, ConfigsOf(graph, target));
  absl::Status failed = absl::UnimplementedError(
      absl::StrCat("cuDNN ", graph.graph.cudnn()->version, " has no kernel for it on this GPU"));
  for (CudnnDescriptor& config : configs) {
    absl::StatusOr<CudnnDescriptor> plan = FinishPlan(config, target, kernels);
    if (!plan.ok()) {
      failed = plan.status();
      continue;
    }
    CudnnPlan out = {
        .graph = std::move(graph), .config = std::move(config), .plan = *std::move(plan)};
    SEXTANT_ASSIGN_OR_RETURN(out.workspace_bytes, WorkspaceBytesOf(out.plan));
    return out;
  }
  return failed;
}

}  // namespace sextant
