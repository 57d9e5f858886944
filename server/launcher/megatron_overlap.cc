// Overlaps, dispatchers and graphs as arguments of Megatron-LM, written and read. Its defaults hide
// nothing between data and tensor parallel ranks, and gather tokens for experts; a plan assumes
// more, so that the arguments say so. docs/launchers.md, "What a setting costs". Source:
// NVIDIA/Megatron-LM core_v0.15.3, megatron/training/arguments.py.
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/launcher/megatron.h"
#include "server/launcher/software.h"

namespace sextant::server {
namespace {

constexpr char kWeights[] = "--overlap-param-gather";
constexpr char kDeepEp[] = "--moe-enable-deepep";
constexpr char kFlexBackend[] = "--moe-flex-dispatcher-backend";
constexpr char kGraphScope[] = "--cuda-graph-scope";

v1::SoftwareStack& SoftwareOf(Reading& reading) { return *reading.layout().mutable_software(); }

bool ReadsExperts(const SettingFile& file) { return file.Has("--num-experts"); }

bool HasExpertLayers(const v1::Architecture& model) {
  return absl::c_any_of(model.layer_kinds(),
                        [](const v1::LayerKind& kind) { return kind.has_experts(); });
}

// Ranks that experts are divided among, the parts of each counted.
int64_t ExpertRanks(const Writing& writing) {
  const v1::ParallelLayout& parallel = writing.layout().parallel();
  const bool given = parallel.has_expert_tensor_parallel_size();
  return writing.sizes.expert *
         (given ? parallel.expert_tensor_parallel_size() : writing.sizes.tensor);
}

}  // namespace

// Off, all of what data parallel ranks exchange takes its time; with gradients alone, that of
// weights does.
void ReadDataOverlap(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  const bool gradients = file.Has(setting.name);
  const bool weights = file.Has(kWeights);
  const v1::ZeroStage zero = reading.layout().sharding().zero_stage();
  const bool divides = zero > v1::ZERO_STAGE_NONE;
  if (weights && !gradients) {
    return file.Refuse(kWeights, absl::StrCat("write ", setting.name, " too"));
  }
  if (weights && !divides) {
    return file.Refuse(kWeights, "write --use-distributed-optimizer too");
  }
  if (gradients && (weights || !divides)) return;
  if (zero == v1::ZERO_STAGE_PARAMETERS) {
    SoftwareOf(reading).set_overlap_contention(kAllExposed);
  }
  const bool some = gradients && zero != v1::ZERO_STAGE_PARAMETERS;
  SoftwareOf(reading).set_data_exchange_overlap(
      some ? GradientsAloneOverlap(reading.training().precision()) : kNothingHidden);
}
void WriteDataOverlap(const Setting& setting, Writing& writing) {
  const SoftwareConstants constants = ConstantsOfRun(writing.run.request, writing.sizes);
  const double hidden = constants.of(StackConstant::kDataExchangeOverlap);
  const bool shards = writing.sizes.zero == v1::ZERO_STAGE_PARAMETERS;
  if (shards && constants.of(StackConstant::kOverlapContention) >= kAllExposed) return;
  if (!shards && hidden <= kNothingHidden) return;
  writing.list.Add(setting.name, true);
  const bool alone = hidden == GradientsAloneOverlap(writing.training().precision());
  if (writing.sizes.zero != v1::ZERO_STAGE_NONE && (shards || !alone)) {
    writing.list.Add(kWeights, true);
  }
}

// Where a part of it is switched off, no time is known: then nothing is hidden.
void ReadTensorOverlap(const Setting& setting, Reading& reading) {
  constexpr const char* kPartsOff[] = {
      "--disable-tp-comm-bulk-dgrad", "--disable-tp-comm-bulk-wgrad",
      "--disable-tp-comm-overlap-ag", "--disable-tp-comm-overlap-rs",
      "--disable-tp-comm-split-ag",   "--disable-tp-comm-split-rs"};
  SettingFile& file = reading.file;
  if (!file.Has(setting.name) || reading.layout().parallel().tensor_parallel_size() <= 1) return;
  if (!reading.layout().sequence_parallel()) {
    return file.Refuse(setting.name, "write --sequence-parallel too");
  }
  for (const char* const part : kPartsOff) {
    if (file.Has(part)) return file.Ignore(absl::StrCat(setting.name, " with ", part));
  }
  SoftwareOf(reading).set_tensor_exchange_exposure(OverlappedTensorExposure());
}
void WriteTensorOverlap(const Setting& setting, Writing& writing) {
  if (!writing.sizes.sequence_parallel) return;
  const SoftwareConstants constants = ConstantsOfRun(writing.run.request, writing.sizes);
  if (constants.of(StackConstant::kTensorExchangeExposure) >= kAllExposed) return;
  writing.list.Add(setting.name, true);
}

// Sends between interleaved stages are hidden by default, and those between others never.
void ReadSends(const Setting& setting, Reading& reading) {
  if (!reading.file.Has(setting.name)) return;
  SoftwareOf(reading).set_pipeline_exchange_exposure(kAllExposed);
}
void WriteSends(const Setting& setting, Writing& writing) {
  if (writing.sizes.virtual_stages == 1) return;
  const SoftwareConstants constants = ConstantsOfRun(writing.run.request, writing.sizes);
  if (constants.of(StackConstant::kPipelineExchangeExposure) < kAllExposed) return;
  writing.list.Add(setting.name, true);
}

// The flexible dispatcher sends one copy to each server, by DeepEP or HybridEP.
// --moe-flex-dispatcher-backend: from core_v0.16.0 on; before it --moe-enable-deepep alone.
void ReadDispatcher(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  const std::string type =
      file.Choose(setting.name, "allgather|alltoall|flex|~alltoall_seq=alltoall", "allgather");
  const std::string backend = file.Choose(kFlexBackend, "deepep|hybridep|~ncclep", "deepep");
  if (file.Has(kDeepEp) && type != "flex") {
    file.Refuse(kDeepEp, absl::StrCat("write ", setting.name, " flex"));
  }
  if (!ReadsExperts(file)) return;
  if (type == "allgather") reading.Set(setting.field, "all-gather");
  if (type != "flex") return;
  if (backend == "ncclep") return file.Ignore(absl::StrCat(kFlexBackend, " ", backend));
  SoftwareOf(reading).set_one_copy_per_node(true);
}
void WriteDispatcher(const Setting& setting, Writing& writing) {
  using Kernels = v1::KernelChoices;
  if (!HasExpertLayers(writing.run.model)) return;
  if (writing.layout().kernels().expert_dispatch() == Kernels::EXPERT_DISPATCH_ALL_GATHER) {
    return writing.list.Add(setting.name, "allgather");
  }
  const SoftwareConstants constants = ConstantsOfRun(writing.run.request, writing.sizes);
  const bool once = constants.of(StackConstant::kOneCopyPerNode) > 0;
  // Megatron-LM refuses it where no rank is another's.
  if (!once || ExpertRanks(writing) == 1) return writing.list.Add(setting.name, "alltoall");
  writing.list.Add(setting.name, "flex");
  writing.list.Add(kDeepEp, true);
}

// A capacity that is padded to is the load of every expert.
void ReadCapacity(const Setting& setting, Reading& reading) {
  const std::optional<double> factor = reading.file.Number(setting.name);
  if (!factor.has_value() || !ReadsExperts(reading.file)) return;
  if (*factor < 1 || !reading.file.Has("--moe-pad-expert-input-to-capacity")) {
    return reading.file.Ignore(setting.name);
  }
  reading.layout().mutable_kernels()->set_expert_load_factor(*factor);
}

// No field says it of a dense feed-forward.
void ReadUnfusedActivation(const Setting& setting, Reading& reading) {
  if (!reading.file.Has(setting.name)) return;
  if (!ReadsExperts(reading.file)) return reading.file.Ignore(setting.name);
  reading.Set(setting.field, setting.words);
}

// Whole layers or iterations are captured by default. A part of a layer leaves its other kernels to
// the host, and is priced as none.
void ReadGraphs(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  const bool old = file.Has("--enable-cuda-graph") || file.Has("--external-cuda-graph");
  if (old && file.Has(setting.name)) {
    file.Refuse(setting.name, "leave out --enable-cuda-graph and --external-cuda-graph");
  }
  const std::string usual = old ? "true" : "false";
  const bool captures = file.Choose(setting.name, setting.words, usual) == "true";
  const std::vector<std::string> scopes = file.Texts(kGraphScope);
  const bool whole = absl::c_all_of(
      scopes, [](const std::string& scope) { return absl::StartsWith(scope, "full"); });
  if (captures && !whole) {
    file.Ignore(absl::StrCat(kGraphScope, " ", absl::StrJoin(scopes, " ")));
  }
  reading.Set(setting.field, captures && whole ? "true" : "false");
}

}  // namespace sextant::server
