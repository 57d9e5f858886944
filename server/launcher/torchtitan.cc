// Runs as torchtitan's configuration, written and read.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "server/launcher/launcher.h"
#include "server/launcher/software.h"
#include "server/launcher/toml_text.h"

namespace sextant::server {
namespace {

constexpr int64_t kUsualBatch = 8;  // torchtitan's local_batch_size

constexpr char kFlavor[] = "model.flavor";
constexpr char kConverters[] = "model.converters";
constexpr char kCopies[] = "parallelism.data_parallel_replicate_degree";
constexpr char kShards[] = "parallelism.data_parallel_shard_degree";
constexpr char kStored[] = "training.precision.weight_data_type";
constexpr char kExpertTensor[] = "layout.parallel.expert_tensor_parallel_size";
constexpr char kZero[] = "layout.sharding.zero_stage";
constexpr char kRecomputeOption[] = "activation_checkpoint.selective_ac_option";
constexpr char kShares[] = "layout.sequence_parallel";

void WriteDescription(const Setting& setting, Writing& writing) {
  writing.list.Add(setting.name, writing.run.model_name);
}

// The model, if torchtitan's name and flavor are those of a preset.
void ReadTorchtitanModel(const Setting& setting, Reading& reading) {
  const TorchtitanModel* const model =
      ModelOfFlavor(reading.file.Text(setting.name).value_or("llama3"),
                    reading.file.Text(kFlavor).value_or("debugmodel"));
  if (model == nullptr) {
    reading.file.Ignore(setting.name);
    reading.file.Ignore(kFlavor);
  } else if (reading.with_model) {
    reading.request().mutable_model()->set_preset(model->preset);
  }
}
void WriteTorchtitanModel(const Setting& setting, Writing& writing) {
  const v1::DataType compute = writing.training().precision().compute_data_type();
  if (const auto* const model = ModelOfPreset(writing.run.request.model().preset())) {
    writing.list.Add(setting.name, model->name);
    writing.list.Add(kFlavor, model->flavor);
  } else {
    writing.out.left_out.emplace_back("[model] name and flavor");
  }
  if (!IsNarrow(compute)) return;
  const bool blocks = compute == v1::DATA_TYPE_MXFP8;
  writing.list.Add(kConverters, SettingList::Value::array(
                                    {blocks ? "quantize.linear.mx" : "quantize.linear.float8"}));
}

// A rank's batch: under a pipeline it is cut into micro-batches; else it is one.
void ReadBatch(const Setting& setting, Reading& reading) {
  const int64_t local = reading.file.Count(setting.name).value_or(kUsualBatch);
  reading.layout().set_micro_batch_size(local);
  reading.out.sequences_per_rank = local;
}
void WriteBatch(const Setting& setting, Writing& writing) {
  const LaunchSizes& sizes = writing.sizes;
  const int64_t batch = std::max<int64_t>(sizes.global_batch, 1);
  writing.list.Add(setting.name, sizes.pipeline > 1 ? batch / sizes.data : sizes.micro_batch);
}

void ReadGlobalBatch(const Setting& setting, Reading& reading) {
  const int64_t batch = reading.file.Count(setting.name, -1).value_or(-1);
  if (batch == 0) reading.file.Refuse(setting.name, "write -1, or a whole number from 1 on");
  if (batch > 0) reading.layout().set_global_batch_size(batch);
}

void ReadSteps(const Setting& setting, Reading& reading) {
  reading.out.step_count = reading.file.Count(setting.name).value_or(10'000);
}
void WriteSteps(const Setting& setting, Writing& writing) {
  const int64_t sequences = SequenceCount(writing.training());
  const int64_t batch = std::max<int64_t>(writing.sizes.global_batch, 1);
  writing.list.Add(setting.name, sequences / batch + (sequences % batch > 0 ? 1 : 0));
}

v1::DataType ReadConverters(Reading& reading) {
  v1::DataType out = v1::DATA_TYPE_UNSPECIFIED;
  for (const std::string& name : reading.file.Texts(kConverters)) {
    if (name == "float8" || name == "quantize.linear.float8") {
      out = v1::DATA_TYPE_FP8;
    } else if (name == "mx" || name == "quantize.linear.mx") {
      out = v1::DATA_TYPE_MXFP8;
    } else {
      reading.file.Ignore(kConverters);
      reading.out.lowering.push_back(
          {absl::StrCat(kConverters, " = ", name), "training.precision.compute_data_type"});
    }
  }
  return out;
}

void ReadTypes(const Setting& setting, Reading& reading) {
  constexpr char kTypes[] = "float32|bfloat16";
  v1::PrecisionPolicy& out = *reading.training().mutable_precision();
  const std::string stored = reading.file.Choose(setting.name, kTypes, "float32");
  const std::string computed =
      reading.file.Choose("training.mixed_precision_param", kTypes, "bfloat16");
  (void)reading.file.Text("training.mixed_precision_reduce");  // float32 is the only choice
  const v1::DataType narrow = ReadConverters(reading);
  const bool wide = computed == "float32" && stored == "float32";
  out.set_compute_data_type(wide ? v1::DATA_TYPE_FP32 : v1::DATA_TYPE_BF16);
  if (narrow != v1::DATA_TYPE_UNSPECIFIED) out.set_compute_data_type(narrow);
  out.set_weight_data_type(stored == "bfloat16" ? v1::DATA_TYPE_BF16 : v1::DATA_TYPE_FP32);
  if (stored == "bfloat16") out.set_master_weights(false);
}
void WriteTypes(const Setting& setting, Writing& writing) {
  const v1::PrecisionPolicy& precision = writing.training().precision();
  const bool narrow = precision.weight_data_type() == v1::DATA_TYPE_BF16;
  const bool wide = precision.compute_data_type() == v1::DATA_TYPE_FP32;
  const bool copied = !precision.has_master_weights() || precision.master_weights();
  if (narrow && copied) writing.refusals.Add(kStored, "it takes --master-weights=false", "bf16");
  writing.list.Add(setting.name, narrow ? "bfloat16" : "float32");
  writing.list.Add("training.mixed_precision_param", wide ? "float32" : "bfloat16");
  writing.list.Add("training.mixed_precision_reduce", "float32");
}

void ReadOffload(const Setting& setting, Reading& reading) {
  if (!reading.file.IsOn(setting.name)) return;
  reading.layout().mutable_sharding()->set_offload_optimizer(true);
  reading.layout().mutable_sharding()->set_offload_parameters(true);
}
void WriteOffload(const Setting& setting, Writing& writing) {
  const v1::StateSharding& sharding = writing.layout().sharding();
  if (sharding.offload_optimizer() != sharding.offload_parameters()) {
    writing.refusals.Add("layout.sharding.offload_optimizer", "it goes with --offload-parameters");
  }
  if (sharding.offload_optimizer()) writing.list.Add(setting.name, true);
}

// Ranks that hold copies, and those that share a shard apart from the context parallel ones.
void ReadContextAndShards(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  ReadFields({&setting, 1}, file, reading.request());
  const int64_t copies = file.Count(kCopies).value_or(1);
  const int64_t shards = file.Count(kShards, -1).value_or(-1);
  if (shards == 0) file.Refuse(kShards, "write -1, or a whole number from 1 on");
  const bool sharded = shards != 1 || reading.layout().context_parallel_size() > 1;
  if (sharded) reading.out.state_copies = copies;
  reading.Set(kZero, sharded ? "parameters" : "none");
}
void WriteShards(const Setting& setting, Writing& writing) {
  const v1::StateSharding& sharding = writing.layout().sharding();
  const LaunchSizes& sizes = writing.sizes;
  const int64_t ranks = sizes.data * sizes.context;
  if (sizes.zero == v1::ZERO_STAGE_NONE) {
    if (sizes.context > 1) writing.refusals.Add(kZero, "with --cp it shards, --zero=3", "none");
    writing.list.Add(setting.name, sizes.data);
    return writing.list.Add(kShards, 1);
  }
  const int64_t group = sharding.has_shard_group_size() ? sharding.shard_group_size() : ranks;
  if (group <= 0 || group % sizes.context != 0) {
    return writing.refusals.Add("layout.sharding.shard_group_size", "it takes a multiple of --cp");
  }
  writing.list.Add(setting.name, ranks / group);
  writing.list.Add(kShards, group == ranks ? -1 : group / sizes.context);
}
void WriteReshard(const Setting& setting, Writing& writing) {
  if (writing.sizes.zero == v1::ZERO_STAGE_NONE) return;
  WriteFields({&setting, 1}, writing.run.request, writing.list);
}

void WriteTensor(const Setting& setting, Writing& writing) {
  writing.list.Add(setting.name, writing.sizes.tensor);
  if (writing.sizes.tensor == 1 || writing.sizes.sequence_parallel) return;
  writing.refusals.Add(kShares, "tensor parallel ranks share sequences too", "false");
}

// The tensor parallel size of experts counts with expert parallel ranks alone, and is 1 by default.
void ReadExpertDegree(const Setting& setting, Reading& reading) {
  ReadFields({&setting, 1}, reading.file, reading.request());
  v1::ParallelLayout& out = *reading.layout().mutable_parallel();
  const auto shared = reading.file.Count("parallelism.expert_tensor_parallel_degree");
  if (out.expert_parallel_size() > 1) out.set_expert_tensor_parallel_size(shared.value_or(1));
}
void WriteExpertDegree(const Setting& setting, Writing& writing) {
  const LaunchSizes& sizes = writing.sizes;
  if (sizes.expert == 1) return;
  const int64_t shared = sizes.expert_tensor > 0 ? sizes.expert_tensor : sizes.tensor;
  const bool known = shared == 1 || shared == sizes.tensor;
  if (!known) writing.refusals.Add(kExpertTensor, "it takes 1, or --tp", absl::StrCat(shared));
  writing.list.Add(setting.name, sizes.expert);
  writing.list.Add("parallelism.expert_tensor_parallel_degree", shared);
}

// By operator, or every n-th layer, which no policy of the API does unless that is every layer.
void ReadRecomputeMode(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  const std::string mode =
      file.Choose(setting.name, "none|full|selective|memory_budget", "selective");
  const std::string option = file.Text(kRecomputeOption).value_or("2");
  if (mode.empty()) return;
  if (mode == "none" || mode == "full") return reading.Set(setting.field, mode);
  if (mode == "selective" && option == "op") return reading.Set(setting.field, "operators");
  if (mode == "selective" && (option == "1" || option == "0")) {
    return reading.Set(setting.field, "full");
  }
  if (!file.Has(setting.name)) {
    reading.out.ignored.push_back(absl::StrCat(setting.name, " = selective"));
  }
  file.Ignore(setting.name);
  reading.out.lowering.push_back({absl::StrCat(setting.name, " = ", mode), setting.field});
}
void WriteRecomputeMode(const Setting& setting, Writing& writing) {
  if (writing.training().recompute() != v1::RECOMPUTE_POLICY_OPERATORS) {
    return WriteFields({&setting, 1}, writing.run.request, writing.list);
  }
  writing.list.Add(setting.name, "selective");
  writing.list.Add(kRecomputeOption, "op");
}

constexpr Setting kTorchtitanSettings[] = {
    Other("job.description")
        .With(&Setting::about, "a text")
        .By([](const Setting& setting, Reading& reading) { (void)reading.file.Text(setting.name); },
            WriteDescription),
    Other("model.name").PartOf("model").By(ReadTorchtitanModel, WriteTorchtitanModel),
    Choice("optimizer.name", "training.optimizer.kind", "Adam=adam|AdamW=adamw")
        .Only("adam|adamw")
        .Absent("adamw")
        .Unset("AdamW"),
    Other("optimizer.implementation")
        .For("layout.software.optimizer_time_ratio")
        .By(ReadImplementation, WriteImplementation),
    Takes("training.optimizer.implementation"),
    Other("training.local_batch_size").PartOf("layout.micro_batch_size").By(ReadBatch, WriteBatch),
    Whole("training.global_batch_size", "layout.global_batch_size")
        .Required()
        .Read(ReadGlobalBatch),
    Whole("training.seq_len", "training.sequence_length").Required().Absent("2048"),
    Other("training.steps").PartOf("training.token_count").By(ReadSteps, WriteSteps),
    Other("training.dtype").PartOf("training.precision.weight_data_type").By(ReadTypes, WriteTypes),
    Takes("training.precision.compute_data_type", "fp32|bf16|fp8|mxfp8"),
    Takes(kStored, "fp32|bf16"),
    Takes("training.precision.gradient_data_type", "fp32|bf16"),
    Takes("training.precision.master_weights"),
    Takes("training.precision.optimizer_data_type", "fp32|bf16"),
    Other("training.enable_cpu_offload")
        .PartOf("layout.sharding.offload_optimizer")
        .By(ReadOffload, WriteOffload),
    Takes("layout.sharding.offload_optimizer"),
    Takes("layout.sharding.offload_parameters"),
    Other(kCopies).PartOf("layout.sharding.shard_group_size").Written(WriteShards),
    Takes(kZero, "none|parameters"),
    Takes("layout.sharding.shard_group_size"),
    Takes("layout.sharding.prefetched_unit_count", "1"),
    Choice("parallelism.fsdp_reshard_after_forward", "layout.sharding.reshard_after_forward",
           "default=|always=true|never=false")
        .Written(WriteReshard),
    Whole("parallelism.tensor_parallel_degree", "layout.parallel.tensor_parallel_size")
        .Written(WriteTensor),
    Takes(kShares),
    Whole("parallelism.context_parallel_degree", "layout.context_parallel_size")
        .Unset("1")
        .Read(ReadContextAndShards),
    Takes("layout.context_parallel_kind", "ring"),
    Whole("parallelism.pipeline_parallel_degree", "layout.parallel.pipeline_parallel_size")
        .By(ReadPipelineDegree, WritePipelineDegree),
    Takes("layout.parallel.virtual_stage_count"),
    Takes("layout.parallel.layers_per_chunk"),
    Takes("layout.micro_batch_size"),
    Takes("layout.schedule", "one-forward-one-backward|gpipe"),
    Whole("parallelism.expert_parallel_degree", "layout.parallel.expert_parallel_size")
        .By(ReadExpertDegree, WriteExpertDegree),
    Takes(kExpertTensor),
    Choice("parallelism.expert_parallel_comm_backend", "layout.software.one_copy_per_node",
           "~standard=|deepep=true")
        .Written(WriteCopies),
    Choice("activation_checkpoint.mode", "training.recompute", "none|full")
        .Only("none|full|operators")
        .Unset("none")
        .By(ReadRecomputeMode, WriteRecomputeMode),
    Takes("layout.kernels.recomputed_layers_per_block", "1"),
    Takes("layout.kernels.attention", "flash"),
    Takes("layout.kernels.loss", "plain|fused"),
    Takes("layout.framework.kind", "torchtitan").Absent("torchtitan"),
    Switch("debug.deterministic", "layout.framework.deterministic").Absent("false"),
    Other("compile.enable")
        .For("layout.software.memory_pass_time_ratio")
        .By(ReadCompilation, WriteCompilation),
    Takes("layout.kernels.expert_dispatch", "all-to-all"),
    Takes("layout.framework.captured_graphs", "false"),
    Lacks("layout.kernels.loss_chunk_tokens", "its loss works on all tokens at once"),
    Lacks("layout.kernels.dropout", "its models have none"),
    Lacks("layout.kernels.recompute_activation_function", "it recomputes whole layers"),
    Lacks("layout.kernels.recompute_norm_outputs", "it recomputes whole layers"),
    Lacks("layout.kernels.recompute_latent_up_projections", "it recomputes whole layers"),
    Other("optimizer.early_step_in_backward")
        .PartOf("training.optimizer.kind")
        .Read(ReadLoweringSwitch),
    Other("quantize.linear.float8.enable_fsdp_float8_all_gather")
        .PartOf("training.precision.weight_data_type")
        .Read(ReadLoweringSwitch),
    Other("float8.enable_fsdp_float8_all_gather")
        .PartOf("training.precision.weight_data_type")
        .Read(ReadLoweringSwitch),
    Other("quantize.linear.float8.filter_fqns")
        .PartOf("training.precision.compute_data_type")
        .Read(ReadOfConverter),
    Other("quantize.linear.float8.precompute_float8_dynamic_scale_for_fsdp")
        .PartOf("training.precision.compute_data_type")
        .Read(ReadOfConverter),
    Other("quantize.linear.float8.recipe_name")
        .PartOf("training.precision.compute_data_type")
        .Read(ReadOfConverter),
    Other("quantize.linear.float8.emulate")
        .PartOf("training.precision.compute_data_type")
        .Read(ReadOfConverter),
    Other("quantize.linear.mx.recipe_name")
        .PartOf("training.precision.compute_data_type")
        .Read(ReadOfConverter),
    Other("quantize.linear.mx.filter_fqns")
        .PartOf("training.precision.compute_data_type")
        .Read(ReadOfConverter),
    Other("quantize.linear.mx.mxfp8_dim1_cast_kernel_choice")
        .PartOf("training.precision.compute_data_type")
        .Read(ReadOfConverter),
    Other("quantize.grouped_mm.float8.fqns")
        .PartOf("training.precision.compute_data_type")
        .Read(ReadOfConverter),
    Other("quantize.grouped_mm.mx.fqns")
        .PartOf("training.precision.compute_data_type")
        .Read(ReadOfConverter),
    Other("quantize.grouped_mm.mx.recipe_name")
        .PartOf("training.precision.compute_data_type")
        .Read(ReadOfConverter),
    Other("float8.filter_fqns")
        .PartOf("training.precision.compute_data_type")
        .Read(ReadOfConverter),
    Other("float8.precompute_float8_dynamic_scale_for_fsdp")
        .PartOf("training.precision.compute_data_type")
        .Read(ReadOfConverter),
    Other("float8.emulate").PartOf("training.precision.compute_data_type").Read(ReadOfConverter),
    Other("float8.recipe_name")
        .PartOf("training.precision.compute_data_type")
        .Read(ReadOfConverter),
    Other("float8.force_recompute_fp8_weight_in_bwd")
        .PartOf("training.precision.compute_data_type")
        .Read(ReadOfConverter),
    Other("mx.filter_fqns").PartOf("training.precision.compute_data_type").Read(ReadOfConverter),
    Other("mx.recipe_name").PartOf("training.precision.compute_data_type").Read(ReadOfConverter),
    Other("mx.use_fp8_dim1_cast_triton_kernel")
        .PartOf("training.precision.compute_data_type")
        .Read(ReadOfConverter),
    Parts("activation_checkpoint.selective_ac_option").PartOf("training.recompute"),
    Parts("compile.components").PartOf("layout.software.memory_pass_time_ratio"),
    Parts("model.flavor").PartOf("model"),
    Parts("model.converters").PartOf("training.precision.compute_data_type"),
    Parts("training.mixed_precision_param").PartOf("training.precision.compute_data_type"),
    Parts("parallelism.data_parallel_shard_degree").PartOf("layout.sharding.zero_stage"),
    Parts("parallelism.pipeline_parallel_schedule").PartOf("layout.schedule"),
    Parts("parallelism.pipeline_parallel_microbatch_size").PartOf("layout.micro_batch_size"),
    Parts("parallelism.pipeline_parallel_layers_per_stage|"
          "parallelism.pipeline_parallel_first_stage_less_layers|"
          "parallelism.pipeline_parallel_last_stage_less_layers|"
          "parallelism.module_fqns_per_model_part")
        .PartOf("layout.parallel.layers_per_chunk"),
    Parts("parallelism.expert_tensor_parallel_degree")
        .PartOf("layout.parallel.expert_tensor_parallel_size"),
};

}  // namespace

absl::Span<const Setting> TorchtitanSettings() {
  static const auto& table =
      *new std::vector<Setting>(JoinedTables({kTorchtitanSettings, TorchtitanUnread()}));
  return table;
}

absl::StatusOr<LauncherFile> WriteTorchtitan(const LaunchedRun& run) {
  absl::StatusOr<Writing> written = WriteSettings("torchtitan", TorchtitanSettings(), run);
  if (!written.ok()) return written.status();
  written->out.text = written->list.Toml();
  return std::move(written->out);
}

absl::StatusOr<LauncherRead> ReadTorchtitan(const std::string& text, bool with_model) {
  absl::StatusOr<nlohmann::json> document = ReadToml(text);
  if (!document.ok()) return document.status();
  const std::vector<std::string> twice = RenameOlderSettings(&*document);
  absl::StatusOr<LauncherRead> out =
      ReadTorchtitan(SettingFile::FromDocument(*std::move(document)), with_model);
  if (out.ok()) absl::c_copy(twice, std::back_inserter(out->ignored));
  return out;
}

absl::StatusOr<LauncherRead> ReadTorchtitan(absl::StatusOr<SettingFile> file, bool with_model) {
  return ReadSettings(TorchtitanSettings(), with_model, std::move(file), Unknown::kRefused);
}

}  // namespace sextant::server
