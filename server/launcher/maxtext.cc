// Runs as MaxText's YAML, read.
// Source: AI-Hypercomputer/maxtext, configs/base.yml of 2025.
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/launcher/launcher.h"

namespace sextant::server {
namespace {

constexpr char kAxes[] = "_parallelism";

// The ranks of an axis: on a slice's own network times those between slices. -1, what is left of
// the devices, is absent.
std::optional<int64_t> AxisOf(SettingFile& file, const std::string& axis) {
  const int64_t inner = file.Count(absl::StrCat("ici_", axis, kAxes), -1).value_or(1);
  const int64_t outer = file.Count(absl::StrCat("dcn_", axis, kAxes), -1).value_or(1);
  for (const auto& [name, size] : {std::pair("ici_", inner), std::pair("dcn_", outer)}) {
    if (size == 0) file.Refuse(absl::StrCat(name, axis, kAxes), "write -1, or a number from 1 on");
  }
  if (inner <= 0 || outer <= 0) return std::nullopt;
  return Product(inner, outer);
}

void ReadMaxtextModel(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  const std::string name = file.Text(setting.name).value_or("default");
  if (name != "default") {
    if (reading.with_model) reading.request().mutable_model()->set_preset(name);
    return;
  }
  if (!file.Has("base_emb_dim") || !reading.with_model) return;
  constexpr Setting kShape[] = {
      Whole("base_num_decoder_layers", "model.transformer.layer_count").Absent("16"),
      Whole("base_emb_dim", "model.transformer.hidden_size").Absent("2048"),
      Whole("base_mlp_dim", "model.transformer.feed_forward_size").Absent("7168"),
      Whole("base_num_query_heads", "model.transformer.attention_head_count").Absent("16"),
      Whole("base_num_kv_heads", "model.transformer.key_value_head_count").Absent("16"),
      Whole("head_dim", "model.transformer.head_size").Absent("128"),
      Whole("vocab_size", "model.transformer.vocabulary_size").Absent("32000"),
      Choice("decoder_block", "model.transformer.norm_kind",
             "llama2=rms-norm|mistral=rms-norm|qwen3=rms-norm|gemma=rms-norm")
          .Absent("rms-norm"),
  };
  ReadFields(kShape, file, reading.request());
  v1::TransformerSpec& shape = *reading.request().mutable_model()->mutable_transformer();
  shape.set_tied_embeddings(file.IsOn("logits_via_embedding"));
  shape.set_feed_forward_kind(file.Texts("mlp_activations").size() == 1
                                  ? v1::TransformerSpec::FEED_FORWARD_KIND_PLAIN
                                  : v1::TransformerSpec::FEED_FORWARD_KIND_GATED);
  if (file.Count("num_experts").value_or(1) > 1) {
    file.Refuse("num_experts",
                "give the model by its name or its config.json: the sizes of "
                "experts are not read");
  }
}

// The axes that share a tensor, a sequence, experts and stages.
void ReadMaxtextAxes(const Setting&, Reading& reading) {
  SettingFile& file = reading.file;
  v1::RunLayout& layout = reading.layout();
  v1::ParallelLayout& parallel = *layout.mutable_parallel();
  const std::optional<int64_t> tensor = AxisOf(file, "tensor");
  const std::optional<int64_t> stages = AxisOf(file, "pipeline");
  const std::optional<int64_t> context = AxisOf(file, "context");
  const std::optional<int64_t> experts = AxisOf(file, "expert");
  const std::optional<int64_t> sequence = AxisOf(file, "tensor_sequence");
  if (tensor.has_value()) {
    const std::optional<int64_t> both = Product(*tensor, sequence.value_or(1));
    if (!both.has_value()) file.Refuse("ici_tensor_parallelism", "write fewer ranks");
    parallel.set_tensor_parallel_size(both.value_or(1));
  }
  if (tensor.value_or(1) > 1) layout.set_sequence_parallel(sequence.value_or(1) > 1);
  if (stages.has_value()) parallel.set_pipeline_parallel_size(*stages);
  if (context.has_value()) layout.set_context_parallel_size(*context);
  if (experts.has_value()) parallel.set_expert_parallel_size(*experts);
}

// Weights are sharded along `fsdp`; -1 is what is left of the devices.
void ReadMaxtextShards(const Setting&, Reading& reading) {
  SettingFile& file = reading.file;
  const std::optional<int64_t> shards = AxisOf(file, "fsdp");
  const std::optional<int64_t> copies = AxisOf(file, "data");
  reading.Set("layout.sharding.zero_stage", shards == 1 ? "none" : "parameters");
  if (shards != 1 && copies.has_value() && *copies > 1) reading.out.state_copies = *copies;
}

// Sequences on a device; of all that share one, together. Half a sequence is of two devices.
void ReadMaxtextBatch(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  constexpr double kUsual = 12;
  const double each = file.Number(setting.name).value_or(kUsual);
  const v1::ParallelLayout& parallel = reading.layout().parallel();
  double together = each;
  for (const int64_t size : {parallel.tensor_parallel_size(), parallel.pipeline_parallel_size(),
                             reading.layout().context_parallel_size()}) {
    together *= static_cast<double>(size > 0 ? size : 1);
  }
  const bool sound = together >= 1 && together < 1e9;
  const auto sequences = sound ? static_cast<int64_t>(together) : 1;
  if (!sound || static_cast<double>(sequences) != together) {
    return file.Refuse(setting.name, absl::StrCat("the ranks of a replica train on ", together,
                                                  " sequences: give a whole number of them"));
  }
  const int64_t steps = file.Count("gradient_accumulation_steps").value_or(1);
  const int64_t stage_batches = file.Count("num_pipeline_microbatches", -1).value_or(-1);
  const int64_t parts = stage_batches > 0 ? stage_batches : 1;
  reading.out.sequences_per_rank = Product(sequences, steps).value_or(0);
  if (sequences % parts == 0) reading.layout().set_micro_batch_size(sequences / parts);
}

void ReadMaxtextSteps(const Setting& setting, Reading& reading) {
  const int64_t steps = reading.file.Count(setting.name, -1).value_or(150'001);
  if (steps > 0) reading.out.step_count = steps;
}

void ReadMaxtextTypes(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  constexpr char kTypes[] = "bfloat16=bf16|float32=fp32|float16=fp16";
  reading.Set("training.precision.compute_data_type", file.Choose(setting.name, kTypes, "bf16"));
  const std::string weights = file.Choose("weight_dtype", kTypes, "fp32");
  reading.Set("training.precision.weight_data_type", weights);
  // Weights of any type are the optimizer's own: there is no second copy.
  reading.training().mutable_precision()->set_master_weights(false);
  const std::string narrow = file.Text("quantization").value_or("");
  if (absl::StrContains(narrow, "fp8")) {
    reading.Set("training.precision.compute_data_type", "fp8");
  } else if (!narrow.empty()) {
    file.Ignore("quantization");
  }
}

// Policies between `full`, which keeps a layer's input, and none name the products that are kept.
void ReadRemat(const Setting& setting, Reading& reading) {
  const std::string policy = reading.file.Text(setting.name).value_or("full");
  if (policy == "full") return reading.Set(setting.field, "full");
  if (policy == "none") return reading.Set(setting.field, "none");
  reading.file.Ignore(setting.name);
  reading.Set(setting.field, "none");
  reading.out.lowering.push_back({absl::StrCat(setting.name, " = ", policy), setting.field});
}

void SayXla(const Setting&, Reading& reading) {
  reading.out.ignored.emplace_back("XLA's memory and kernels (no framework of the API is MaxText)");
}

constexpr Setting kMaxtextSettings[] = {
    Other("model_name").Read(ReadMaxtextModel),
    Other("ici_tensor_parallelism").Read(ReadMaxtextAxes),
    Other("ici_fsdp_parallelism").Read(ReadMaxtextShards),
    Other("per_device_batch_size").Read(ReadMaxtextBatch),
    Whole("max_target_length", "training.sequence_length").Absent("2048"),
    Other("steps").Read(ReadMaxtextSteps),
    Other("dtype").Read(ReadMaxtextTypes),
    Choice("opt_type", "training.optimizer.kind", "adamw|adam_pax=adam|sgd|muon").Absent("adamw"),
    Other("remat_policy").For("training.recompute").Read(ReadRemat),
    Other("").Read(SayXla),
    Parts("base_num_decoder_layers|base_emb_dim|base_mlp_dim|base_num_query_heads|"
          "base_num_kv_heads|head_dim|vocab_size|decoder_block|logits_via_embedding|"
          "mlp_activations|num_experts|gradient_accumulation_steps|num_pipeline_microbatches|"
          "weight_dtype|quantization"),
    Matters("sa_|local_sa_|wi_tile_|wo_tile_|use_splash_scheduler|use_tokamax_|use_jax_splash|"
            "communication_overlapping_alpha|num_communication_overlapping_steps",
            Effect::kTime, "how kernels and exchanges are cut"),
    Matters("activations_in_float32|float32_gate_logits|float32_logits|float32_qk_product|"
            "float32_weight_sum|cast_logits_to_fp32|logits_dot_in_fp32|dropout_rate",
            Effect::kRaises, "parts that are kept in 32 bits, and masks"),
    Matters("num_vocab_tiling|shard_optimizer_over_data", Effect::kLowers,
            "logits in parts, and optimizer state divided by copies too"),
    Lowers("optimizer_memory_host_offload"),
    Lowers("parameter_memory_host_offload"),
    Lowers("decoder_layer_input"),
    Lowers("mu_dtype"),
    // Data, checkpoints, logs, inference and numbers that no size depends on.
    // remat_policy says already what is kept.
    Passes("query_proj|key_proj|value_proj|qkv_proj|kv_proj|out_proj|mlpwi|mlpwi_0|mlpwi_1|mlpwo|"
           "moe_mlpwi_0|moe_mlpwi_1|moe_mlpwo|attention_out|mla_q|mla_kv|query_wa_proj|kv_wa_proj"),
    Passes("muon_|mtp_|goodput_|dump_|elastic_|xprof_|managed_mldiagnostics|managed_mldiagnostics_|"
           "chat_template|chat_template_path|jax_|wandb_|distill_|prometheus_port|wsd_decay_|"
           "lr_schedule_type|train_split|train_data_columns|local_checkpoint_|multi_tier_"),
    Passes("base_config"),
    Passes("run_name"),
    Passes("base_output_directory"),
    Passes("load_"),
    Passes("enable_checkpointing"),
    Passes("async_checkpointing"),
    Passes("checkpoint_"),
    Passes("enable_"),
    Passes("dataset_"),
    Passes("eval_"),
    Passes("hf_"),
    Passes("grain_"),
    Passes("tokenize"),
    Passes("tokenizer_"),
    Passes("tokenize_"),
    Passes("learning_rate"),
    Passes("learning_rate_"),
    Passes("cosine_learning_rate_"),
    Passes("warmup_"),
    Passes("adam_"),
    Passes("gradient_clipping_threshold"),
    Passes("log_"),
    Passes("profiler"),
    Passes("profiler_"),
    Passes("skip_first_n_steps_for_profiler"),
    Passes("upload_all_profiler_results"),
    Passes("gcs_metrics"),
    Passes("save_config_to_gcs"),
    Passes("metrics_file"),
    Passes("use_vertex_tensorboard"),
    Passes("vertex_tensorboard_"),
    Passes("jax_cache_dir"),
    Passes("compiled_trainstep_file"),
    Passes("data_shuffle_seed"),
    Passes("init_weights_seed"),
    Passes("decode_"),
    Passes("inference_"),
    Passes("max_prefill_predict_length"),
    Passes("prompt"),
    Passes("prefill_"),
    Passes("autoregressive_"),
    Passes("ici_autoregressive_parallelism"),
    Passes("dcn_autoregressive_parallelism"),
    Passes("reuse_example_batch"),
    Passes("collect_stack_trace"),
    Passes("stack_trace_"),
    Passes("normalization_layer_epsilon"),
    Passes("rope_"),
    Passes("packing"),
    Passes("max_segments_per_seq"),
    Passes("hardware"),
    Passes("attention"),
    Passes("use_iota_embed"),
    Passes("scan_layers"),
    Passes("param_scan_axis"),
    Passes("logical_axis_rules"),
    Passes("mesh_axes"),
    Passes("data_sharding"),
    Passes("num_slices"),
    Passes("shardy"),
    Passes("monitor_"),
    Passes("report_"),
};

}  // namespace

absl::Span<const Setting> MaxtextSettings() { return kMaxtextSettings; }

bool IsMaxtext(const LaunchText& text) {
  return text.language == Language::kYaml &&
         text.CountOf({"per_device_batch_size", "max_target_length", "remat_policy",
                       "ici_fsdp_parallelism", "ici_tensor_parallelism", "base_emb_dim",
                       "dcn_data_parallelism", "base_config"}) >= 2;
}

absl::StatusOr<LauncherRead> ReadMaxtext(const LaunchText& text, bool with_model) {
  return ReadSettings(kMaxtextSettings, with_model, text.Settings(), Unknown::kRefusedNearName);
}

}  // namespace sextant::server
