// The models that torchtitan knows, and how it cuts them into pipelines.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/launcher/launcher.h"
#include "server/launcher/setting_file.h"

namespace sextant::server {
namespace {

constexpr int64_t kMaxStages = 1 << 16;
constexpr char kMicroBatch[] = "parallelism.pipeline_parallel_microbatch_size";
constexpr char kParts[] = "parallelism.module_fqns_per_model_part";
constexpr char kFirstStageKey[] = "parallelism.pipeline_parallel_first_stage_less_layers";
constexpr char kLastStageKey[] = "parallelism.pipeline_parallel_last_stage_less_layers";
constexpr char kPerStage[] = "parallelism.pipeline_parallel_layers_per_stage";
constexpr char kSchedule[] = "parallelism.pipeline_parallel_schedule";

// Source: torchtitan/models/*/__init__.py of v0.2.2. Flavors that differ in attention's kernel
// alone are left out, and Llama 4's, whose shapes are not the published ones.
constexpr TorchtitanModel kModels[] = {
    {"llama3", "8B", "llama-3.1-8b", 32},
    {"llama3", "8B", "llama-3-8b", 32},
    {"llama3", "70B", "llama-3.1-70b", 80},
    {"llama3", "70B", "llama-3-70b", 80},
    {"llama3", "70B", "llama-3.3-70b", 80},
    {"llama3", "405B", "llama-3.1-405b", 126},
    {"qwen3", "0.6B", "qwen3-0.6b", 28},
    {"qwen3", "1.7B", "qwen3-1.7b", 28},
    {"qwen3", "4B", "qwen3-4b", 36},
    {"qwen3", "8B", "qwen3-8b", 36},
    {"qwen3", "14B", "qwen3-14b", 40},
    {"qwen3", "32B", "qwen3-32b", 64},
    {"qwen3", "30B-A3B", "qwen3-30b-a3b", 48},
    {"qwen3", "235B-A22B", "qwen3-235b-a22b", 94},
    {"deepseek_v3", "16B", "deepseek-v2-lite", 27},
    {"deepseek_v3", "236B", "deepseek-v2", 60},
    {"deepseek_v3", "671B", "deepseek-v3", 61},
    {"gpt_oss", "20b", "gpt-oss-20b", 24},
    {"gpt_oss", "120b", "gpt-oss-120b", 36},
};

// Presets are found by their names in any case, whatever parts their words.
std::string Bare(const std::string& preset) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(preset), {{"-", ""}, {"_", ""}, {" ", ""}});
}

// Layers of each chunk by the modules' names, "layers.7", and the names.
std::vector<int64_t> PartsOfChunks(const std::vector<std::vector<std::string>>& parts) {
  std::vector<int64_t> out;
  for (const std::vector<std::string>& modules : parts) {
    out.push_back(absl::c_count_if(
        modules, [](const std::string& name) { return absl::StartsWith(name, "layers."); }));
  }
  return out;
}
SettingList::Value ModulesOf(const google::protobuf::RepeatedField<int64_t>& chunks) {
  SettingList::Value out = SettingList::Value::array();
  int64_t layer = 0;
  for (const int64_t layers : chunks) {
    SettingList::Value modules = SettingList::Value::array();
    if (out.empty()) modules.push_back("tok_embeddings");
    for (int64_t i = 0; i < layers; ++i) modules.push_back(absl::StrCat("layers.", layer++));
    out.push_back(std::move(modules));
  }
  out.back().push_back("norm");
  out.back().push_back("output");
  return out;
}

// The layers of each chunk, of `stages` chunks in all.
std::vector<int64_t> DealtOut(int64_t stages, const TorchtitanModel* model, int64_t first,
                              int64_t last, Reading& reading) {
  if (model == nullptr) {
    if (first > 0 || last > 0) {
      reading.out.open.emplace_back("layers of each stage, by the model's");
    }
    return {};
  }
  std::vector<int64_t> out = LayersPerChunk(model->layer_count, stages, first, last);
  if (out.empty()) reading.file.Refuse(kFirstStageKey, "some stages get no layer");
  return out;
}

// Chunks of all stages together.
int64_t StageCount(int64_t pipeline, bool interleaved, int64_t outside,
                   const TorchtitanModel* model, SettingFile& file) {
  const std::optional<int64_t> size = file.Count(kPerStage);
  const int64_t usual = interleaved ? pipeline * 2 : pipeline;
  if (!size.has_value() || model == nullptr) return usual;
  const int64_t all = model->layer_count + outside;
  const int64_t out = all / *size + (all % *size > 0 ? 1 : 0);
  if (out % pipeline == 0) return out;
  file.Refuse(kPerStage, absl::StrCat("it makes ", out, " stages, no multiple of ", pipeline));
  return usual;
}

void ReadChunks(int64_t degree, bool interleaved, Reading& reading) {
  SettingFile& file = reading.file;
  v1::ParallelLayout& out = *reading.layout().mutable_parallel();
  const int64_t first = std::min(file.Count(kFirstStageKey, 0).value_or(1), kMaxStages);
  const int64_t last = std::min(file.Count(kLastStageKey, 0).value_or(1), kMaxStages);
  std::vector<int64_t> chunks;
  int64_t stages = 0;
  if (const auto parts = file.Lists(kParts)) {
    chunks = PartsOfChunks(*parts);
    stages = static_cast<int64_t>(chunks.size());
    if (stages % degree != 0 || stages == 0) {
      return file.Refuse(kParts, absl::StrCat("write a multiple of ", degree, " lists"));
    }
  } else {
    const auto* const model = ModelOfPreset(reading.request().model().preset());
    stages = StageCount(degree, interleaved, first + last, model, file);
    chunks = DealtOut(stages, model, first, last, reading);
  }
  if (stages > degree) out.set_virtual_stage_count(stages / degree);
  if (absl::c_all_of(chunks, [&](int64_t layers) { return layers == chunks[0]; })) return;
  out.mutable_layers_per_chunk()->Assign(chunks.begin(), chunks.end());
}

