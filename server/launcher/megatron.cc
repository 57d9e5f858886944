// Runs as arguments of Megatron-LM: its table, and how the layout and the kernels are written and
// read.
#include "server/launcher/megatron.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/launcher/launcher.h"
#include "server/launcher/unknown_setting.h"

namespace sextant::server {
namespace {

void ReadSequenceParallel(const Setting& setting, Reading& reading) {
  v1::RunLayout& layout = reading.layout();
  if (layout.parallel().tensor_parallel_size() <= 1) return;
  layout.set_sequence_parallel(reading.file.Has(setting.name));
}
void WriteSequenceParallel(const Setting& setting, Writing& writing) {
  if (writing.sizes.sequence_parallel) writing.list.Add(setting.name, true);
}

// Until 2020 it was called --model-parallel-size. Source: NVIDIA/Megatron-LM v1.1 and v2.0,
// megatron/arguments.py.
void ReadMegatronTensor(const Setting& setting, Reading& reading) {
  const char* const name = reading.file.Has(setting.name) ? setting.name : "--model-parallel-size";
  const std::optional<int64_t> size = reading.file.Count(name);
  if (size.has_value()) reading.Set(setting.field, absl::StrCat(*size));
}

void ReadDeferred(const Setting& setting, Reading& reading) {
  if (!reading.file.Has(setting.name)) return;
  const int64_t limit = reading.file.Count("--wgrad-deferral-limit").value_or(0);
  reading.layout().set_deferred_head_gradients(limit > 0 ? limit : kAllMicroBatches);
}
void WriteDeferred(const Setting& setting, Writing& writing) {
  const int64_t deferred = writing.layout().deferred_head_gradients();
  if (deferred <= 0) return;
  writing.list.Add(setting.name, true);
  if (deferred < kAllMicroBatches) writing.list.Add("--wgrad-deferral-limit", deferred);
}

// Megatron-LM pads the vocabulary to a multiple of this on each tensor parallel rank.
void ReadVocabulary(const Setting& setting, Reading& reading) {
  for (const char* const name : {"--pad-vocab-size-to", "--padded-vocab-size"}) {
    const std::optional<int64_t> padded = reading.file.Count(name);
    if (!padded.has_value()) continue;
    return reading.request().mutable_model()->mutable_changes()->set_vocabulary_multiple(*padded);
  }
  const std::optional<int64_t> multiple = reading.file.Count(setting.name);
  if (!multiple.has_value()) return;
  const int64_t tensor = reading.layout().parallel().tensor_parallel_size();
  if (const auto padded = Product(*multiple, std::max(tensor, int64_t{1}))) {
    reading.request().mutable_model()->mutable_changes()->set_vocabulary_multiple(*padded);
  } else {
    reading.file.Refuse(setting.name, "write at most 1e9");
  }
}
void WriteVocabulary(const Setting& setting, Writing& writing) {
  const v1::ModelChanges& changes = writing.run.request.model().changes();
  const int64_t rows = writing.run.model.embedding().vocabulary_size();
  if (!changes.has_vocabulary_multiple()) {
    const bool bridge =
        writing.layout().framework().kind() == v1::FrameworkMemory::KIND_MEGATRON_BRIDGE;
    // Megatron-Bridge pads to nothing, Megatron-LM to 128 on each rank.
    if (bridge && rows % writing.sizes.tensor == 0) writing.list.Add(setting.name, 1);
    return;
  }
  if (changes.vocabulary_multiple() % writing.sizes.tensor != 0) {
    writing.refusals.Add("model.changes.vocabulary_multiple", "it takes a multiple of --tp");
  }
  writing.list.Add(setting.name, changes.vocabulary_multiple() / writing.sizes.tensor);
}

// The tokens: of all samples, or of the steps once the batch is known.
void ReadSamples(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  const int64_t length = reading.training().sequence_length();
  reading.out.step_count = file.Count("--train-iters").value_or(0);
  const std::optional<int64_t> samples = file.Count(setting.name);
  if (const auto tokens = file.Count("--train-tokens")) reading.training().set_token_count(*tokens);
  if (!samples.has_value()) return;
  if (length == 0) return file.Ignore(setting.name);
  const std::optional<int64_t> tokens = Product(*samples, length);
  if (!tokens.has_value()) return file.Refuse(setting.name, "write fewer than 1e18 tokens");
  reading.training().set_token_count(*tokens);
}
void WriteSamples(const Setting& setting, Writing& writing) {
  writing.list.Add(setting.name, SequenceCount(writing.training()));
}

void ReadDropout(const Setting& setting, Reading& reading) {
  const auto ratio = [&](const char* name) { return reading.file.Number(name).value_or(0.1); };
  reading.layout().mutable_kernels()->set_dropout(ratio(setting.name) > 0 ||
                                                  ratio("--hidden-dropout") > 0);
}
void WriteDropout(const Setting& setting, Writing& writing) {
  const bool drops = writing.layout().kernels().dropout();
  const char* const dropout = drops ? "0.1" : "0.0";  // 0.1 is Megatron-LM's default
  writing.list.Add(setting.name, dropout);
  writing.list.Add("--hidden-dropout", dropout);
}

// Transformer Engine's overwrites the logits by their gradient.
// Source: NVIDIA/TransformerEngine, transformer_engine/pytorch/cross_entropy.py.
void ReadLoss(const Setting& setting, Reading& reading) {
  if (!reading.file.Has(setting.name)) return;
  reading.Set(setting.field,
              reading.file.Choose("--cross-entropy-fusion-impl",
                                  "native=vocabulary-parallel-compiled|te=fused", setting.words));
}
void WriteLoss(const Setting& setting, Writing& writing) {
  using Kernels = v1::KernelChoices;
  const Kernels::Loss loss = writing.layout().kernels().loss();
  const bool fused = loss == Kernels::LOSS_FUSED;
  if (!fused && loss != Kernels::LOSS_VOCABULARY_PARALLEL_COMPILED) return;
  writing.list.Add(setting.name, true);
  writing.list.Add("--cross-entropy-fusion-impl", fused ? "te" : "native");
}

void WriteGroupedExperts(const Setting& setting, Writing& writing) {
  if (GroupsExperts(writing.run)) writing.list.Add(setting.name, true);
}

// A softmax in fp32 is a matrix more for each head, where attention is not fused.
void ReadWideSoftmax(const Setting& setting, Reading& reading) {
  const bool unfused =
      reading.layout().kernels().attention() == v1::KernelChoices::ATTENTION_UNFUSED;
  if (!reading.file.Has(setting.name) || !unfused) return;
  reading.file.Ignore(setting.name);
  AddEffect(setting.name, Effect::kRaises, "", reading.out);
}

// Names of other releases than core_v0.15.3. Source: megatron/arguments.py of v1.0 to v3.0
// (--batch-size is of one replica), megatron/training/arguments.py of core_v0.4.0 to core_v0.15.0.
constexpr std::pair<const char*, const char*> kMegatronOlderNames[] = {
    {"--batch-size", "--micro-batch-size"},
    {"--encoder-num-layers", "--num-layers"},
    {"--encoder-seq-length", "--seq-length"},
    {"--fp8-e4m3", "--fp8-format=e4m3"},
    {"--fp8-hybrid", "--fp8-format=hybrid"},
    {"--quick-geglu", "--swiglu"},
    {"--use-custom-fsdp", "--use-megatron-fsdp"},
    {"--use-rotary-position-embeddings", "--position-embedding-type=rope"},
};

// All but the model's. Source: megatron/training/arguments.py of core_v0.15.3; from core_v0.16.0 on
// the same names are made of configuration classes' fields. Its defaults, where they are not the
// API's: dropout of 0.1, no sequence parallelism, Adam with decoupled weight decay, fp32 gradients
// under bf16.
constexpr Setting kMegatronSettings[] = {
    Other("--num-layers").PartOf("model").By(ReadModel, WriteModel),
    // The layout.
    Whole("--tensor-model-parallel-size", "layout.parallel.tensor_parallel_size")
        .Unset("1")
        .Read(ReadMegatronTensor),
    Other("--model-parallel-size").PartOf("layout.parallel.tensor_parallel_size"),
    Switch("--sequence-parallel", "layout.sequence_parallel")
        .By(ReadSequenceParallel, WriteSequenceParallel),
    Whole("--context-parallel-size", "layout.context_parallel_size").Unset("1"),
    Choice("--cp-comm-type", "layout.context_parallel_kind", "p2p=ring|a2a=all-to-all")
        .Lists()
        .By(ReadContextKind, WriteContextKind),
    Whole("--pipeline-model-parallel-size", "layout.parallel.pipeline_parallel_size")
        .By(ReadPipeline, WritePipeline),
    Whole("--num-virtual-stages-per-pipeline-rank", "layout.parallel.virtual_stage_count").Joined(),
    Other("--num-layers-per-virtual-pipeline-stage").PartOf("layout.parallel.virtual_stage_count"),
    Other("--decoder-first-pipeline-num-layers").PartOf("layout.parallel.layers_per_chunk"),
    Other("--decoder-last-pipeline-num-layers").PartOf("layout.parallel.layers_per_chunk"),
    Other("--pp-partition-method").PartOf("layout.parallel.layers_per_chunk"),
    Present("--account-for-embedding-in-pipeline-split").PartOf("layout.parallel.layers_per_chunk"),
    Present("--account-for-loss-in-pipeline-split").PartOf("layout.parallel.layers_per_chunk"),
    Other("--pipeline-model-parallel-layout").For("layout.parallel.layers_per_chunk").Joined(),
    Whole("--expert-model-parallel-size", "layout.parallel.expert_parallel_size").Unset("1"),
    Whole("--expert-tensor-parallel-size", "layout.parallel.expert_tensor_parallel_size"),
    Switch("--defer-embedding-wgrad-compute", "layout.deferred_head_gradients")
        .By(ReadDeferred, WriteDeferred),
    Other("--wgrad-deferral-limit").PartOf("layout.deferred_head_gradients"),
    Whole("--micro-batch-size", "layout.micro_batch_size").Unset("1"),
    Whole("--global-batch-size", "layout.global_batch_size").Required(),
    Switch("--use-distributed-optimizer", "layout.sharding.zero_stage")
        .By(ReadSharding, WriteSharding),
    Other("--num-distributed-optimizer-instances").For("layout.sharding.shard_group_size").Joined(),
    Present("--use-megatron-fsdp").PartOf("layout.sharding.zero_stage"),
    Other("--data-parallel-sharding-strategy").PartOf("layout.sharding.zero_stage"),
    Other("--ckpt-format").PartOf("layout.sharding.zero_stage"),
    Present("--optimizer-cpu-offload").For("layout.sharding.offload_optimizer").Joined(),
    Other("--optimizer-offload-fraction").PartOf("layout.sharding.offload_optimizer"),
    Present("--deepspeed").PartOf("layout.framework.kind"),
    Other("--deepspeed_config").PartOf("layout.framework.kind"),
    Other("--deepspeed-config").PartOf("layout.framework.kind"),
    Other("--zero-stage").PartOf("layout.sharding.zero_stage"),
    Present("--cpu-optimizer").PartOf("layout.sharding.offload_optimizer"),
    Takes("layout.sharding.reshard_after_forward", "true"),
    Takes("layout.schedule", "one-forward-one-backward"),
    Whole("--make-vocab-size-divisible-by", "model.changes.vocabulary_multiple")
        .By(ReadVocabulary, WriteVocabulary),
    Other("--pad-vocab-size-to").PartOf("model.changes.vocabulary_multiple"),
    Other("--padded-vocab-size").PartOf("model.changes.vocabulary_multiple"),
    // Training.
    Whole("--seq-length", "training.sequence_length").Required(),
    Other("--train-samples").PartOf("training.token_count").By(ReadSamples, WriteSamples),
    Other("--train-iters").PartOf("training.token_count"),
    Other("--train-tokens").PartOf("training.token_count"),
    Other("--rampup-batch-size", SettingValues::kSome)
        .For("layout.batch_ramp")
        .By(ReadRamp, WriteRamp),
    Present("--bf16")
        .PartOf("training.precision.compute_data_type")
        .By(ReadPrecision, WritePrecision),
    Present("--fp16").PartOf("training.precision.compute_data_type"),
    Other("--fp8-format").PartOf("training.precision.compute_data_type"),
    Other("--fp8-recipe").For("layout.storage.scaling").Joined(),
    Present("--fp8-param-gather").PartOf("training.precision.weight_data_type"),
    Other("--fp4-format").PartOf("training.precision.compute_data_type"),
    Present("--accumulate-allreduce-grads-in-fp32").PartOf("training.precision.gradient_data_type"),
    Present("--grad-reduce-in-bf16").PartOf("training.precision.gradient_data_type"),
    Other("--main-grads-dtype").PartOf("training.precision.gradient_data_type"),
    Takes("training.precision.compute_data_type", "fp32|fp16|bf16|fp8|fp8-e4m3|mxfp8|nvfp4"),
    Takes("training.precision.weight_data_type", "fp32|fp16|bf16|fp8|fp8-e4m3"),
    Takes("training.precision.gradient_data_type", "fp32|fp16|bf16"),
    Takes("training.precision.master_weights", "true"),
    Other("--optimizer")
        .For("training.optimizer.kind")
        .Only("sgd|sgd-momentum|adam|adamw")
        .By(ReadOptimizer, WriteOptimizer),
    Other("--sgd-momentum").PartOf("training.optimizer.kind"),
    Present("--use-precision-aware-optimizer")
        .For("training.precision.optimizer_data_type")
        .Only("fp32|fp16|bf16|fp8")
        .By(ReadStates, WriteStates),
    Other("--exp-avg-dtype").PartOf("training.precision.optimizer_data_type"),
    Other("--exp-avg-sq-dtype").PartOf("training.precision.optimizer_data_type"),
    Other("--recompute-granularity").For("training.recompute").By(ReadRecompute, WriteRecompute),
    Present("--recompute-activations").PartOf("training.recompute"),
    Other("--recompute-method").PartOf("training.recompute"),
    Other("--recompute-num-layers").For("layout.kernels.recomputed_layers_per_block").Joined(),
    Other("--recompute-modules", SettingValues::kSome).PartOf("training.recompute"),
    Other("--activations-checkpoint-method").PartOf("training.recompute"),
    Other("--activations-checkpoint-num-layers").PartOf("training.recompute"),
    Present("--checkpoint-activations").PartOf("training.recompute"),
    Other("--checkpoint-num-layers").PartOf("training.recompute"),
    Takes("layout.kernels.recompute_activation_function"),
    Takes("layout.kernels.recompute_norm_outputs"),
    Takes("layout.kernels.recompute_latent_up_projections"),
    // Overlaps, dispatchers and graphs.
    Present("--overlap-grad-reduce")
        .For("layout.software.data_exchange_overlap")
        .By(ReadDataOverlap, WriteDataOverlap),
    Present("--overlap-param-gather").For("layout.software.overlap_contention").Joined(),
    Present("--tp-comm-overlap")
        .For("layout.software.tensor_exchange_exposure")
        .By(ReadTensorOverlap, WriteTensorOverlap),
    Present("--disable-tp-comm-bulk-dgrad").PartOf("layout.software.tensor_exchange_exposure"),
    Present("--disable-tp-comm-bulk-wgrad").PartOf("layout.software.tensor_exchange_exposure"),
    Present("--disable-tp-comm-overlap-ag").PartOf("layout.software.tensor_exchange_exposure"),
    Present("--disable-tp-comm-overlap-rs").PartOf("layout.software.tensor_exchange_exposure"),
    Present("--disable-tp-comm-split-ag").PartOf("layout.software.tensor_exchange_exposure"),
    Present("--disable-tp-comm-split-rs").PartOf("layout.software.tensor_exchange_exposure"),
    Present("--no-overlap-p2p-communication")
        .For("layout.software.pipeline_exchange_exposure")
        .By(ReadSends, WriteSends),
    Other("--moe-token-dispatcher-type")
        .For("layout.kernels.expert_dispatch")
        .By(ReadDispatcher, WriteDispatcher),
    Present("--moe-enable-deepep").For("layout.software.one_copy_per_node").Joined(),
    Other("--moe-flex-dispatcher-backend").PartOf("layout.software.one_copy_per_node"),
    Other("--moe-expert-capacity-factor")
        .For("layout.kernels.expert_load_factor")
        .By(ReadCapacity, [](auto&...) {}),
    Present("--moe-pad-expert-input-to-capacity").PartOf("layout.kernels.expert_load_factor"),
    // Kernels.
    Switch("--no-bias-swiglu-fusion", "layout.kernels.fused_expert_activation", "false")
        .Read(ReadUnfusedActivation),
    Choice("--attention-backend", "layout.kernels.attention",
           "flash=|fused=|unfused=unfused|local=unfused|auto=")
        .Unset("flash"),
    Present("--use-flash-attn").PartOf("layout.kernels.attention"),
    Present("--attention-softmax-in-fp32").PartOf("layout.kernels.attention").Read(ReadWideSoftmax),
    Other("--attention-dropout").For("layout.kernels.dropout").By(ReadDropout, WriteDropout),
    Other("--hidden-dropout").PartOf("layout.kernels.dropout"),
    Switch("--cross-entropy-loss-fusion", "layout.kernels.loss", "vocabulary-parallel-compiled")
        .Only("vocabulary-parallel|vocabulary-parallel-compiled|fused")
        .By(ReadLoss, WriteLoss),
    Other("--cross-entropy-fusion-impl").PartOf("layout.kernels.loss"),
    Lacks("layout.kernels.loss_chunk_tokens", "its losses work on all tokens at once"),
    Switch("--moe-grouped-gemm", "layout.framework.grouped_experts").Written(WriteGroupedExperts),
    Choice("--transformer-impl", "layout.framework.transformer_engine", "local=false|*="),
    Switch("--no-gradient-accumulation-fusion", "layout.framework.fused_weight_gradient", "false"),
    Switch("--deterministic-mode", "layout.framework.deterministic").Absent("false"),
    Choice("--cuda-graph-impl", "layout.framework.captured_graphs",
           "local=true|none=false|transformer_engine=true|~full_iteration=true")
        .Read(ReadGraphs),
    Present("--enable-cuda-graph").PartOf("layout.framework.captured_graphs"),
    Present("--external-cuda-graph").PartOf("layout.framework.captured_graphs"),
    Other("--cuda-graph-scope", SettingValues::kSome).PartOf("layout.framework.captured_graphs"),
    Takes("layout.framework.kind", "megatron-lm|megatron-bridge")
        .Absent("megatron-lm")
        .Read(ReadFrameworkKind),
    // Reasons at which BLOOM's runs stop, how gradients are summed, and how DeepSpeed recomputes
    // after --checkpoint-activations.
    Passes("--abort-on-unmet-fused-kernel-constraints"),
    Passes("--kill-switch-path"),
    Passes("--DDP-impl"),
    Passes("--distributed-backend"),
    Passes("--deepspeed-activation-checkpointing"),
    Passes("--sync-tp-duplicated-parameters"),
};

// Reads arguments as its own parser does, which takes no name that it does not know.
absl::StatusOr<LauncherRead> ReadKnown(absl::StatusOr<SettingFile> file, bool with_model) {
  if (!file.ok()) return file.status();
  const absl::Status known =
      RefuseUnknown(file->ignored(), AllMegatronSettings(), Unknown::kRefused);
  if (!known.ok()) return known;
  return ReadMegatron(std::move(file), with_model);
}

}  // namespace

absl::Span<const Setting> MegatronSettings() {
  static const auto& table = *new std::vector<Setting>(
      JoinedTables({kMegatronSettings, MegatronOpen(), MegatronPassed()}));
  return table;
}

absl::Span<const Setting> AllMegatronSettings() {
  static const auto& table = *[] {
    std::vector<absl::Span<const Setting>> tables = ModelTables();
    tables.insert(tables.begin(), MegatronSettings());
    return new std::vector<Setting>(JoinedTables(tables));
  }();
  return table;
}

SettingFile::Names MegatronNames() {
  SettingFile::Names out;
  std::vector<absl::Span<const Setting>> tables = ModelTables();
  tables.emplace_back(kMegatronSettings);
  for (const absl::Span<const Setting> table : tables) {
    for (const Setting& setting : table) {
      if (*setting.name == '-' && !setting.lowers && !setting.passes && !setting.open)
        out.emplace_back(setting.name, setting.values);
    }
  }
  return out;
}

absl::StatusOr<std::vector<std::string>> MegatronLines(const LaunchedRun& run) {
  const absl::StatusOr<Writing> written = WriteSettings("Megatron-LM", MegatronSettings(), run);
  if (!written.ok()) return written.status();
  return written->list.Arguments();
}

absl::StatusOr<LauncherFile> WriteMegatron(const LaunchedRun& run) {
  const absl::StatusOr<std::vector<std::string>> lines = MegatronLines(run);
  if (!lines.ok()) return lines.status();
  return LauncherFile{.text = absl::StrCat(absl::StrJoin(*lines, "\n"), "\n")};
}

absl::StatusOr<LauncherRead> ReadMegatron(const std::string& text, bool with_model) {
  return ReadKnown(SettingFile::FromArguments(text, MegatronNames(), kMegatronOlderNames),
                   with_model);
}

absl::StatusOr<LauncherRead> ReadMegatronWords(std::vector<std::string> words, bool with_model) {
  return ReadKnown(SettingFile::FromWords(std::move(words), MegatronNames(), kMegatronOlderNames),
                   with_model);
}

absl::StatusOr<LauncherRead> ReadMegatron(absl::StatusOr<SettingFile> file, bool with_model) {
  return ReadSettings(MegatronSettings(), with_model, std::move(file), Unknown::kOpen,
                      [](Reading& reading) {
                        v1::ParallelLayout& parallel = *reading.layout().mutable_parallel();
                        const int64_t groups = reading.file.Count("--num-query-groups").value_or(1);
                        if (reading.file.Has("--group-query-attention") &&
                            std::max(parallel.tensor_parallel_size(), int64_t{1}) > groups) {
                          parallel.set_split_key_value_heads(true);
                        }
                        // Megatron-LM's default is a micro-batch on each rank.
                        reading.out.sequences_per_rank = reading.layout().micro_batch_size();
                      });
}

}  // namespace sextant::server
