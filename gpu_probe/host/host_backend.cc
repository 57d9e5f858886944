#include "gpu_probe/host/host_backend.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/fingerprint.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/host/builtin_matmul.h"
#include "gpu_probe/host/cpu_features.h"
#include "gpu_probe/host/elementwise.h"
#include "gpu_probe/host/host_context.h"
#include "gpu_probe/host/host_facts.h"
#include "gpu_probe/host/matmul_points.h"
#include "gpu_probe/host/memory_pass.h"
#include "gpu_probe/host/onednn_matmul.h"
#include "gpu_probe/host/registers.h"
#include "gpu_probe/host_environment.h"
#include "gpu_probe/points/matmul.h"
#include "gpu_probe/points/memory.h"
#include "proto/matmul_kind.h"

namespace sextant::probe {
namespace {

std::string Uuid(const std::string& identity, const std::string& product_name) {
  Fingerprint fingerprint;
  fingerprint.Add(identity);
  fingerprint.Add(product_name);
  return absl::StrCat("CPU-", fingerprint.ToString());
}

// The bytes of all last-level caches of `cores`, from the system or else from the processor.
absl::optional<int64_t> CacheBytesOf(const CoreSet& cores) {
  const auto told_bytes = LastLevelCacheBytes("", cores.numbers);
  return told_bytes ? told_bytes : CacheBytesFromCpuid();
}

// Used where /proc is missing: sysconf asks the kernel itself.
absl::optional<int64_t> PhysicalMemoryBytes() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES);
  const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return absl::nullopt;
  return pages * page_bytes;
}

// Used where the host does not report its available memory.
constexpr int64_t kCapWhereMemoryIsUnknown = int64_t{256} << 20;
constexpr int64_t kDefaultShareOfMemory = 4;

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
  context->cache_bytes = CacheBytesOf(cores);
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

// The types that this host multiplies; adds a note for each of the others.
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

// Adds points for the types' registers, and a note for each type without.
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

void FillRegisterRatios(const v1::RegisterMeasurement& registers, v1::Calibration* out) {
  const auto fill = [&](v1::MatmulMeasurement* matmul) {
    if (matmul->data_type() != registers.data_type()) return;
    matmul->set_register_ratio(matmul->flops_per_second() / registers.flops_per_second());
  };
  for (v1::MatmulMeasurement& matmul : *out->mutable_matmuls()) fill(&matmul);
}

void JudgeRatio(v1::RegisterMeasurement* registers, v1::Calibration* out) {
  const v1::DataType type = registers->data_type();
  const v1::MatmulMeasurement* best = nullptr;
  for (const v1::MatmulMeasurement& matmul : out->matmuls()) {
    if (!IsBurst(matmul) || matmul.data_type() != type || !matmul.has_register_ratio()) continue;
    if (best == nullptr || matmul.register_ratio() > best->register_ratio()) best = &matmul;
  }
  if (best == nullptr) return;
  const std::string name = absl::AsciiStrToUpper(TypeLabel(type));
  // A requested shape may be slow.
  if (best->register_ratio() < kLowRegisterRatio && !IsRequested(*best)) {
    AddNote(absl::StrFormat("The best multiplication in %s (%s, %s) reaches %.2f of the "
                            "registers' rate: the shapes are small, other programs ran, or the "
                            "library does not know this processor.",
                            name, best->engine(), best->kernel(), best->register_ratio()),
            out);
  } else if (best->register_ratio() > kHighRegisterRatio) {
    AddNote(absl::StrFormat("The best multiplication in %s (%s, %s) is %.2f times as fast as the "
                            "registers allow: the clock changed, or other programs ran, between "
                            "the two measurements. Measure again.",
                            name, best->engine(), best->kernel(), best->register_ratio()),
            out);
    // Its samples agree, but are wrong.
    registers->mutable_time()->set_stable(false);
  }
}

absl::StatusOr<ProbePlan> PlanOf(const HostProbeRequest& request) {
  for (const v1::MatmulShape& shape : request.matmuls) {
    SEXTANT_RETURN_IF_ERROR(CheckMatmulShape(shape));
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
  Append(MemoryPassPoints(request.mode, context), &plan.points);
  if (request.mode == v1::PROBE_MODE_QUICK) return plan;
  Append(ElementwisePoints(context), &plan.points);
  Append(FusionPoints(context), &plan.points);
  return plan;
}

}  // namespace

v1::Device HostDevice() {
  const HostFacts facts = ReadHostFacts("");
  v1::Device device;
  device.set_kind(v1::DEVICE_KIND_CPU);
  device.set_product_name(ProcessorName());
  device.set_hostname(HostName());
  device.set_uuid(
      Uuid(facts.machine_id.empty() ? device.hostname() : facts.machine_id, device.product_name()));
  const auto memory_bytes = facts.memory_bytes ? facts.memory_bytes : PhysicalMemoryBytes();
  if (memory_bytes) device.set_memory_bytes(*memory_bytes);
  const CoreSet cores = UsableCores("", facts.core_quota);
  if (const auto cache_bytes = CacheBytesOf(cores)) device.set_cache_bytes(*cache_bytes);
  device.set_compute_unit_count(static_cast<int64_t>(cores.numbers.size()));
  for (const std::string& name : InstructionSetNames(DetectCpuFeatures())) {
    device.add_instruction_sets(name);
  }
  return device;
}

absl::StatusOr<ProbePlan> HostProbePlan(const HostProbeRequest& request) {
  SEXTANT_ASSIGN_OR_RETURN(ProbePlan plan, PlanOf(request));
  for (Point& point : plan.points) point.spread_of_passes = true;
  return plan;
}

void SummariseHost(v1::Calibration* calibration) {
  for (v1::RegisterMeasurement& registers : *calibration->mutable_registers()) {
    FillRegisterRatios(registers, calibration);
    JudgeRatio(&registers, calibration);
  }
  FillRidge(kMinMultiplyAdds, kMaxMultiplyAdds, calibration);
  FillFusionSpeedup(calibration);
}

}  // namespace sextant::probe
