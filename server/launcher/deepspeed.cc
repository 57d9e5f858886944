// Runs as DeepSpeed's configuration, written and read.
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/launcher/deepspeed_shards.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/launcher.h"
#include "server/launcher/setting_file.h"
#include "server/launcher/software.h"

namespace sextant::server {
namespace {

constexpr char kMicroBatchSize[] = "train_micro_batch_size_per_gpu";

int StageOf(v1::ZeroStage stage) { return static_cast<int>(stage) - v1::ZERO_STAGE_NONE; }

void ReadAccumulation(const Setting& setting, Reading& reading) {
  const v1::RunLayout& layout = reading.layout();
  const int64_t steps = reading.file.Count(setting.name).value_or(1);
  const bool micro = layout.has_micro_batch_size();
  if (micro) {
    reading.out.sequences_per_rank = Product(layout.micro_batch_size(), steps).value_or(0);
  }
  // The one that is missing follows from the devices; only the batch is derived.
  if (layout.has_global_batch_size() && !micro && !reading.file.IsAuto(kMicroBatchSize)) {
    reading.out.open.emplace_back(kMicroBatchSize);
  }
}
void WriteAccumulation(const Setting& setting, Writing& writing) {
  const LaunchSizes& sizes = writing.sizes;
  writing.list.Add(setting.name, sizes.global_batch / sizes.data / sizes.micro_batch);
}

// bf16 and fp16 are off by default, and "auto" where accelerate decides.
void ReadHalves(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  const bool bf16 = file.IsOn(setting.name) || file.IsOn("bfloat16.enabled");
  const bool half = file.IsOn("fp16.enabled");
  if (bf16 && half) file.Refuse("fp16.enabled", "enable bf16 or fp16");
  const bool open = file.IsAuto(setting.name) || file.IsAuto("fp16.enabled");
  reading.training().mutable_precision();
  if (!file.Has(setting.name) && !file.Has("bfloat16.enabled") && !file.Has("fp16.enabled")) {
    reading.out.assumed.emplace_back(setting.field);
  }
  if (bf16 || half || !open) reading.Set(setting.field, half ? "fp16" : bf16 ? "bf16" : "fp32");
}
void WriteHalves(const Setting& setting, Writing& writing) {
  const v1::PrecisionPolicy& precision = writing.training().precision();
  const v1::DataType compute = precision.compute_data_type();
  const v1::DataType weight = precision.weight_data_type();
  const bool open = compute == v1::DATA_TYPE_UNSPECIFIED;
  if (weight != 0 && weight != (open ? v1::DATA_TYPE_BF16 : compute)) {
    writing.refusals.Add("training.precision.weight_data_type",
                         "weights are stored as they are computed with");
  }
  writing.list.Add(setting.name, open || compute == v1::DATA_TYPE_BF16);
  writing.list.Add("fp16.enabled", compute == v1::DATA_TYPE_FP16);
}

// Its names in any case; others are the script's own.
void ReadOptimizerType(const Setting& setting, Reading& reading) {
  const std::string name = reading.file.Text(setting.name).value_or("");
  reading.training().mutable_optimizer();
  if (name.empty()) return;
  for (const SettingWord& word : WordsOf(setting.words)) {
    if (absl::EqualsIgnoreCase(name, word.name)) {
      return reading.Set(setting.field, std::string(word.value));
    }
  }
  reading.file.Ignore(setting.name);
}

void ReadStage(const Setting& setting, Reading& reading) {
  const int64_t stage = reading.file.Count(setting.name, 0).value_or(0);
  if (stage > 3) return reading.file.Refuse(setting.name, "write 0, 1, 2 or 3");
  reading.layout().mutable_sharding()->set_zero_stage(
      static_cast<v1::ZeroStage>(v1::ZERO_STAGE_NONE + stage));
}
void WriteStage(const Setting& setting, Writing& writing) {
  const int stage = StageOf(writing.sizes.zero);
  writing.list.Add(setting.name, stage);
  if (writing.sizes.pipeline == 1 || stage <= 1) return;
  writing.refusals.Add("layout.sharding.zero_stage", "with --pp it takes 0 or 1",
                       absl::StrCat(stage));
}

// A part of an offloaded optimizer stays: no share is known, so that none counts as gone.
void ReadOffloadedPart(const Setting& setting, Reading& reading) {
  v1::StateSharding& out = *reading.layout().mutable_sharding();
  if (!out.offload_optimizer()) return;
  const double share = reading.file.Number(setting.name).value_or(1);
  if (share >= 1) return;
  out.set_offload_optimizer(false);
  reading.file.Ignore(setting.name);
  reading.out.lowering.push_back(
      {absl::StrCat(setting.name, " = ", share), "layout.sharding.offload_optimizer"});
}

void WriteTensorSize(const Setting& setting, Writing& writing) {
  WriteFields({&setting, 1}, writing.run.request, writing.list);
  RefuseSharedSequences(writing);
}

void WriteStages(const Setting& setting, Writing& writing) {
  const int64_t stages = writing.sizes.pipeline;
  if (stages == 1) return;
  writing.list.Add(setting.name, stages);
  writing.out.left_out.push_back(absl::StrCat("--pp=", stages, " (its PipelineModule)"));
}

// A pipeline's layers are recomputed by a setting; other models do it themselves.
void ReadInterval(const Setting& setting, Reading& reading) {
  const int64_t interval = reading.file.Count(setting.name, 0).value_or(0);
  if (interval == 0) return;
  reading.training().set_recompute(v1::RECOMPUTE_POLICY_FULL);
  if (interval == 1) return;
  reading.layout().mutable_kernels()->set_recomputed_layers_per_block(interval);
}
void WriteInterval(const Setting& setting, Writing& writing) {
  const v1::RecomputePolicy policy = writing.training().recompute();
  const v1::KernelChoices& kernels = writing.layout().kernels();
  if (policy == v1::RECOMPUTE_POLICY_UNSPECIFIED || policy == v1::RECOMPUTE_POLICY_NONE) return;
  const bool full = policy == v1::RECOMPUTE_POLICY_FULL;
  if (full && writing.sizes.pipeline > 1) {
    const bool given = kernels.has_recomputed_layers_per_block();
    writing.list.Add(setting.name, given ? kernels.recomputed_layers_per_block() : 1);
  } else {
    writing.out.left_out.emplace_back(full ? "--recompute=full" : "--recompute=selective");
  }
}

// On by default of stage 3 alone, and without effect at stage 0, which reduces after all passes.
// Pipelines in bf16 do so too, and divide state all the same.
void ReadOverlap(const Setting& setting, Reading& reading) {
  const bool whole = reading.layout().sharding().zero_stage() == v1::ZERO_STAGE_NONE;
  if (whole && reading.file.Count("pipeline.stages").value_or(1) == 1) {
    (void)reading.file.IsOn(setting.name);
    return;
  }
  const bool shards = reading.layout().sharding().zero_stage() == v1::ZERO_STAGE_PARAMETERS;
  const bool given = reading.file.Has(setting.name);
  if (reading.file.IsAuto(setting.name)) return;
  if ((given ? reading.file.IsOn(setting.name) : shards) && !whole) return;
  v1::SoftwareStack& out = *reading.layout().mutable_software();
  out.set_data_exchange_overlap(kNothingHidden);
  if (shards) out.set_overlap_contention(kAllExposed);
}
void WriteOverlap(const Setting& setting, Writing& writing) {
  if (writing.sizes.zero == v1::ZERO_STAGE_NONE) return;
  const SoftwareConstants constants = ConstantsOfRun(writing.run.request, writing.sizes);
  const bool shards = writing.sizes.zero == v1::ZERO_STAGE_PARAMETERS;
  writing.list.Add(setting.name,
                   shards ? constants.of(StackConstant::kOverlapContention) < kAllExposed
                          : constants.of(StackConstant::kDataExchangeOverlap) > kNothingHidden);
}

void ReadScatter(const Setting& setting, Reading& reading) {
  if (!reading.file.Has(setting.name) || reading.file.IsOn(setting.name)) return;
  reading.layout().mutable_software()->set_all_reduces_gradients(true);
}
void WriteScatter(const Setting& setting, Writing& writing) {
  const SoftwareConstants constants = ConstantsOfRun(writing.run.request, writing.sizes);
  if (constants.of(StackConstant::kAllReducesGradients) > 0) writing.list.Add(setting.name, false);
}

constexpr Setting kExpertSizes[] = {
    Whole("expert_parallel.autoep_size", "layout.parallel.expert_parallel_size").Absent("1"),
    Whole("expert_parallel.expert_tensor_parallel_size",
          "layout.parallel.expert_tensor_parallel_size"),
};

void ReadExpertSizes(const Setting& setting, Reading& reading) {
  if (!reading.file.IsOn(setting.name)) return;
  ReadFields(kExpertSizes, reading.file, reading.request());
}
void WriteExpertSizes(const Setting& setting, Writing& writing) {
  if (writing.sizes.expert == 1) return;
  writing.list.Add(setting.name, true);
  WriteFields(kExpertSizes, writing.run.request, writing.list);
}

// The training script's: the adapters and the frozen base, by their flags.
void LeaveOutAdapters(const Setting&, Writing& writing) {
  const v1::ModelChanges& changes = writing.run.request.model().changes();
  std::vector<std::string>& out = writing.out.left_out;
  if (!changes.has_adapters()) return;
  out.insert(out.end(), {"--lora-rank", "--lora-targets"});
  if (changes.base_frozen()) out.emplace_back("--freeze-base");
  const bool stored = writing.layout().storage().frozen_data_type() != 0;
  if (stored) out.emplace_back("--frozen-data-type");
}

void LeaveOutRun(const Setting&, Writing& writing) {
  writing.out.left_out = {"the model", "--sequence-length", "--tokens"};
}

// In memory of the host, or on its disks. What disks hold needs neither the host's memory nor its
// link, which a plan counts: the device is ignored, and the memory an upper bound.
// Source: "Optimizer offloading" of docs/_pages/config-json.md.
void ReadDeepspeedOffload(const Setting& setting, Reading& reading) {
  constexpr char kDevices[] = "-none=false|cpu=true|nvme=true";
  reading.Set(setting.field, "false");
  const std::string offloaded = reading.file.Choose(setting.name, kDevices, "false");
  if (offloaded.empty()) return;
  reading.Set(setting.field, offloaded);
  if (!reading.file.Has(setting.name) || reading.file.Text(setting.name) != "nvme") return;
  reading.file.Ignore(setting.name);
  reading.out.lowering.push_back({absl::StrCat(setting.name, " = nvme"), ""});
}
void WriteDeepspeedOffload(const Setting& setting, Writing& writing) {
  if (FieldOf(writing.run.request, setting.field) == "true") writing.list.Add(setting.name, "cpu");
}

// The older name of offloading to the host.
void ReadOldOffload(const Setting& setting, Reading& reading) {
  if (reading.file.IsOn(setting.name)) reading.Set(setting.field, "true");
}

constexpr Setting kDeepspeedSettings[] = {
    Takes("training.sequence_length").Written(LeaveOutRun),
    Whole("train_batch_size", "layout.global_batch_size").Required(),
    Whole(kMicroBatchSize, "layout.micro_batch_size").Unset("1"),
    Other("gradient_accumulation_steps")
        .PartOf("layout.global_batch_size")
        .By(ReadAccumulation, WriteAccumulation),
    Other("bf16.enabled")
        .For("training.precision.compute_data_type")
        .Only("fp32|fp16|bf16")
        .By(ReadHalves, WriteHalves),
    Takes("training.precision.weight_data_type", "fp32|fp16|bf16"),
    Choice("data_types.grad_accum_dtype", "training.precision.gradient_data_type", "fp32|fp16|bf16")
        .Only("fp32|fp16|bf16"),
    Takes("training.precision.master_weights", "true"),
    Takes("training.precision.optimizer_data_type", "fp32"),
    Choice("optimizer.type", "training.optimizer.kind",
           "SGD=sgd|Adagrad=adagrad|Adam=adam|AdamW=adamw|Lion=lion|Muon=muon")
        .Only("sgd|adagrad|adam|adamw|lion|muon")
        .Read(ReadOptimizerType),
    Whole("zero_optimization.stage", "layout.sharding.zero_stage").By(ReadStage, WriteStage),
    Other("zero_optimization.offload_optimizer.device")
        .For("layout.sharding.offload_optimizer")
        .By(ReadDeepspeedOffload, WriteDeepspeedOffload),
    Other("zero_optimization.cpu_offload")
        .For("layout.sharding.offload_optimizer")
        .By(ReadOldOffload, [](const Setting&, Writing&) {}),
    Other("zero_optimization.offload_optimizer.ratio")
        .PartOf("layout.sharding.offload_optimizer")
        .Read(ReadOffloadedPart),
    Other("zero_optimization.offload_param.device")
        .For("layout.sharding.offload_parameters")
        .By(ReadDeepspeedOffload, WriteDeepspeedOffload),
    Other("zero_optimization.cpu_offload_param")
        .For("layout.sharding.offload_parameters")
        .By(ReadOldOffload, [](const Setting&, Writing&) {}),
    Other("zero_optimization.overlap_comm")
        .For("layout.software.data_exchange_overlap")
        .By(ReadOverlap, WriteOverlap),
    Takes("layout.software.overlap_contention"),
    Other("zero_optimization.reduce_scatter")
        .For("layout.software.all_reduces_gradients")
        .By(ReadScatter, WriteScatter),
    Takes("layout.kernels.expert_dispatch", "all-to-all"),
    Takes("layout.framework.captured_graphs", "false"),
    Lacks("layout.kernels.recompute_activation_function", "it recomputes whole layers"),
    Lacks("layout.kernels.recompute_norm_outputs", "it recomputes whole layers"),
    Lacks("layout.kernels.recompute_latent_up_projections", "it recomputes whole layers"),
    Whole("zero_optimization.reduce_bucket_size", "layout.framework.reduce_bucket_elements")
        .From(0),
    Whole("zero_optimization.allgather_bucket_size", "layout.framework.gather_bucket_elements")
        .From(0),
    Whole("zero_optimization.mics_shard_size", "layout.sharding.shard_group_size")
        .By(ReadDeepspeedGroup, WriteDeepspeedGroup),
    Takes("layout.sharding.reshard_after_forward", "true"),
    Takes("layout.sharding.prefetched_unit_count", "1"),
    Other("zero_optimization.stage3_max_live_parameters")
        .For("layout.framework.live_elements")
        .By(ReadLiveElements, WriteLiveElements),
    Other("zero_optimization.stage3_max_reuse_distance")
        .For("layout.framework.live_elements")
        .By(ReadLiveElements, WriteLiveElements),
    Whole("zero_optimization.zero_hpz_partition_size", "layout.sharding.secondary_group_size")
        .By(ReadSecondaryGroup, WriteSecondaryGroup),
    Other("zero_optimization.sub_group_size")
        .PartOf("layout.sharding.offload_optimizer")
        .Read(ReadSubgroups),
    Whole("tensor_parallel.autotp_size", "layout.parallel.tensor_parallel_size")
        .AboveOne()
        .By(ReadTensorRanks, WriteTensorSize),
    Takes("layout.sequence_parallel"),
    Whole("sequence_parallel_size", "layout.context_parallel_size").AboveOne(),
    Takes("layout.context_parallel_kind", "all-to-all"),
    Whole("pipeline.stages", "layout.parallel.pipeline_parallel_size").Written(WriteStages),
    Takes("layout.parallel.virtual_stage_count", "1"),
    Takes("layout.schedule", "one-forward-one-backward"),
    Other("pipeline.activation_checkpoint_interval")
        .For("training.recompute")
        .By(ReadInterval, WriteInterval),
    Takes("layout.kernels.recomputed_layers_per_block"),
    Other("expert_parallel.enabled")
        .For("layout.parallel.expert_parallel_size")
        .By(ReadExpertSizes, WriteExpertSizes),
    Takes("layout.parallel.expert_tensor_parallel_size"),
    Takes("layout.framework.kind", "deepspeed").Absent("deepspeed"),
    // The training script's: adapters, how a frozen base is stored, lengths, tokens and kernels.
    Takes("model.changes.adapters.rank").Written(LeaveOutAdapters),
    Takes("model.changes.adapters.targets"),
    Takes("model.changes.base_frozen"),
    Takes("layout.storage.frozen_data_type"),
    Takes("layout.storage.frozen_block_size"),
    Takes("layout.storage.double_quantization"),
    Takes("layout.kernels.attention"),
    Takes("layout.kernels.loss"),
    Takes("layout.kernels.loss_chunk_tokens"),
    Takes("layout.kernels.dropout"),
    Takes("layout.framework.deterministic"),
    Parts("bfloat16.enabled|fp16.enabled").PartOf("training.precision.compute_data_type"),
    Parts("expert_parallel.autoep_size").PartOf("layout.parallel.expert_parallel_size"),
    Parts("expert_parallel.expert_tensor_parallel_size")
        .PartOf("layout.parallel.expert_tensor_parallel_size"),
};

}  // namespace

absl::Span<const Setting> DeepspeedSettings() {
  static const auto& table =
      *new std::vector<Setting>(JoinedTables({kDeepspeedSettings, DeepspeedUnread()}));
  return table;
}

absl::StatusOr<LauncherFile> WriteDeepspeed(const LaunchedRun& run) {
  absl::StatusOr<Writing> written = WriteSettings("DeepSpeed", DeepspeedSettings(), run);
  if (!written.ok()) return written.status();
  written->out.text = written->list.Json();
  return std::move(written->out);
}

}  // namespace sextant::server
