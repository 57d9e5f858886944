#include "client/flags/plan_flags.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sextant::client {
namespace {

constexpr char kModel[] = "Model (one of the five ways)";
constexpr char kChanges[] = "Changes to the model";
constexpr char kTraining[] = "Training";
constexpr char kDevices[] = "Devices (named in one of three ways)";
constexpr char kRates[] = "Rates";
constexpr char kEconomics[] = "Money and energy";
constexpr char kInterruptions[] = "What interrupts the run (docs/plan.md)";
constexpr char kOptions[] = "Estimate";
constexpr const char* kLayout = kRunLayoutGroup;
constexpr char kSharding[] = "Model state among data parallel ranks";
constexpr char kStorage[] = "Storage of weights";
constexpr char kKernels[] = "What a micro-batch keeps";
constexpr char kFramework[] = "What the framework holds";
constexpr char kSoftware[] = "How fast the software runs (read by the predicted time alone)";

constexpr FieldFlag kPlanFlags[] = {
    {"MODEL,--model,--preset", "model.preset", kModelHelp, kModel},
    {"--parameter-count,--parameters", "model.parameter_count",
     "a bare number of parameters, e.g. 70e9 or 70B", kModel},
    {"--transformer", "model.transformer", "a TransformerSpec in proto JSON", kModel,
     Below::kOwnNames},
    {"--hugging-face-config,--config", "model.hugging_face_config",
     "a model's config.json, up to 64 KiB", kModel, Below::kOwnNames},
    {"--architecture", "model.architecture", "an Architecture in proto JSON", kModel,
     Below::kOwnNames},

    {"--vocabulary-multiple", "model.changes.vocabulary_multiple",
     "pad the vocabulary to a multiple of this, e.g. 128", kChanges},
    {"--lora-rank", "model.changes.adapters.rank",
     "low-rank adapters of this rank on some matrices", kChanges},
    {"--lora-targets", "model.changes.adapters.targets",
     "matrices, or all-linear; default: query and value", kChanges},
    {"--base-frozen,--freeze-base", "model.changes.base_frozen", "train adapters alone", kChanges},
    {"--frozen-components,--freeze", "model.changes.frozen_components",
     "don't train this, e.g. token_embedding; repeatable", kChanges},
    {"--frozen-layer-count,--freeze-layers", "model.changes.frozen_layer_count",
     "don't train this many layers, the first ones", kChanges},

    {"--token-count,--tokens", "training.token_count", "tokens to train on, e.g. 15e12 or 15T",
     kTraining},
    {"--sequence-length", "training.sequence_length",
     "tokens of each sequence: attention's FLOPs depend on it", kTraining},
    {"--encoder-sequence-length", "training.encoder_sequence_length",
     "tokens that an encoder reads for each", kTraining},
    {"--recompute", "training.recompute", "what the backward pass computes again", kTraining},
    {"--activation-bytes", "training.activation_bytes",
     "activations of the whole job at its peak, e.g. 2TiB", kTraining},
    {"--compute-data-type", "training.precision.compute_data_type", "what matrix units multiply in",
     kTraining},
    {"--weight-data-type", "training.precision.weight_data_type", "how weights are stored",
     kTraining},
    {"--gradient-data-type", "training.precision.gradient_data_type", "how gradients are stored",
     kTraining},
    {"--optimizer-data-type", "training.precision.optimizer_data_type",
     "how optimizer buffers are stored", kTraining},
    {"--master-weights", "training.precision.master_weights",
     "whether an fp32 copy of the weights is kept", kTraining},
    {"--optimizer", "training.optimizer.kind", "the optimizer, by its buffers", kTraining},
    {"--adafactor-momentum", "training.optimizer.adafactor_momentum",
     "adafactor: keep a momentum too", kTraining},
    {"--quantization-block-size", "training.optimizer.quantization_block_size",
     "adam-8bit: elements that share a scale", kTraining},

    {"--accelerator", "cluster.device.accelerator", "a catalogue name: sextant accelerators",
     kDevices},
    {"--device-uuids,--device", "cluster.device.host_devices.devices",
     "one of: sextant devices; host is the CPU; repeatable", kDevices},
    {"--calibrations,--calibration", "cluster.device.calibrations.calibrations",
     "one of: sextant calibration --save; repeatable", kDevices},
    {"--fleet", "cluster.device.fleet.accelerator",
     "a catalogue name: at rates that the fleet's hosts measured", kDevices},
    {"--hostnames,--hosts", "cluster.device.fleet.hostnames",
     "with --fleet: the hosts to run on, a,b,c; repeatable", kDevices},
    {"--gpu-uuids", "cluster.device.fleet.gpu_uuids",
     "with --fleet: the GPUs to run on, a,b,c; repeatable", kDevices},
    {"--device-count,--devices", "cluster.device_count", "how many devices", kDevices},
    {"--peak-flops-per-second", "cluster.peak_flops_per_second",
     "dense peak FLOP/s of one, for the datasheet's", kDevices},
    {"--device-memory-bytes", "cluster.device_memory_bytes",
     "device memory, e.g. 79GiB; overrides the driver's", kDevices},
    {"--reserved-memory-bytes", "cluster.reserved_memory_bytes",
     "memory of one that the run can't use, e.g. 2GiB", kDevices},
    {"--node-type", "cluster.node_type", "server type, see sextant nodes; for step time", kDevices},
    {"--network", "cluster.network.name", "of sextant nodes, one port a device; between servers",
     kDevices},
    {"--network-bytes-per-second", "cluster.network.bytes_per_second",
     "line rate of one device, for a network's name, e.g. 25e9", kDevices},
    {"--host-link-bytes-per-second", "cluster.host_link_bytes_per_second",
     "line rate of a device's link to its host, e.g. 63e9", kDevices},
    {"--host-memory-bytes-per-second", "cluster.host_memory_bytes_per_second",
     "line rate of a server's memory, e.g. 614e9: offloading", kDevices},
    {"--host-memory-bytes", "cluster.host_memory_bytes",
     "memory of a server for offloading, e.g. 2TB", kDevices},

    {"--minimum-source,--minimum-rate-source", "rate_requirement.minimum_source",
     "the worst source allowed for matrix multiplication", kRates},
    {"--maximum-age", "rate_requirement.maximum_age",
     "the oldest measurement allowed, e.g. 36h or 7d", kRates},

    {"--device-hour-price-usd", "economics.device_hour_price_usd",
     "US dollars for one device and hour", kEconomics},
    {"--device-power-watts", "economics.device_power_watts", "power of one device in watts",
     kEconomics},
    {"--host-power-watts-per-device", "economics.host_power_watts_per_device",
     "power of the host a device, in watts", kEconomics},
    {"--power-usage-effectiveness", "economics.power_usage_effectiveness",
     "facility power over IT power, e.g. 1.2", kEconomics},

    {"--budget-usd,--budget", "economics.budget_usd", "what the run may cost, in US dollars",
     kEconomics},
    {"--start-time,--start", "economics.start_time",
     "e.g. 2027-01-31; default with --deadline: now", kEconomics},
    {"--deadline", "economics.deadline", "when it has to be done, e.g. 2027-03-31T18:00:00Z",
     kEconomics},

    {"--failures-per-device-hour", "interruptions.failures_per_device_hour",
     "failures that stop the run, a device and hour, e.g. 2e-5", kInterruptions},
    {"--restart-duration", "interruptions.restart_duration",
     "from a failure until training goes on, e.g. 10m", kInterruptions},
    {"--checkpoint-write-bytes-per-second", "interruptions.checkpoint_write_bytes_per_second",
     "all devices together, e.g. 50e9", kInterruptions},
    {"--device-write-bytes-per-second", "interruptions.device_write_bytes_per_second",
     "the same of one device; the slower of both counts", kInterruptions},
    {"--checkpoint-read-bytes-per-second", "interruptions.checkpoint_read_bytes_per_second",
     "all devices together; default: as fast as they write", kInterruptions},
    {"--checkpoint-stall-ratio", "interruptions.checkpoint_stall_ratio",
     "share of a write in which training stands still", kInterruptions},
    {"--checkpoint-interval", "interruptions.checkpoint_interval",
     "training between two, e.g. 1h; default: Daly's", kInterruptions},
    {"--stall-ratio", "interruptions.stall_ratio",
     "seconds of evaluation and waiting a second of steps", kInterruptions},

    {"--view", "options.view", "how much to return; default: full", kOptions},
    {"--fits-chance", "options.fits_chance", "it fits from this chance on; default: 0.9", kOptions},
    {"--does-not-fit-chance", "options.does_not_fit_chance",
     "it does not fit below this chance; default: 0.1", kOptions},
    {"--require-activations", "options.require_activations", "refuse to count model state alone",
     kOptions},
    {"--search", "options.search", "for a layout; default: exhaustive if --gbs alone is given",
     kOptions},
    {"--tensor-across-nodes", "options.tensor_across_nodes",
     "let a search choose tensor groups of several servers", kOptions},
    {"--search-kernels", "options.search_kernels", "let a search choose the kernel of the loss",
     kOptions},
    {"--assumed-mfu,--mfu", "options.assumed_mfu", "utilisation of the textbook estimate, e.g. 0.4",
     kOptions},
    {"--flops-convention", "options.flops_convention", "which FLOPs the times use", kOptions},
    {"--include-derivation,--derivation", "options.include_derivation",
     "show how each number came about", kOptions},
    {"--include-ledger,--ledger", "options.include_ledger",
     "with a layout: list what is held, row by row", kOptions},
    {"--include-operations,--explain", "options.include_operations",
     "with a layout: list what is computed, by time", kOptions},

    {"--tensor-parallel-size,--tp", "layout.parallel.tensor_parallel_size",
     "ranks that share a matrix", kLayout},
    {"--pipeline-parallel-size,--pp", "layout.parallel.pipeline_parallel_size", "stages of layers",
     kLayout},
    {"--virtual-stage-count,--virtual-stages,--vpp", "layout.parallel.virtual_stage_count",
     "chunks of layers on each stage", kLayout},
    {"--layers-per-chunk", "layout.parallel.layers_per_chunk",
     "of each, 8x8x8x7; default: as many in each", kLayout},
    {"--expert-parallel-size,--ep", "layout.parallel.expert_parallel_size",
     "ranks that the experts are dealt out to", kLayout},
    {"--expert-tensor-parallel-size,--etp", "layout.parallel.expert_tensor_parallel_size",
     "ranks that share an expert; default: --tp", kLayout},
    {"--split-key-value-heads", "layout.parallel.split_key_value_heads",
     "--tp above the heads of keys: part them, don't copy", kLayout},
    {"--context-parallel-size,--cp", "layout.context_parallel_size",
     "ranks that share each sequence", kLayout},
    {"--context-parallel-kind,--cp-comm", "layout.context_parallel_kind",
     "what they exchange: keys and values, or heads", kLayout},
    {"--sequence-parallel,--sp", "layout.sequence_parallel",
     "cut norms and residuals too; default: with --tp", kLayout},
    {"--micro-batch-size,--mbs", "layout.micro_batch_size", "sequences of a micro-batch", kLayout},
    {"--global-batch-size,--gbs", "layout.global_batch_size", "sequences of a step on all devices",
     kLayout},
    {"--deferred-head-gradients", "layout.deferred_head_gradients",
     "micro-batches with deferred head weight gradients", kLayout},
    {"--batch-ramp", "layout.batch_ramp",
     "phases before --gbs, TOKENS:SEQUENCES each: 9B:512,2T:1024", kLayout},
    {"--schedule", "layout.schedule", "the order of micro-batches; default: 1f1b", kLayout},
    {"--unmodelled-settings,--unmodelled", "layout.unmodelled_settings",
     "may lower memory, no flag is for them; repeatable", kLayout},

    {"--zero-stage,--zero", "layout.sharding.zero_stage", "ZeRO stage: 0 to 3, or its name",
     kSharding},
    {"--shard-group-size", "layout.sharding.shard_group_size",
     "ranks a shard is divided among, others hold copies", kSharding},
    {"--reshard-after-forward", "layout.sharding.reshard_after_forward",
     "stage 3: free gathered weights after it", kSharding},
    {"--prefetched-unit-count", "layout.sharding.prefetched_unit_count",
     "stage 3: layers gathered ahead", kSharding},
    {"--offload-optimizer", "layout.sharding.offload_optimizer", "optimizer state in host memory",
     kSharding},
    {"--offload-parameters", "layout.sharding.offload_parameters",
     "stage 3: shards of weights in host memory", kSharding},

    {"--frozen-data-type", "layout.storage.frozen_data_type",
     "weights that nothing trains, e.g. fp4 for NF4", kStorage},
    {"--frozen-block-size", "layout.storage.frozen_block_size",
     "elements of those that share a scale", kStorage},
    {"--double-quantization", "layout.storage.double_quantization", "quantise their scales too",
     kStorage},
    {"--scaling,--weight-scaling", "layout.storage.scaling", "scales of fp8 weights", kStorage},
    {"--fp8-weight-copies", "layout.storage.fp8_weight_copies",
     "copies in fp8 in addition to wider weights", kStorage},

    {"--attention-kernel,--attention", "layout.kernels.attention",
     "unfused keeps the softmax of all pairs", kKernels},
    {"--loss", "layout.kernels.loss", "what computes it", kKernels},
    {"--loss-chunk-tokens", "layout.kernels.loss_chunk_tokens", "chunked loss: tokens of a chunk",
     kKernels},
    {"--dropout", "layout.kernels.dropout", "of embeddings, attention and branches", kKernels},
    {"--matmul-input-data-type", "layout.kernels.matmul_input_data_type",
     "what inputs of matrices are kept in, e.g. fp8", kKernels},
    {"--recomputed-layers-per-block,--recompute-block",
     "layout.kernels.recomputed_layers_per_block",
     "--recompute=full: keep the first input of this many", kKernels},
    {"--recompute-activation-function", "layout.kernels.recompute_activation_function",
     "compute their outputs again", kKernels},
    {"--recompute-norm-outputs", "layout.kernels.recompute_norm_outputs", "compute norms again",
     kKernels},
    {"--recompute-latent-up-projections", "layout.kernels.recompute_latent_up_projections",
     "latent attention: compute q, k and v again", kKernels},
    {"--expert-load-factor", "layout.kernels.expert_load_factor",
     "tokens of the fullest GPU over an even share", kKernels},
    {"--expert-scaling", "layout.kernels.expert_scaling", "where the router's weight is applied",
     kKernels},
    {"--attention-output-copied", "layout.kernels.attention_output_copied",
     "fused attention's output is kept twice", kKernels},
    {"--fused-expert-activation", "layout.kernels.fused_expert_activation",
     "one kernel activates and scales experts", kKernels},

    {"--framework", "layout.framework.kind",
     "fills in what the layout leaves open; default: megatron-lm", kFramework},
    {"--persistent-gradients", "layout.framework.persistent_gradients",
     "whether gradients are there all the time", kFramework},
    {"--fused-weight-gradient", "layout.framework.fused_weight_gradient",
     "whether they are added up in place", kFramework},
    {"--reduce-bucket-elements", "layout.framework.reduce_bucket_elements",
     "numbers reduced at a time; 0: in place", kFramework},
    {"--gather-bucket-elements", "layout.framework.gather_bucket_elements",
     "numbers gathered at a time; 0: in place", kFramework},
    {"--deferred-reduction", "layout.framework.deferred_reduction",
     "stage 3: reduce only after the last micro-batch", kFramework},
    {"--workspace-bytes", "layout.framework.workspace_bytes", "of matrix libraries, e.g. 64MiB",
     kFramework},
    {"--fragmentation-ratio,--fragmentation", "layout.framework.fragmentation_ratio",
     "the allocator's, of what it hands out, e.g. 0.06", kFramework},
    {"--context-bytes", "layout.framework.context_bytes", "of the driver's context, e.g. 500MiB",
     kFramework},
    {"--communicator-bytes", "layout.framework.communicator_bytes",
     "of collective libraries, e.g. 1GiB", kFramework},
    {"--transformer-engine", "layout.framework.transformer_engine",
     "layers are Transformer Engine's", kFramework},
    {"--deterministic", "layout.framework.deterministic", "the run asks for deterministic kernels",
     kFramework},
    {"--grouped-experts", "layout.framework.grouped_experts",
     "one grouped product for a GPU's experts", kFramework},
    {"--fused-projections", "layout.framework.fused_projections",
     "one product of query, key and value; of gate and up", kFramework},
    {"--captured-graphs", "layout.framework.captured_graphs",
     "a micro-batch's kernels start at once", kFramework},

    {"--measured-step", "measured_step", "a step that was measured: a MeasuredStep in proto JSON",
     kSoftware, Below::kOwnNames},
    {"--software-stack,--software", "layout.software.name",
     "a stack, e.g. torchtitan; default: of --framework", kSoftware},
    {"--attention-time-ratio", "layout.software.attention_time_ratio",
     "attention over the fastest published kernel's", kSoftware},
    {"--memory-pass-time-ratio", "layout.software.memory_pass_time_ratio",
     "passes over memory over one fused kernel each", kSoftware},
    {"--tensor-exchange-exposure", "layout.software.tensor_exchange_exposure",
     "tensor parallel exchanges: added over alone", kSoftware},
    {"--data-exchange-overlap", "layout.software.data_exchange_overlap",
     "share of the passes that hides data parallel ones", kSoftware},
    {"--overlap-contention", "layout.software.overlap_contention",
     "cost of a hidden exchange of shards, over its time", kSoftware},
    {"--host-seconds-per-layer", "layout.software.host_seconds_per_layer",
     "of the host for a layer that nothing hides", kSoftware},
    {"--broadcast-seconds-per-rank", "layout.software.broadcast_seconds_per_rank",
     "of the optimizer step, for each rank sent to", kSoftware},
    {"--growth-per-doubling", "layout.software.growth_per_doubling",
     "of a step, for each doubling beyond 8 devices", kSoftware},
    {"--sustained-time-ratio", "layout.software.sustained_time_ratio",
     "products in a long run over those in a burst", kSoftware},
    {"--narrow-sustained-time-ratio", "layout.software.narrow_sustained_time_ratio",
     "the same of products in 8 bits or fewer", kSoftware},
    {"--narrow-product-time-ratio", "layout.software.narrow_product_time_ratio",
     "products in 8 bits over those with a scale a tensor", kSoftware},
    {"--expert-time-ratio", "layout.software.expert_time_ratio",
     "experts' products over the grouped kernel's", kSoftware},
    {"--expert-layer-host-seconds", "layout.software.expert_layer_host_seconds",
     "least of a layer of experts that the host starts", kSoftware},
    {"--one-copy-per-node", "layout.software.one_copy_per_node",
     "a token goes once to each server, not to each expert", kSoftware},
    {"--pipeline-exchange-exposure", "layout.software.pipeline_exchange_exposure",
     "sends of interleaved stages: added over alone", kSoftware},
    {"--expert-exchange-exposure", "layout.software.expert_exchange_exposure",
     "exchanges among experts: added over alone", kSoftware},
    {"--gradient-addition-overlap", "layout.software.gradient_addition_overlap",
     "share of adding weight gradients that products hide", kSoftware},
    {"--misaligned-product-time-ratio", "layout.software.misaligned_product_time_ratio",
     "products off a multiple of 64 over aligned ones", kSoftware},
    {"--misaligned-head-time-ratio", "layout.software.misaligned_head_time_ratio",
     "heads off a multiple of 8 over aligned ones", kSoftware},
    {"--optimizer-time-ratio", "layout.software.optimizer_time_ratio",
     "the optimizer's step over one fused kernel", kSoftware},
    {"--kernel-launch-seconds", "layout.software.kernel_launch_seconds",
     "of the host, to start one kernel", kSoftware},
    {"--all-reduces-gradients", "layout.software.all_reduces_gradients",
     "all ranks sum all gradients; then weights are gathered", kSoftware},
};

// Words for fields that hold messages: the ways to name devices, the network and the software.
constexpr FieldFlag kMessageWords[] = {
    WordFor("--device", "cluster.device.host_devices"),
    WordFor("--calibration", "cluster.device.calibrations"),
    WordFor("--fleet", "cluster.device.fleet"),
    WordFor("--accelerator", "cluster.device"),
    WordFor("--network", "cluster.network", Below::kDropped),
    WordFor("--software", "layout.software", Below::kAppended),
    WordFor("--failures-per-device-hour", "interruptions", Below::kDropped),
};

// Source: Hu et al. 2021 (arXiv 2106.09685), whose experiments mostly adapt these two; from memory.
constexpr const char* kDefaultTargets[] = {"attention.query", "attention.value"};

}  // namespace

absl::Span<const FieldFlag> PlanFlags() { return kPlanFlags; }

std::string PlanFieldWords(const std::string& field) {
  return FieldWordsOf({PlanFlags(), kMessageWords}, field);
}

std::string PlanDescriptionWords(const std::string& text) {
  return DescriptionWordsOf({PlanFlags(), kMessageWords}, text);
}

void AddDefaultTargets(v1::ModelChanges* changes) {
  v1::ModelChanges::Adapters* adapters = changes->mutable_adapters();
  if (!adapters->targets().empty()) return;
  for (const char* target : kDefaultTargets) adapters->add_targets(target);
}

std::string DefaultTargetsHint(const v1::ModelChanges& changes, const CallError& error) {
  const bool at_fault = absl::c_any_of(error.field_violations, [](const CallError::Violation& v) {
    return absl::StartsWith(v.subject, "model.changes.adapters.targets");
  });
  if (!at_fault || !absl::c_equal(changes.adapters().targets(), kDefaultTargets)) return "";
  return absl::StrCat(absl::StrJoin(kDefaultTargets, ","),
                      " is the default of --lora-targets: give it names of this model's matrices, "
                      "e.g. --lora-targets=attention.output (sextant count MODEL --tensors)");
}

}  // namespace sextant::client
