#include "gpu_probe/cuda/attention/cudnn_graph.h"

#include <utility>

#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/attention/cudnn_numbers.h"

namespace sextant {
namespace {

constexpr int64_t kTensorAlignmentBytes = 16;

}  // namespace

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

CudnnDescriptor CudnnGraph::PointwiseOf(int mode, int precision) const {
  CudnnDescriptor what(cudnn_, cudnn::kPointwise);
  what.SetEnum(cudnn::kPointwiseMode, cudnn::kOfPointwiseMode, mode)
      .SetEnum(cudnn::kPointwisePrecision, cudnn::kOfDataType, precision);
  return what;
}

void CudnnGraph::AddPointwise(CudnnDescriptor what, Tensor x, Tensor b, Tensor which, Tensor out) {
  void* const kept = Keep(std::move(what));
  if (!status_.ok()) return;
  CudnnDescriptor operation(cudnn_, cudnn::kPointwiseOperation);
  operation.SetDescriptor(cudnn::kPointwiseOperationWhat, kept)
      .SetDescriptor(cudnn::kPointwiseOperationX, x);
  if (b != nullptr) operation.SetDescriptor(cudnn::kPointwiseOperationB, b);
  if (which != nullptr) operation.SetDescriptor(cudnn::kPointwiseOperationT, which);
  operation.SetDescriptor(cudnn::kPointwiseOperationY, out);
  operations_.push_back(Keep(std::move(operation)));
}

CudnnGraph::Tensor CudnnGraph::Matmul(Tensor a, Tensor b, const CudnnTensor& out) {
  const Tensor result = AddVirtual(out);
  MatmulInto(a, b, result);
  return result;
}

void CudnnGraph::MatmulInto(Tensor a, Tensor b, Tensor out) {
  if (!status_.ok()) return;
  CudnnDescriptor what(cudnn_, cudnn::kMatmul);
  what.SetEnum(cudnn::kMatmulPrecision, cudnn::kOfDataType, cudnn::kFloat);
  void* const kept = Keep(std::move(what));
  if (!status_.ok()) return;
  CudnnDescriptor operation(cudnn_, cudnn::kMatmulOperation);
  operation.SetDescriptor(cudnn::kMatmulOperationA, a)
      .SetDescriptor(cudnn::kMatmulOperationB, b)
      .SetDescriptor(cudnn::kMatmulOperationC, out)
      .SetDescriptor(cudnn::kMatmulOperationWhat, kept);
  operations_.push_back(Keep(std::move(operation)));
}

CudnnGraph::Tensor CudnnGraph::Pointwise(int mode, Tensor x, Tensor b, const CudnnTensor& out) {
  const Tensor result = AddVirtual(out);
  PointwiseInto(mode, x, b, result);
  return result;
}

void CudnnGraph::PointwiseInto(int mode, Tensor x, Tensor b, Tensor out) {
  if (!status_.ok()) return;
  const bool compares = mode == cudnn::kAtLeast;
  AddPointwise(PointwiseOf(mode, compares ? cudnn::kBool : cudnn::kFloat), x, b, nullptr, out);
}

CudnnGraph::Tensor CudnnGraph::Select(Tensor x, Tensor b, Tensor which, const CudnnTensor& out) {
  const Tensor result = AddVirtual(out);
  if (!status_.ok()) return nullptr;
  AddPointwise(PointwiseOf(cudnn::kSelect, cudnn::kFloat), x, b, which, result);
  return result;
}

CudnnGraph::Tensor CudnnGraph::Index(Tensor x, int64_t axis, const CudnnTensor& out) {
  const Tensor result = AddVirtual(out);
  if (!status_.ok()) return nullptr;
  CudnnDescriptor what = PointwiseOf(cudnn::kIndex, cudnn::kFloat);
  what.SetInt64s(cudnn::kPointwiseAxis, {axis});
  AddPointwise(std::move(what), x, nullptr, nullptr, result);
  return result;
}

CudnnGraph::Tensor CudnnGraph::Reduce(int operation, Tensor x, const CudnnTensor& out) {
  const Tensor result = AddVirtual(out);
  ReduceInto(operation, x, result);
  return result;
}

void CudnnGraph::ReduceInto(int operation, Tensor x, Tensor out) {
  if (!status_.ok()) return;
  CudnnDescriptor what(cudnn_, cudnn::kReduction);
  what.SetEnum(cudnn::kReductionOperator, cudnn::kOfReduction, operation)
      .SetEnum(cudnn::kReductionPrecision, cudnn::kOfDataType, cudnn::kFloat);
  void* const kept = Keep(std::move(what));
  if (!status_.ok()) return;
  CudnnDescriptor added(cudnn_, cudnn::kReductionOperation);
  added.SetDescriptor(cudnn::kReductionOperationWhat, kept)
      .SetDescriptor(cudnn::kReductionOperationX, x)
      .SetDescriptor(cudnn::kReductionOperationY, out);
  operations_.push_back(Keep(std::move(added)));
}

CudnnGraph::Tensor CudnnGraph::Reshape(Tensor x, const CudnnTensor& out) {
  const Tensor result = AddVirtual(out);
  if (!status_.ok()) return nullptr;
  CudnnDescriptor operation(cudnn_, cudnn::kReshapeOperation);
  operation.SetDescriptor(cudnn::kReshapeOperationX, x)
      .SetDescriptor(cudnn::kReshapeOperationY, result);
  operations_.push_back(Keep(std::move(operation)));
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

}  // namespace sextant
