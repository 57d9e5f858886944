#include "tests/gpu_probe/cuda/fake_cudnn.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "gpu_probe/cuda/attention/cudnn_numbers.h"

namespace sextant::probe {
namespace {

constexpr int kBadParameter = 2000;
constexpr int kExecutionFailedByDriver = 5001;
constexpr double kAttentionLaunchSeconds = 5e-6;
// Attention's share of the rate of products of matrices.
constexpr double kAttentionShare = 0.7;

constexpr int kOperationKinds[] = {cudnn::kPointwiseOperation, cudnn::kMatmulOperation,
                                   cudnn::kReductionOperation, cudnn::kReshapeOperation};

}  // namespace

int FakeCudnn::Fail(int code, const std::string& why) {
  last_error_ = why;
  return code;
}

int FakeCudnn::Set(Object* object, int attribute, int type, int64_t count, const void* elements) {
  if (object->finished) return Fail(kBadParameter, "it is finished");
  const auto length = static_cast<std::size_t>(count);
  if (type == cudnn::kOfDescriptor) {
    auto* const* const from = static_cast<Object* const*>(elements);
    for (std::size_t i = 0; i < length; ++i) {
      if (from[i] == nullptr || !from[i]->finished) return Fail(kBadParameter, "not finished");
    }
    object->objects[attribute].assign(from, from + length);
  } else if (type == cudnn::kOfPointer || type == cudnn::kOfHandle) {
    auto* const* const from = static_cast<void* const*>(elements);
    object->pointers[attribute].assign(from, from + length);
  } else if (type == cudnn::kOfInt64) {
    const auto* const from = static_cast<const int64_t*>(elements);
    object->numbers[attribute].assign(from, from + length);
  } else if (type == cudnn::kOfBool) {
    object->numbers[attribute] = {*static_cast<const bool*>(elements) ? 1 : 0};
  } else {
    object->numbers[attribute] = {*static_cast<const int*>(elements)};
  }
  return 0;
}

const std::vector<FakeCudnn::Object*>& FakeCudnn::OperationsOf(const Object* graph) const {
  return graph->objects.at(cudnn::kGraphOperations);
}

bool FakeCudnn::HasKernelFor(const Object* graph) const {
  if (graph->numbers.count(cudnn::kGraphDynamicShapes) > 0 && !dynamic_shapes) return false;
  for (const Object* operation : OperationsOf(graph)) {
    if (operation->kind != cudnn::kMatmulOperation) continue;
    const Object* const a = operation->objects.at(cudnn::kMatmulOperationA).front();
    if (unknown_head_sizes.count(a->numbers.at(cudnn::kTensorSizes)[3]) > 0) return false;
  }
  return true;
}

int FakeCudnn::FinalizePlan(Object* plan) {
  if (plan->objects.count(cudnn::kPlanConfig) == 0 ||
      plan->pointers.count(cudnn::kPlanHandle) == 0) {
    return Fail(kBadParameter, "a plan without configuration or handle");
  }
  const auto cache = plan->objects.find(cudnn::kPlanKernelCache);
  if (cache == plan->objects.end()) {
    Compile();
  } else if (!std::exchange(cache->second.front()->compiled, true)) {
    Compile();
  }
  return 0;
}

void FakeCudnn::Compile() {
  ++compiled_count_;
  if (on_compile) on_compile();
}

int FakeCudnn::Finalize(Object* object) {
  if (object->finished) return Fail(kBadParameter, "it was finished before");
  if (object->kind == cudnn::kOperationGraph) {
    const auto operations = object->objects.find(cudnn::kGraphOperations);
    if (operations == object->objects.end()) return Fail(kBadParameter, "an empty graph");
    if (object->pointers.count(cudnn::kGraphHandle) == 0) return Fail(kBadParameter, "no handle");
    for (const Object* operation : operations->second) {
      if (std::count(std::begin(kOperationKinds), std::end(kOperationKinds), operation->kind) ==
          0) {
        return Fail(kBadParameter, "no operation");
      }
    }
  }
  if (object->kind == cudnn::kExecutionPlan) {
    if (const int code = FinalizePlan(object); code != 0) return code;
  }
  object->finished = true;
  return 0;
}

int FakeCudnn::Get(Object* object, int attribute, int64_t room, int64_t* count, void* elements) {
  if (!object->finished) return Fail(kBadParameter, "not finished");
  if (attribute == cudnn::kPlanWorkspaceSize) {
    *count = 1;
    *static_cast<int64_t*>(elements) = workspace_bytes;
    return 0;
  }
  if (attribute != cudnn::kHeuristicsResults) return Fail(kBadParameter, "no such attribute");
  Object* const graph = object->objects.at(cudnn::kHeuristicsGraph).front();
  *count = room > 0 && HasKernelFor(graph) ? 1 : 0;
  if (*count == 0) return 0;
  Object* const config = *static_cast<Object**>(elements);
  config->objects[cudnn::kGraphOperations] = {graph};
  config->finished = true;
  return 0;
}

std::set<int64_t> FakeCudnn::OperandsOf(const Object* graph) const {
  std::set<int64_t> ids;
  for (const Object* operation : OperationsOf(graph)) {
    for (const auto& [attribute, tensors] : operation->objects) {
      const Object* const tensor = tensors.front();
      if (tensor->kind != cudnn::kTensor) continue;
      if (tensor->numbers.at(cudnn::kTensorIsVirtual)[0] != 0) continue;
      ids.insert(tensor->numbers.at(cudnn::kTensorId)[0]);
    }
  }
  return ids;
}

double FakeCudnn::FlopsOf(const Object* graph) const {
  double flops = 0;
  double share = 1;
  for (const Object* operation : OperationsOf(graph)) {
    if (operation->kind == cudnn::kMatmulOperation) {
      const auto& a =
          operation->objects.at(cudnn::kMatmulOperationA).front()->numbers.at(cudnn::kTensorSizes);
      double product = 2.0 * static_cast<double>(a[3]);
      for (const int64_t size : operation->objects.at(cudnn::kMatmulOperationC)
                                    .front()
                                    ->numbers.at(cudnn::kTensorSizes)) {
        product *= static_cast<double>(size);
      }
      flops += product;
    } else if (operation->kind == cudnn::kPointwiseOperation) {
      const Object* const what = operation->objects.at(cudnn::kPointwiseOperationWhat).front();
      if (what->numbers.at(cudnn::kPointwiseMode)[0] == cudnn::kIndex) share = 0.5;
    }
  }
  return flops * share;
}

int FakeCudnn::Execute(Handle* handle, Object* plan, Object* pack) {
  if (!plan->finished || !pack->finished) return Fail(kBadParameter, "not finished");
  if (execute_code != 0) return Fail(execute_code, "as scripted");
  const Object* const config = plan->objects.at(cudnn::kPlanConfig).front();
  const Object* const graph = config->objects.at(cudnn::kGraphOperations).front();
  const std::vector<int64_t>& ids = pack->numbers.at(cudnn::kPackIds);
  const std::vector<void*>& pointers = pack->pointers.at(cudnn::kPackPointers);
  if (std::set<int64_t>(ids.begin(), ids.end()) != OperandsOf(graph) ||
      pointers.size() != ids.size() || std::count(pointers.begin(), pointers.end(), nullptr) > 0) {
    return Fail(kBadParameter, "the operands are not those of the graph");
  }
  FakeGpu& gpu = host_.cuda.GpuOf(handle->stream);
  if (gpu.on_launch) gpu.on_launch("cudnnBackendExecute");
  const double seconds =
      kAttentionLaunchSeconds + FlopsOf(graph) / (kAttentionShare * gpu.bf16_flops_per_second);
  const cuda::Stream stream = handle->stream;
  const int code =
      host_.cuda.Queue(stream, [=, this] { return host_.cuda.Spend(stream, seconds); });
  return code == 0 ? 0 : Fail(kExecutionFailedByDriver, "the driver failed");
}

Cudnn FakeCudnn::Table() {
  Cudnn out;
  out.version = version;
  out.version_number = version_number;
  out.last_error = [this](char* text, std::size_t size) {
    std::strncpy(text, last_error_.c_str(), size);
  };
  out.create = [this](void** handle) {
    if (create_code != 0) return Fail(create_code, "as scripted");
    *handle = new Handle;
    ++live_object_count_;
    return 0;
  };
  out.destroy = [this](void* handle) {
    delete static_cast<Handle*>(handle);
    --live_object_count_;
    return 0;
  };
  out.set_stream = [](void* handle, void* stream) {
    static_cast<Handle*>(handle)->stream = stream;
    return 0;
  };
  out.descriptor_create = [this](int kind, void** object) {
    *object = new Object{.kind = kind};
    ++live_object_count_;
    return 0;
  };
  out.descriptor_destroy = [this](void* object) {
    delete static_cast<Object*>(object);
    --live_object_count_;
    return 0;
  };
  out.descriptor_set = [this](void* object, int attribute, int type, int64_t count,
                              const void* elements) {
    return Set(static_cast<Object*>(object), attribute, type, count, elements);
  };
  out.descriptor_get = [this](void* object, int attribute, int, int64_t room, int64_t* count,
                              void* elements) {
    return Get(static_cast<Object*>(object), attribute, room, count, elements);
  };
  out.descriptor_finalize = [this](void* object) { return Finalize(static_cast<Object*>(object)); };
  out.execute = [this](void* handle, void* plan, void* pack) {
    return Execute(static_cast<Handle*>(handle), static_cast<Object*>(plan),
                   static_cast<Object*>(pack));
  };
  return out;
}

}  // namespace sextant::probe