// Names of older releases' settings. Source: torchtitan/config_manager.py before v0.2.
struct OlderName {
  const char* section;
  const char* name;
  const char* present_section;
  const char* present_name;
};
constexpr OlderName kOlderNames[] = {
    {"training", "batch_size", "training", "local_batch_size"},
    {"training", "compile", "compile", "enable"},
    {"training", "tensor_parallel_degree", "parallelism", "tensor_parallel_degree"},
    {"training", "data_parallel_shard_degree", "parallelism", "data_parallel_shard_degree"},
    {"training", "data_parallel_replicate_degree", "parallelism", "data_parallel_replicate_degree"},
    {"experimental", "context_parallel_degree", "parallelism", "context_parallel_degree"},
    {"experimental", "pipeline_parallel_degree", "parallelism", "pipeline_parallel_degree"},
    {"experimental", "pipeline_parallel_schedule", "parallelism", "pipeline_parallel_schedule"},
};

}  // namespace

const TorchtitanModel* ModelOfPreset(const std::string& preset) {
  const auto* const found = absl::c_find_if(
      kModels, [&](const TorchtitanModel& model) { return Bare(model.preset) == Bare(preset); });
  return found == std::end(kModels) ? nullptr : found;
}

const TorchtitanModel* ModelOfFlavor(const std::string& name, const std::string& flavor) {
  const auto* const found = absl::c_find_if(kModels, [&](const TorchtitanModel& model) {
    return model.name == name && model.flavor == flavor;
  });
  return found == std::end(kModels) ? nullptr : found;
}

std::vector<int64_t> LayersPerChunk(int64_t layers, int64_t stages, int64_t first, int64_t last) {
  if (stages == 1) return {layers};
  const int64_t all = layers + first + last;
  const int64_t least = all / stages;
  if (least == 0 || first > least || last > least) return {};
  std::vector<int64_t> out(static_cast<size_t>(stages), least);
  for (int64_t i = 0; i < all % stages; ++i) ++out[static_cast<size_t>(i)];
  out.front() -= first;
  out.back() -= last;
  return out;
}

void ReadPipelineDegree(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  ReadFields({&setting, 1}, file, reading.request());
  const std::optional<int64_t> micro = file.Count(kMicroBatch);
  const int64_t degree = reading.layout().parallel().pipeline_parallel_size();
  if (degree <= 1) return (void)file.Text(kSchedule);
  const std::string schedule = file.Choose(kSchedule, "1F1B|GPipe|Interleaved1F1B", "1F1B");
  if (degree > kMaxStages) return file.Refuse(setting.name, "too many");
  reading.layout().set_micro_batch_size(micro.value_or(1));
  if (schedule == "GPipe") reading.layout().set_schedule(v1::PIPELINE_SCHEDULE_GPIPE);
  ReadChunks(degree, schedule == "Interleaved1F1B", reading);
}
void WritePipelineDegree(const Setting& setting, Writing& writing) {
  const LaunchSizes& sizes = writing.sizes;
  SettingList& list = writing.list;
  list.Add(setting.name, sizes.pipeline);
  if (sizes.pipeline == 1) return;
  const bool interleaved = sizes.virtual_stages > 1;
  const bool gpipe = writing.layout().schedule() == v1::PIPELINE_SCHEDULE_GPIPE;
  if (interleaved && gpipe) {
    writing.refusals.Add("layout.parallel.virtual_stage_count",
                         "interleaved stages take --schedule=1f1b");
  }
  list.Add(kSchedule, interleaved ? "Interleaved1F1B" : gpipe ? "GPipe" : "1F1B");
  list.Add(kMicroBatch, sizes.micro_batch);
  const auto& chunks = writing.layout().parallel().layers_per_chunk();
  if (!absl::c_all_of(chunks, [&](int64_t layers) { return layers == chunks[0]; })) {
    return list.Add(kParts, ModulesOf(chunks));
  }
  list.Add(kFirstStageKey, 0);
  list.Add(kLastStageKey, 0);
  if (!interleaved) return;
  int64_t layers = 0;
  for (const auto& run : writing.run.model.decoder().layers()) layers += run.count();
  list.Add(kPerStage, layers / sizes.pipeline / sizes.virtual_stages);
}

std::vector<std::string> RenameOlderSettings(nlohmann::json* document) {
  std::vector<std::string> twice;
  for (const OlderName& each : kOlderNames) {
    const auto section = document->find(each.section);
    if (section == document->end() || !section->is_object() || !section->contains(each.name)) {
      continue;
    }
    const auto present = document->find(each.present_section);
    const bool sections = present == document->end() || present->is_object();
    const bool taken =
        present != document->end() && sections && present->contains(each.present_name);
    if (!sections) continue;
    nlohmann::json value = std::move((*section)[each.name]);
    section->erase(each.name);
    if (taken) {
      twice.push_back(absl::StrCat(each.section, ".", each.name));
    } else {
      (*document)[each.present_section][each.present_name] = std::move(value);
    }
  }
  return twice;
}

}  // namespace sextant::server
