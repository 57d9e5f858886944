#include "client/plan_flags.h"

namespace sextant {
namespace {

constexpr char kModel[] = "Model (one of the five ways)";
constexpr char kChanges[] = "Changes to the model";
constexpr char kTraining[] = "Training";
constexpr char kDevices[] = "Devices (named in one of three ways)";
constexpr char kRates[] = "Rates";
constexpr char kEconomics[] = "Money and energy";
constexpr char kOptions[] = "Estimate";

constexpr PlanFlag kPlanFlags[] = {
    {"PRESET,--preset", "model.preset", kModel, "a preset's name, e.g. llama-3.1-70b"},
    {"--parameter-count,--parameters", "model.parameter_count", kModel,
     "a bare number of parameters, e.g. 70e9 or 70B"},
    {"--transformer", "model.transformer", kModel, "a TransformerSpec in proto JSON"},
    {"--hugging-face-config,--config", "model.hugging_face_config", kModel,
     "a model's config.json, up to 64 KiB"},
    {"--architecture", "model.architecture", kModel, "an Architecture in proto JSON"},

    {"--vocabulary-multiple", "model.changes.vocabulary_multiple", kChanges,
     "pad the vocabulary to a multiple of this, e.g. 128"},
    {"--lora-rank", "model.changes.adapters.rank", kChanges,
     "low-rank adapters of this rank beside some matrices"},
    {"--lora-targets", "model.changes.adapters.targets", kChanges,
     "those; default: attention.query,attention.value"},
    {"--base-frozen,--freeze-base", "model.changes.base_frozen", kChanges, "train adapters alone"},
    {"--frozen-components,--freeze", "model.changes.frozen_components", kChanges,
     "don't train this, e.g. token_embedding; repeatable"},
    {"--frozen-layer-count,--freeze-layers", "model.changes.frozen_layer_count", kChanges,
     "don't train so many layers, the first ones"},

    {"--token-count,--tokens", "training.token_count", kTraining,
     "tokens to train on, e.g. 15e12 or 15T"},
    {"--sequence-length", "training.sequence_length", kTraining,
     "tokens of each sequence: attention's FLOPs depend on it"},
    {"--encoder-sequence-length", "training.encoder_sequence_length", kTraining,
     "tokens that an encoder reads for each"},
    {"--recompute", "training.recompute", kTraining, "what the backward pass computes again"},
    {"--activation-bytes", "training.activation_bytes", kTraining,
     "activations of the whole job at its peak, e.g. 2TiB"},
    {"--compute-data-type", "training.precision.compute_data_type", kTraining,
     "what matrix units multiply in"},
    {"--weight-data-type", "training.precision.weight_data_type", kTraining,
     "how weights are stored"},
    {"--gradient-data-type", "training.precision.gradient_data_type", kTraining,
     "how gradients are stored"},
    {"--optimizer-data-type", "training.precision.optimizer_data_type", kTraining,
     "how optimizer buffers are stored"},
    {"--master-weights", "training.precision.master_weights", kTraining,
     "whether an fp32 copy of the weights is kept"},
    {"--optimizer", "training.optimizer.kind", kTraining, "the optimizer, by its buffers"},
    {"--adafactor-momentum", "training.optimizer.adafactor_momentum", kTraining,
     "adafactor: keep a momentum too"},
    {"--quantization-block-size", "training.optimizer.quantization_block_size", kTraining,
     "adam-8bit: elements that share a scale"},

    {"--accelerator", "cluster.accelerator", kDevices, "a catalogue name: sextant accelerators"},
    {"--device-uuids,--device", "cluster.device_uuids", kDevices,
     "one of: sextant devices; host is the CPU; repeatable"},
    {"--calibrations,--calibration", "cluster.calibrations", kDevices,
     "one of: sextant calibration --save; repeatable"},
    {"--device-count,--devices", "cluster.device_count", kDevices, "how many devices"},
    {"--peak-flops-per-second", "cluster.peak_flops_per_second", kDevices,
     "dense peak FLOP/s of one, for the datasheet's"},
    {"--device-memory-bytes", "cluster.device_memory_bytes", kDevices,
     "memory of one, e.g. 80GiB, for the datasheet's"},
    {"--reserved-memory-bytes", "cluster.reserved_memory_bytes", kDevices,
     "memory of one that the run can't use, e.g. 2GiB"},

    {"--minimum-source,--minimum-rate-source", "rate_requirement.minimum_source", kRates,
     "the worst source allowed for matrix multiplication"},
    {"--maximum-age", "rate_requirement.maximum_age", kRates,
     "the oldest measurement allowed, e.g. 36h or 7d"},

    {"--device-hour-price-usd", "economics.device_hour_price_usd", kEconomics,
     "US dollars for one device and hour"},
    {"--device-power-watts", "economics.device_power_watts", kEconomics,
     "power of one device in watts"},
    {"--host-power-watts-per-device", "economics.host_power_watts_per_device", kEconomics,
     "power of the host a device, in watts"},
    {"--power-usage-effectiveness", "economics.power_usage_effectiveness", kEconomics,
     "facility power over IT power, e.g. 1.2"},

    {"--assumed-mfu,--mfu", "options.assumed_mfu", kOptions,
     "utilisation of the textbook estimate, e.g. 0.4"},
    {"--flops-convention", "options.flops_convention", kOptions, "which FLOPs the times use"},
    {"--include-derivation,--derivation", "options.include_derivation", kOptions,
     "show how each number came about"},
};

}  // namespace

absl::Span<const PlanFlag> PlanFlags() { return kPlanFlags; }

}  // namespace sextant
