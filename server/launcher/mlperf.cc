// MLPerf Training's configurations. Source: launcher.h.

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/launcher/launcher.h"
#include "server/launcher/shell_script.h"

namespace sextant::server {
namespace {

using MlperfJson = nlohmann::json;

constexpr int64_t kMaxMlperfLayers = 1 << 16;

// Both numbers make the devices; a server has 8 unless the file says otherwise.
void ReadMlperfNodes(const Setting& setting, Reading& reading) {
  const std::optional<int64_t> nodes = reading.file.Count(setting.name);
  const int64_t each = reading.file.Count("DGXNGPU").value_or(8);
  const int64_t count = nodes.has_value() ? Product(*nodes, each).value_or(0) : 0;
  if (count > 0) reading.request().mutable_cluster()->set_device_count(count);
}

// Chunks of each stage: 0 and null are one.
void ReadMlperfChunks(const Setting& setting, Reading& reading) {
  const int64_t chunks = reading.file.Count(setting.name, 0).value_or(0);
  if (chunks > 1) reading.layout().mutable_parallel()->set_virtual_stage_count(chunks);
}

// Samples of a step on each data parallel rank.
void ReadMlperfBatch(const Setting& setting, Reading& reading) {
  reading.out.sequences_per_rank = reading.file.Count(setting.name).value_or(0);
}

void ReadMlperfSteps(const Setting& setting, Reading& reading) {
  reading.out.step_count = reading.file.Count(setting.name).value_or(0);
}

void ReadMlperfPrecision(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  const bool fp4 = file.IsOn("FP4");
  const std::string recipe = file.Text("FP8_RECIPE").value_or("delayed");
  if (recipe != "delayed" && recipe != "mxfp8") file.Ignore("FP8_RECIPE");
  const char* const type = fp4                        ? "nvfp4"
                           : !file.IsOn(setting.name) ? "bf16"
                           : recipe == "mxfp8"        ? "mxfp8"
                                                      : "fp8";
  reading.Set("training.precision.compute_data_type", type);
  const bool stored = file.IsOn("FP8_PARAM_GATHER") && file.IsOn(setting.name) && !fp4;
  reading.Set("training.precision.weight_data_type", stored ? "fp8" : "bf16");
  reading.Set("training.optimizer.kind", "adamw");
}

// NeMo's, of LoRA's benchmark alone.
void ReadMlperfRecompute(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  const std::string granularity = file.Choose(setting.name, "full|selective", "none");
  if (granularity != "full") return reading.Set(setting.field, granularity);
  const std::string method = file.Text("ACM").value_or("uniform");
  const int64_t layers = file.Count("ACL").value_or(1);
  if (method != "uniform") return file.Ignore("ACM");
  reading.Set(setting.field, granularity);
  if (layers > 1) reading.layout().mutable_kernels()->set_recomputed_layers_per_block(layers);
}

void ReadMlperfDeferral(const Setting& setting, Reading& reading) {
  if (!reading.file.IsOn(setting.name)) return;
  const int64_t limit = reading.file.Count("WGRAD_DEFERRAL_LIMIT", 0).value_or(0);
  reading.layout().set_deferred_head_gradients(limit > 0 ? limit : kAllMicroBatches);
}

constexpr Setting kMlperfSettings[] = {
    Other("DGXNNODES").Read(ReadMlperfNodes),
    Other("DGXNGPU"),
    Whole("TENSOR_MODEL_PARALLEL", "layout.parallel.tensor_parallel_size"),
    Whole("TP", "layout.parallel.tensor_parallel_size"),
    Whole("PIPELINE_MODEL_PARALLEL", "layout.parallel.pipeline_parallel_size"),
    Whole("PP", "layout.parallel.pipeline_parallel_size"),
    Other("INTERLEAVED_PIPELINE").Read(ReadMlperfChunks),
    Other("VP").Read(ReadMlperfChunks),
    Whole("CONTEXT_PARALLEL", "layout.context_parallel_size"),
    Whole("CP", "layout.context_parallel_size"),
    Switch("SEQ_PARALLEL", "layout.sequence_parallel").Absent(""),
    Switch("SP", "layout.sequence_parallel"),
    Present("TP_COMM_OVERLAP")
        .For("layout.software.tensor_exchange_exposure")
        .Read(ReadMlperfTensorOverlap),
    Present("MC_TP_OVERLAP_AG"),
    Present("MC_TP_OVERLAP_RS"),
    Present("MC_TP_DISABLE_QKV"),
    Present("OVERLAP_GRAD_REDUCE").For("layout.software.data_exchange_overlap"),
    Present("OVERLAP_GRAD_SYNC"),
    Present("OVERLAP_PARAM_GATHER"),
    Present("OVERLAP_PARAM_SYNC"),
    Unmodelled("OVERLAP_PARAM_GATHER_WITH_OPTIM_STEP"),
    Present("OVERLAP_P2P_COMM")
        .For("layout.software.pipeline_exchange_exposure")
        .Read(ReadMlperfSends),
    Present("MCORE_CUDA_GRAPH").For("layout.framework.captured_graphs").Read(ReadMlperfGraphs),
    Present("LAYER_CUDA_GRAPH"),
    Present("FULL_CUDA_GRAPH"),
    Other("CUDA_GRAPH_SCOPE"),
    Present("ASYM_PP_EMBED"),
    Present("ASYM_PP_LOSS"),
    Whole("MICRO_BATCH_SIZE", "layout.micro_batch_size"),
    Whole("MBS", "layout.micro_batch_size"),
    Other("MINIBS").Read(ReadMlperfBatch),
    Other("MAX_STEPS").Read(ReadMlperfSteps),
    Whole("MAX_SEQLEN", "training.sequence_length"),
    Present("FP8").Read(ReadMlperfPrecision),
    Present("FP4"),
    Other("FP8_RECIPE"),
    Present("FP8_PARAM_GATHER"),
    Present("USE_DIST_OPTIMIZER"),
    Other("ACG").For("training.recompute").Read(ReadMlperfRecompute),
    Other("ACM"),
    Other("ACL"),
    Present("DEFER_EMBEDDING_WGRAD_COMPUTE").Read(ReadMlperfDeferral),
    Other("WGRAD_DEFERRAL_LIMIT"),
    Other("LORA_DIM"),
    Other("MODEL_SIZE"),
    Other("OVERWRITTEN_NUM_LAYERS"),
    Takes("layout.framework.kind").Absent("megatron-bridge"),
    Lowers("ACT_CKPT", "training.recompute"),
    Lowers("RECOMPUTE", "training.recompute"),
    Lowers("CPU_OFFLOADING"),
    Lowers("FP8_ACTIVATION"),
    // The machines, the benchmark's clock, and how the run learns.
    Passes("ALIGN_PARAM_GATHER"),
    Passes("BATCH_P2P"),
    Passes("BATCH_P2P_COMM"),
    Passes("BINDCMD"),
    Passes("CHECK_COMPLIANCE"),
    Passes("CUBLAS_"),
    Passes("CUDA_DEVICE_"),
    Passes("CUDA_MODULE_"),
    Passes("CUDA_VISIBLE_"),
    Passes("CUDNN_"),
    Passes("DGXHT"),
    Passes("DGXNSOCKET"),
    Passes("DGXSOCKETCORES"),
    Passes("DGXSYSTEM"),
    Passes("FP8_AMAX_"),
    Passes("FP8_REDUCE_AMAX"),
    Passes("HANG_MONITOR_TIMEOUT"),
    Passes("HF_"),
    Passes("HYDRA_FULL_ERROR"),
    Passes("INIT_GLOBAL_STEP"),
    Passes("LIMIT_"),
    Passes("LOAD_CHECKPOINT"),
    Passes("LOAD_MINIMAL_NUM_SAMPLES"),
    Passes("LORA_ALPHA"),
    Passes("LORA_DROPOUT"),
    Passes("LR"),
    Passes("MC_TP_OVERLAP_RS_DGRAD"),  // hidden in one of two ways
    Passes("MIN_LR"),
    Passes("MLPERF_"),
    Passes("NCCL_"),
    Passes("NEXP"),
    Passes("NVTE_TP_OVERLAP_TRAINING_ONLY"),
    Passes("OMPI_"),
    Passes("OMP_NUM_THREADS"),
    Passes("OVERRIDE_ZERO_CONSUMED_SAMPLES"),
    Passes("POSSIBLE_USER_WARNINGS"),
    Passes("SBATCH_"),
    Passes("SEED"),
    Passes("SKIP_EVALS"),
    Passes("SLURM_"),
    Passes("TARGET_LOG_PPL"),
    Passes("TOKENIZERS_PARALLELISM"),
    Passes("TQDM_DISABLE"),
    Passes("TRAIN_ONLY"),
    Passes("VAL_CHECK_INTERVAL"),
    Passes("VBOOST_VALUE"),
    Passes("WALLTIME"),
    Passes("WALLTIME_MINUTES"),
    Passes("WALLTIME_RUNANDTIME"),
    Passes("WARMUP"),
    Passes("WARMUP_"),
    Passes("WEIGHT_DECAY"),
};

const Setting* MlperfRow(const std::string& name) {
  const auto* const row = absl::c_find_if(kMlperfSettings, [&](const Setting& each) {
    return !each.passes && !each.lowers && name == each.name;
  });
  return row == std::end(kMlperfSettings) ? nullptr : row;
}

// A variable as OmegaConf's oc.decode has it; a switch may be 0 or 1.
MlperfJson ValueOfVariable(const std::string& name, const std::string& text) {
  const Setting* const row = MlperfRow(name);
  const bool on = text == "True" || text == "true";
  const bool off = text == "False" || text == "false";
  if (row != nullptr && row->values == SettingValues::kNone) {
    if (on || text == "1") return true;
    if (off || text == "0" || text.empty()) return false;
  }
  int64_t whole = 0;
  double number = 0;
  if (on || off) return on;
  if (text.empty() || text == "null" || text == "None") return nullptr;
  if (absl::SimpleAtoi(text, &whole)) return whole;
  if (absl::SimpleAtod(text, &number)) return number;
  return text;
}

// The models that the names of the benchmarks' files and sizes stand for, and their layers and
// sequences. Source: mlcommons/training, the benchmarks' READMEs: 8192 tokens each.
struct MlperfModel {
  const char* sign;  // in a file that is sourced, or MODEL_SIZE
  const char* preset;
  int64_t layers;
};
constexpr MlperfModel kMlperfModels[] = {
    {"405b", "llama-3.1-405b", 126},
    {"8b", "llama-3.1-8b", 32},
};
constexpr int64_t kMlperfSequence = 8192;

const MlperfModel* MlperfModelOf(const ShellScript& script, SettingFile& file) {
  const std::string size = file.Text("MODEL_SIZE").value_or("");
  const auto* const found = absl::c_find_if(kMlperfModels, [&](const MlperfModel& each) {
    const std::string sourced = absl::StrCat("_", each.sign, ".sh");
    return size == each.sign || absl::c_any_of(script.sourced, [&](const std::string& path) {
             return absl::EndsWith(path, sourced);
           });
  });
  return found == std::end(kMlperfModels) ? nullptr : found;
}

// Where the embedding or the loss counts as a layer, how many each chunk has.
void ReadMlperfStages(const MlperfModel* model, Reading& reading) {
  SettingFile& file = reading.file;
  v1::ParallelLayout& parallel = *reading.layout().mutable_parallel();
  const int64_t embedding = file.IsOn("ASYM_PP_EMBED") ? 1 : 0;
  const int64_t loss = file.IsOn("ASYM_PP_LOSS") ? 1 : 0;
  if (embedding + loss == 0) return;
  const int64_t layers =
      file.Count("OVERWRITTEN_NUM_LAYERS").value_or(model == nullptr ? 0 : model->layers);
  const int64_t chunks = Product(std::max(parallel.pipeline_parallel_size(), int64_t{1}),
                                 std::max(parallel.virtual_stage_count(), int64_t{1}))
                             .value_or(0);
  const bool sound = layers > 0 && layers < kMaxMlperfLayers && chunks > 0 &&
                     chunks <= layers + embedding + loss &&
                     (layers + embedding + loss) % chunks == 0;
  if (!sound) {
    if (embedding > 0) file.Ignore("ASYM_PP_EMBED");
    if (loss > 0) file.Ignore("ASYM_PP_LOSS");
    return;
  }
  const int64_t each = (layers + embedding + loss) / chunks;
  for (int64_t i = 0; i < chunks; ++i) {
    parallel.add_layers_per_chunk(each - (i == 0 ? embedding : 0) - (i + 1 == chunks ? loss : 0));
  }
}

// LoRA on Llama 2 70B: its file alone has the short names. Rank 16 on attention's matrices, query,
// key and value as one.
void ReadMlperfAdapters(Reading& reading) {
  v1::ModelSpec& model = *reading.request().mutable_model();
  model.set_preset("llama-2-70b");
  v1::ModelChanges& changes = *model.mutable_changes();
  changes.set_base_frozen(true);
  changes.mutable_adapters()->set_rank(reading.file.Count("LORA_DIM").value_or(16));
  for (const char* const target : {"attention.query+key+value", "attention.output"}) {
    changes.mutable_adapters()->add_targets(target);
  }
}

void ReadMlperfModel(const ShellScript& script, Reading& reading) {
  SettingFile& file = reading.file;
  const bool lora = file.Has("TP");
  const MlperfModel* const model = lora ? nullptr : MlperfModelOf(script, file);
  v1::TrainingSpec& training = reading.training();
  if ((lora || model != nullptr) && training.sequence_length() == 0) {
    training.set_sequence_length(kMlperfSequence);
  }
  ReadMlperfStages(model, reading);
  // LoRA's optimizer is fused_adam; of the others it is distributed unless a switch is off.
  const bool divided = file.Has("USE_DIST_OPTIMIZER") ? file.IsOn("USE_DIST_OPTIMIZER") : !lora;
  reading.Set("layout.sharding.zero_stage", divided ? "optimizer" : "none");
  ReadMlperfDataOverlap(reading);
  if (reading.layout().parallel().tensor_parallel_size() <= 1) {
    reading.layout().clear_sequence_parallel();
  }
  if (!reading.with_model) return;
  const int64_t layers = file.Count("OVERWRITTEN_NUM_LAYERS").value_or(0);
  if (lora) {
    ReadMlperfAdapters(reading);
  } else if (model == nullptr) {
    reading.out.open.emplace_back("the model: the benchmark's");
  } else if (layers == 0 || layers == model->layers) {
    reading.request().mutable_model()->set_preset(model->preset);
  } else {
    file.Ignore("OVERWRITTEN_NUM_LAYERS");
  }
}

}  // namespace

absl::Span<const Setting> MlperfSettings() { return kMlperfSettings; }

bool IsMlperf(const std::string& text) {
  return absl::StrContains(text, "DGXNNODES=") &&
         (absl::StrContains(text, "TENSOR_MODEL_PARALLEL=") ||
          absl::StrContains(text, "export TP=")) &&
         absl::StrContains(text, "MINIBS=");
}

absl::StatusOr<LauncherRead> ReadMlperf(const std::string& text, bool with_model) {
  const absl::StatusOr<ShellScript> script = ReadShellScript(text);
  if (!script.ok()) return script.status();
  MlperfJson document = MlperfJson::object();
  for (const auto& [name, value] : script->variables) {
    document[name] = ValueOfVariable(name, value);
  }
  absl::StatusOr<LauncherRead> out =
      ReadSettings(kMlperfSettings, with_model, SettingFile::FromDocument(std::move(document)),
                   Unknown::kOpen, [&](Reading& reading) { ReadMlperfModel(*script, reading); });
  if (!out.ok()) return out.status();
  for (const std::string& name : script->open) {
    if (MlperfRow(name) != nullptr) out->open.push_back(name);
  }
  for (const std::string& assignment : script->conditional) {
    out->ignored.push_back(absl::StrCat(assignment, " (in a branch)"));
  }
  for (const std::string& path : script->sourced) {
    out->wants.push_back(path.substr(path.rfind('/') + 1));
  }
  return out;
}

}  // namespace sextant::server
