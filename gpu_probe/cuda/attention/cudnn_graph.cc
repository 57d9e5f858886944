#include "gpu_probe/cuda/attention/cudnn_graph.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/attention/cudnn_numbers.h"

namespace sextant::probe {
namespace {

constexpr std::size_t kShownErrorLength = 300;

// The library's last error message, on one line.
std::string LastErrorOf(const Cudnn& cudnn) {
  std::array<char, 4096> text = {};
  cudnn.last_error(text.data(), text.size() - 1);
  return absl::StrReplaceAll(absl::string_view(text.data()).substr(0, kShownErrorLength),
                             {{"\n", " "}});
}

constexpr int64_t kTensorAlignmentBytes = 16;

// The library lists its choices best first; for attention at most a handful.
constexpr int64_t kMaxConfigs = 8;

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
  // The library fills descriptors that the caller creates.
  std::vector<CudnnDescriptor> configs;
  std::vector<void*> objects;
  for (int64_t i = 0; i < kMaxConfigs; ++i) {
    configs.emplace_back(cudnn, cudnn::kEngineConfig);
    objects.push_back(configs.back().get());
  }
  int64_t count = 0;
  SEXTANT_RETURN_IF_ERROR(
      CudnnStatus(*cudnn,
                  cudnn->descriptor_get(heuristics.get(), cudnn::kHeuristicsResults,
                                        cudnn::kOfDescriptor, kMaxConfigs, &count, objects.data()),
                  "cudnnBackendGetAttribute of heuristics"));
  configs.resize(static_cast<std::size_t>(std::clamp<int64_t>(count, 0, kMaxConfigs)));
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

absl::Status CudnnStatus(const Cudnn& cudnn, int code, absl::string_view call) {
  if (code == 0) return absl::OkStatus();
  const std::string message = absl::StrCat(call, " of cuDNN ", cudnn.version, " failed with ", code,
                                           ": ", LastErrorOf(cudnn));
  return code / 1000 * 1000 == cudnn::kNotSupported ? absl::UnimplementedError(message)
                                                    : absl::InternalError(message);
}

CudnnDescriptor::CudnnDescriptor(SharedCudnn cudnn, int kind) : cudnn_(std::move(cudnn)) {
  Note(cudnn_->descriptor_create(kind, &object_), "cudnnBackendCreateDescriptor");
}

CudnnDescriptor& CudnnDescriptor::operator=(CudnnDescriptor&& other) noexcept {
  std::swap(cudnn_, other.cudnn_);
  std::swap(object_, other.object_);
  std::swap(status_, other.status_);
  return *this;
}

CudnnDescriptor::~CudnnDescriptor() {
  if (object_ != nullptr) (void)cudnn_->descriptor_destroy(object_);
}

void CudnnDescriptor::Note(int code, absl::string_view call) {
  if (code != 0 && status_.ok()) status_ = CudnnStatus(*cudnn_, code, call);
}

CudnnDescriptor& CudnnDescriptor::Set(int attribute, int type, int64_t count,
                                      const void* elements) {
  if (!status_.ok()) return *this;
  Note(cudnn_->descriptor_set(object_, attribute, type, count, elements),
       absl::StrCat("cudnnBackendSetAttribute of ", attribute));
  return *this;
}

CudnnDescriptor& CudnnDescriptor::SetEnum(int attribute, int type, int value) {
  return Set(attribute, type, 1, &value);
}

CudnnDescriptor& CudnnDescriptor::SetBool(int attribute, bool value) {
  return Set(attribute, cudnn::kOfBool, 1, &value);
}

CudnnDescriptor& CudnnDescriptor::SetInt64s(int attribute, absl::Span<const int64_t> values) {
  return Set(attribute, cudnn::kOfInt64, static_cast<int64_t>(values.size()), values.data());
}

CudnnDescriptor& CudnnDescriptor::SetDescriptor(int attribute, void* value) {
  return Set(attribute, cudnn::kOfDescriptor, 1, &value);
}

CudnnDescriptor& CudnnDescriptor::SetHandle(int attribute, void* value) {
  return Set(attribute, cudnn::kOfHandle, 1, &value);
}

absl::Status CudnnDescriptor::Finalize() {
  if (!status_.ok()) return status_;
  return CudnnStatus(*cudnn_, cudnn_->descriptor_finalize(object_), "cudnnBackendFinalize");
}

void* CudnnGraph::Keep(CudnnDescriptor descriptor) {
  if (status_.ok()) status_ = descriptor.Finalize();
  if (!status_.ok()) return nullptr;
  parts_.push_back(std::move(descriptor));
  return parts_.back().get();
}

CudnnGraph::Tensor CudnnGraph::Add(int64_t id, const CudnnTensor& tensor, Place place) {
  if (!status_.ok()) return nullptr;
  CudnnDescriptor descriptor(cudnn_, cudnn::kTensor);
  descriptor.SetInt64s(cudnn::kTensorId, {id})
      .SetEnum(cudnn::kTensorType, cudnn::kOfDataType, tensor.type)
      .SetInt64s(cudnn::kTensorSizes, tensor.sizes)
      .SetInt64s(cudnn::kTensorStrides, tensor.strides)
      .SetInt64s(cudnn::kTensorAlignment, {kTensorAlignmentBytes})
      .SetBool(cudnn::kTensorIsVirtual, place == kNowhere)
      .SetBool(cudnn::kTensorIsByValue, place == kOnHost);
  return Keep(std::move(descriptor));
}

CudnnDescriptor CudnnGraph::Described(int kind, std::initializer_list<Choice> choices) const {
  CudnnDescriptor what(cudnn_, kind);
  for (const Choice& it : choices) what.SetEnum(it.attribute, it.type, it.value);
  return what;
}

CudnnDescriptor CudnnGraph::PointwiseOf(int mode, int precision) const {
  return Described(cudnn::kPointwise,
                   {{cudnn::kPointwiseMode, cudnn::kOfPointwiseMode, mode},
                    {cudnn::kPointwisePrecision, cudnn::kOfDataType, precision}});
}

void CudnnGraph::AddOperation(int kind, std::pair<int, CudnnDescriptor> what,
                              std::initializer_list<std::pair<int, Tensor>> tensors) {
  if (!status_.ok()) return;
  CudnnDescriptor operation(cudnn_, kind);
  if (what.first != 0) {
    operation.SetDescriptor(what.first, Keep(std::move(what.second)));
  }
  for (const auto& [attribute, tensor] : tensors) {
    if (tensor != nullptr) operation.SetDescriptor(attribute, tensor);
  }
  operations_.push_back(Keep(std::move(operation)));
}

CudnnGraph::Tensor CudnnGraph::Matmul(Tensor a, Tensor b, const Result& out) {
  const Tensor result = TensorOf(out);
  AddOperation(
      cudnn::kMatmulOperation,
      {cudnn::kMatmulOperationWhat,
       Described(cudnn::kMatmul, {{cudnn::kMatmulPrecision, cudnn::kOfDataType, cudnn::kFloat}})},
      {{cudnn::kMatmulOperationA, a},
       {cudnn::kMatmulOperationB, b},
       {cudnn::kMatmulOperationC, result}});
  return result;
}

CudnnGraph::Tensor CudnnGraph::Pointwise(int mode, Tensor x, Tensor b, const Result& out) {
  const Tensor result = TensorOf(out);
  const int precision = mode == cudnn::kAtLeast ? cudnn::kBool : cudnn::kFloat;
  AddOperation(cudnn::kPointwiseOperation,
               {cudnn::kPointwiseOperationWhat, PointwiseOf(mode, precision)},
               {{cudnn::kPointwiseOperationX, x},
                {cudnn::kPointwiseOperationB, b},
                {cudnn::kPointwiseOperationY, result}});
  return result;
}

CudnnGraph::Tensor CudnnGraph::Select(Tensor x, Tensor b, Tensor which, const Result& out) {
  const Tensor result = TensorOf(out);
  AddOperation(cudnn::kPointwiseOperation,
               {cudnn::kPointwiseOperationWhat, PointwiseOf(cudnn::kSelect, cudnn::kFloat)},
               {{cudnn::kPointwiseOperationX, x},
                {cudnn::kPointwiseOperationB, b},
                {cudnn::kPointwiseOperationT, which},
                {cudnn::kPointwiseOperationY, result}});
  return result;
}

CudnnGraph::Tensor CudnnGraph::Index(Tensor x, int64_t axis, const Result& out) {
  const Tensor result = TensorOf(out);
  CudnnDescriptor what = PointwiseOf(cudnn::kIndex, cudnn::kFloat);
  what.SetInt64s(cudnn::kPointwiseAxis, {axis});
  AddOperation(cudnn::kPointwiseOperation, {cudnn::kPointwiseOperationWhat, std::move(what)},
               {{cudnn::kPointwiseOperationX, x}, {cudnn::kPointwiseOperationY, result}});
  return result;
}

CudnnGraph::Tensor CudnnGraph::Reduce(int operation, Tensor x, const Result& out) {
  const Tensor result = TensorOf(out);
  AddOperation(cudnn::kReductionOperation,
               {cudnn::kReductionOperationWhat,
                Described(cudnn::kReduction,
                          {{cudnn::kReductionOperator, cudnn::kOfReduction, operation},
                           {cudnn::kReductionPrecision, cudnn::kOfDataType, cudnn::kFloat}})},
               {{cudnn::kReductionOperationX, x}, {cudnn::kReductionOperationY, result}});
  return result;
}

CudnnGraph::Tensor CudnnGraph::Reshape(Tensor x, const Result& out) {
  const Tensor result = TensorOf(out);
  AddOperation(cudnn::kReshapeOperation, {},
               {{cudnn::kReshapeOperationX, x}, {cudnn::kReshapeOperationY, result}});
  return result;
}

absl::StatusOr<FinishedCudnnGraph> CudnnGraph::Finish(const CudnnGraphOptions& options) {
  SEXTANT_RETURN_IF_ERROR(status_);
  CudnnDescriptor graph(cudnn_, cudnn::kOperationGraph);
  graph.Set(cudnn::kGraphOperations, cudnn::kOfDescriptor, static_cast<int64_t>(operations_.size()),
            operations_.data());
  if (options.handle != nullptr) graph.SetHandle(cudnn::kGraphHandle, options.handle);
  if (options.dynamic_shapes) graph.SetBool(cudnn::kGraphDynamicShapes, true);
  SEXTANT_RETURN_IF_ERROR(graph.Finalize());
  return FinishedCudnnGraph{std::move(parts_), std::move(graph)};
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

}  // namespace sextant::probe
