#include "gpu_probe/host/host_backend.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/host/builtin_matmul.h"
#include "gpu_probe/host/elementwise_points.h"
#include "gpu_probe/host/fusion_points.h"
#include "gpu_probe/host/host_context.h"
#include "gpu_probe/host/host_facts.h"
#include "gpu_probe/host/host_summary.h"
#include "gpu_probe/host/matmul_points.h"
#include "gpu_probe/host/onednn_matmul.h"
#include "gpu_probe/host/register_points.h"
#include "gpu_probe/host/stream_points.h"
#include "gpu_probe/host/usable_cores.h"

namespace sextant {
namespace {

constexpr int64_t kMaxDimension = 1'000'000;

// Where the host does not tell what is available.
constexpr int64_t kCapWhereMemoryIsUnknown = int64_t{256} << 20;
constexpr int64_t kDefaultShareOfMemory = 4;

absl::Status CheckShape(const v1::MatmulShape& shape) {
  for (const int64_t dimension : {shape.m(), shape.n(), shape.k()}) {
    if (dimension >= 1 && dimension <= kMaxDimension) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("a multiplication of ", shape.m(), "x", shape.n(), "x", shape.k(),
                     " was asked for: m, n and k must be 1 to ", kMaxDimension));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> MemoryCap(int64_t requested_bytes, const HostFacts& facts) {
  if (requested_bytes < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the memory cap must not be negative, and is ", requested_bytes));
  }
  if (requested_bytes > 0) return requested_bytes;
  const auto known_bytes =
      facts.available_memory_bytes ? facts.available_memory_bytes : facts.memory_bytes;
  return known_bytes ? *known_bytes / kDefaultShareOfMemory : kCapWhereMemoryIsUnknown;
}

absl::StatusOr<SharedContext> ContextFor(const HostProbeRequest& request, const HostFacts& facts,
                                         std::vector<std::string>* notes) {
  auto context = std::make_shared<HostContext>();
  context->features = DetectCpuFeatures();
  const CoreSet cores = UsableCores("", facts.core_quota);
  const auto told_bytes = LastLevelCacheBytes("", cores.numbers);
  context->cache_bytes = told_bytes ? told_bytes : CacheBytesFromCpuid();
  SEXTANT_ASSIGN_OR_RETURN(const int64_t cap_bytes, MemoryCap(request.memory_cap_bytes, facts));
  context->memory = std::make_unique<MemoryBudget>(cap_bytes);
  SEXTANT_ASSIGN_OR_RETURN(context->team, ThreadTeam::Create(cores));
  context->builtin = std::make_unique<BuiltinEngine>(WidestSimd(context->features),
                                                     context->team.get(), context->memory.get());
  auto onednn = OnednnEngine::Create(request.onednn_library, cores);
  if (onednn.ok()) {
    context->onednn = *std::move(onednn);
  } else {
    notes->push_back(absl::StrCat(
        "FP32 is multiplied by the probe's own kernel: ", onednn.status().message(), "."));
  }
  return context;
}

// The types that this host multiplies in; a note for each of the others.
std::vector<v1::DataType> MultipliedTypes(const HostContext& context,
                                          std::vector<std::string>* notes) {
  std::vector<v1::DataType> types;
  for (const auto type : {v1::DATA_TYPE_FP32, v1::DATA_TYPE_BF16, v1::DATA_TYPE_INT8}) {
    const absl::Status multiplied = CheckTypeIsMultiplied(type, context);
    if (multiplied.ok()) {
      types.push_back(type);
    } else {
      notes->emplace_back(multiplied.message());
    }
  }
  return types;
}

void Append(std::vector<Point> more, std::vector<Point>* points) {
  std::move(more.begin(), more.end(), std::back_inserter(*points));
}

// The types' registers, and a note for each type whose are not measured.
void AppendRegisters(const std::vector<v1::DataType>& types, const SharedContext& context,
                     ProbePlan* plan) {
  std::vector<Point> points = RegisterPoints(types, context);
  if (points.size() < types.size()) {
    plan->notes.emplace_back(
        "The rates of tile registers (AMX) are not measured, so that multiplications in their "
        "types have no register ratio.");
  }
  Append(std::move(points), &plan->points);
}

// The types of `shapes`, each once.
//
// Errors: kInvalidArgument, kUnimplemented.
absl::StatusOr<std::vector<v1::DataType>> TypesOf(const std::vector<v1::MatmulShape>& shapes,
                                                  const HostContext& context) {
  std::vector<v1::DataType> types;
  for (const v1::MatmulShape& shape : shapes) {
    SEXTANT_RETURN_IF_ERROR(CheckTypeIsMultiplied(shape.data_type(), context));
    if (std::find(types.begin(), types.end(), shape.data_type()) == types.end()) {
      types.push_back(shape.data_type());
    }
  }
  return types;
}

}  // namespace

absl::StatusOr<ProbePlan> HostProbePlan(const HostProbeRequest& request) {
  for (const v1::MatmulShape& shape : request.matmuls) {
    SEXTANT_RETURN_IF_ERROR(CheckShape(shape));
  }
  ProbePlan plan;
  plan.device = HostDevice();
  plan.finish = SummariseHost;
  SEXTANT_ASSIGN_OR_RETURN(const SharedContext context,
                           ContextFor(request, ReadHostFacts(""), &plan.notes));
  if (!request.matmuls.empty()) {
    SEXTANT_ASSIGN_OR_RETURN(const auto types, TypesOf(request.matmuls, *context));
    AppendRegisters(types, context, &plan);
    Append(RequestedPoints(request.matmuls, context), &plan.points);
    return plan;
  }
  const std::vector<v1::DataType> types = MultipliedTypes(*context, &plan.notes);
  AppendRegisters(types, context, &plan);
  for (const v1::DataType type : types) {
    Append(GridPoints(request.mode, type, context), &plan.points);
  }
  Append(StreamPoints(request.mode, context), &plan.points);
  if (request.mode == v1::PROBE_MODE_QUICK) return plan;
  Append(ElementwisePoints(context), &plan.points);
  Append(FusionPoints(context), &plan.points);
  return plan;
}

}  // namespace sextant
