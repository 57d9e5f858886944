#include "client/flags/operation_kinds.h"

namespace sextant::client {
namespace {

constexpr char kOfTheKind[] = "Operation";
constexpr char kFormats[] = "Number formats";
constexpr char kDevice[] = "Device";

constexpr const char* kMatmulSizes[] = {"operation.matmul.m", "operation.matmul.n",
                                        "operation.matmul.k"};
constexpr const char* kBatchedMatmulSizes[] = {
    "operation.batched_matmul.batch", "operation.batched_matmul.m", "operation.batched_matmul.n",
    "operation.batched_matmul.k"};
constexpr const char* kLinearSizes[] = {"operation.linear.rows", "operation.linear.input_size",
                                        "operation.linear.output_size"};
constexpr const char* kElementwiseSizes[] = {"operation.elementwise.count"};
constexpr const char* kReductionSizes[] = {"operation.reduction.outer",
                                           "operation.reduction.reduced"};
constexpr const char* kSoftmaxSizes[] = {"operation.softmax.rows", "operation.softmax.columns"};
constexpr const char* kLayerNormSizes[] = {"operation.layer_norm.rows",
                                           "operation.layer_norm.columns"};
constexpr const char* kRmsNormSizes[] = {"operation.rms_norm.rows", "operation.rms_norm.columns"};
constexpr const char* kActivationSizes[] = {"operation.activation.count"};
constexpr const char* kSwigluSizes[] = {"operation.swiglu.rows", "operation.swiglu.columns"};
constexpr const char* kRotarySizes[] = {"operation.rotary.tokens", "operation.rotary.heads",
                                        "operation.rotary.head_size"};
constexpr const char* kDropoutSizes[] = {"operation.dropout.count"};
constexpr const char* kEmbeddingSizes[] = {
    "operation.embedding.tokens", "operation.embedding.vocabulary", "operation.embedding.width"};
constexpr const char* kCrossEntropySizes[] = {"operation.cross_entropy.tokens",
                                              "operation.cross_entropy.vocabulary"};
constexpr const char* kAttentionSizes[] = {"operation.attention.batch", "operation.attention.heads",
                                           "operation.attention.query_length",
                                           "operation.attention.head_size"};
constexpr const char* kOptimizerUpdateSizes[] = {"operation.optimizer_update.parameters"};
constexpr const char* kHostCopySizes[] = {"operation.host_copy.bytes"};
constexpr const char* kFusedChainSizes[] = {"operation.fused_chain.count"};

constexpr FieldFlag kLinearFlags[] = {
    {"--bias", "operation.linear.bias", "with a bias of OUTPUTS", kOfTheKind}};
constexpr FieldFlag kElementwiseFlags[] = {
    {"--function", "operation.elementwise.function", "what it does; default: general", kOfTheKind},
    {"--input-count,--inputs", "operation.elementwise.input_count",
     "arrays that it reads; default: 2 of add, multiply; else 1", kOfTheKind},
    {"--flops-per-element", "operation.elementwise.flops_per_element",
     "of general: FLOPs an element; default: 1", kOfTheKind}};
constexpr FieldFlag kReductionFlags[] = {
    {"--function", "operation.reduction.function", "how it combines; default: sum", kOfTheKind}};
constexpr FieldFlag kActivationFlags[] = {
    {"--function", "operation.activation.function", "which; default: relu", kOfTheKind}};
constexpr FieldFlag kAttentionFlags[] = {
    {"--kv-heads", "operation.attention.kv_heads", "heads of keys and values; default: HEADS",
     kOfTheKind},
    {"--key-length", "operation.attention.key_length", "keys a sequence; default: LENGTH",
     kOfTheKind},
    {"--value-head-size", "operation.attention.value_head_size",
     "numbers of a value; default: HEAD_SIZE", kOfTheKind},
    {"--causal", "operation.attention.causal", "a query sees what is before it alone", kOfTheKind},
    {"--convention", "operation.attention.convention",
     "how a causal mask is counted; default: with-diagonal", kOfTheKind},
    {"--window", "operation.attention.window", "the most keys that a query sees; default: all",
     kOfTheKind},
    {"--unfused", "operation.attention.unfused",
     "in kernels that move the scores; default: one kernel", kOfTheKind}};
constexpr FieldFlag kOptimizerUpdateFlags[] = {
    {"--rule", "operation.optimizer_update.rule", "the optimizer; default: adamw", kOfTheKind},
    {"--master-weights", "operation.optimizer_update.master_weights",
     "with a copy of the weights in the accumulation's type", kOfTheKind}};
constexpr FieldFlag kHostCopyFlags[] = {
    {"--link-bytes-per-second,--link", "operation.host_copy.link_bytes_per_second",
     "bytes a second of the link, e.g. 25e9; default: --device's", kOfTheKind},
    {"--pageable", "operation.host_copy.pageable",
     "the host's memory is pageable: copied to pinned first", kOfTheKind},
    {"--staging-bytes-per-second,--staging", "operation.host_copy.staging_bytes_per_second",
     "pageable: bytes a second of that copy, e.g. 10e9", kOfTheKind},
    {"--node-type", "operation.host_copy.node_type",
     "a kind of server, whose link it takes; see sextant nodes", kOfTheKind}};
constexpr FieldFlag kEinsumFlags[] = {{"--left-to-right", "operation.einsum.left_to_right",
                                       "contract in this order; default: that of fewest FLOPs",
                                       kOfTheKind}};

constexpr const char* kExpertsSizes[] = {"operation.experts.tokens",
                                         "operation.experts.hidden_size",
                                         "operation.experts.feed_forward_size"};
constexpr FieldFlag kExpertsFlags[] = {
    {"--expert-count,--experts", "operation.experts.expert_count", "experts of the layer; needed",
     kOfTheKind},
    {"--experts-per-token", "operation.experts.experts_per_token",
     "experts that a token goes to; needed", kOfTheKind},
    {"--expert-parallel-size", "operation.experts.expert_parallel_size",
     "devices that share the experts; default: 1", kOfTheKind},
    {"--ungated", "operation.experts.ungated", "two matrices and GELU; default: three and SwiGLU",
     kOfTheKind}};

constexpr char kRowsHelp[] = "rows of COLUMNS numbers";
constexpr char kCountHelp[] = "any shape, or a number of elements";

constexpr OperationKind kKinds[] = {
    {.name = "matmul",
     .description = "c [m, n] = a [m, k] b [k, n]",
     .form = SizesForm::kEach,
     .sizes = "MxNxK",
     .size_fields = kMatmulSizes,
     .sizes_help = "a [m, k] times b [k, n]: sums run over K, the last",
     .example = "16384x8192x32768 --dtype=bf16 --device=h100-sxm"},
    {.name = "batched-matmul",
     .description = "Such products, each of its own a and b",
     .form = SizesForm::kEach,
     .sizes = "BATCHxMxNxK",
     .size_fields = kBatchedMatmulSizes,
     .sizes_help = "BATCH products of a [m, k] and b [k, n]",
     .example = "64x4096x4096x128 --dtype=bf16 --device=h100-sxm"},
    {.name = "linear",
     .description = "y = x w, and a bias; how large outputs are at the start",
     .form = SizesForm::kEach,
     .sizes = "ROWSxINPUTSxOUTPUTS",
     .size_fields = kLinearSizes,
     .sizes_help = "x [rows, inputs] times w [inputs, outputs]",
     .flags = kLinearFlags,
     .example = "8192x4096x14336 --dtype=bf16 --device=h100-sxm --plot"},
    {.name = "elementwise",
     .description = "One function of arrays of one size",
     .form = SizesForm::kShape,
     .sizes = "SHAPE",
     .size_fields = kElementwiseSizes,
     .sizes_help = kCountHelp,
     .flags = kElementwiseFlags,
     .example = "4096x4096 --function=add --dtype=fp32 --device=a100-sxm-80"},
    {.name = "reduction",
     .description = "y [outer] from x [outer, reduced]",
     .form = SizesForm::kEach,
     .sizes = "OUTERxREDUCED",
     .size_fields = kReductionSizes,
     .sizes_help = "results, and the elements that each combines",
     .flags = kReductionFlags,
     .example = "8192x4096 --function=mean --dtype=fp32"},
    {.name = "softmax",
     .description = "Softmax of each row",
     .form = SizesForm::kEach,
     .sizes = "ROWSxCOLUMNS",
     .size_fields = kSoftmaxSizes,
     .sizes_help = kRowsHelp,
     .example = "8192x4096 --dtype=bf16 --device=h100-sxm"},
    {.name = "layer-norm",
     .description = "LayerNorm of each row, with weight and bias",
     .form = SizesForm::kEach,
     .sizes = "ROWSxCOLUMNS",
     .size_fields = kLayerNormSizes,
     .sizes_help = kRowsHelp,
     .example = "8192x4096 --dtype=bf16 --device=h100-sxm"},
    {.name = "rms-norm",
     .description = "RMSNorm of each row, with a weight",
     .form = SizesForm::kEach,
     .sizes = "ROWSxCOLUMNS",
     .size_fields = kRmsNormSizes,
     .sizes_help = kRowsHelp,
     .example = "8192x4096 --dtype=bf16 --device=h100-sxm"},
    {.name = "activation",
     .description = "ReLU, SiLU or GELU of each number",
     .form = SizesForm::kShape,
     .sizes = "SHAPE",
     .size_fields = kActivationSizes,
     .sizes_help = kCountHelp,
     .flags = kActivationFlags,
     .example = "8192x14336 --function=gelu-tanh --dtype=bf16 --device=h100-sxm"},
    {.name = "swiglu",
     .description = "silu(gate) x up",
     .form = SizesForm::kEach,
     .sizes = "ROWSxCOLUMNS",
     .size_fields = kSwigluSizes,
     .sizes_help = kRowsHelp,
     .example = "8192x14336 --dtype=bf16 --device=h100-sxm"},
    {.name = "rotary",
     .description = "Rotary embedding: turns each pair of numbers by an angle",
     .form = SizesForm::kEach,
     .sizes = "TOKENSxHEADSxHEAD_SIZE",
     .size_fields = kRotarySizes,
     .sizes_help = "of queries or of keys",
     .example = "8192x32x128 --dtype=bf16"},
    {.name = "dropout",
     .description = "Sets numbers to zero at random",
     .form = SizesForm::kShape,
     .sizes = "SHAPE",
     .size_fields = kDropoutSizes,
     .sizes_help = kCountHelp,
     .example = "8192x4096 --dtype=bf16"},
    {.name = "embedding",
     .description = "The rows of a table that token ids name",
     .form = SizesForm::kEach,
     .sizes = "TOKENSxVOCABULARYxWIDTH",
     .size_fields = kEmbeddingSizes,
     .sizes_help = "lookups in a table [vocabulary, width]",
     .example = "8192x128256x4096 --dtype=bf16"},
    {.name = "cross-entropy",
     .description = "The mean over tokens of -log softmax(logits)[target]",
     .form = SizesForm::kEach,
     .sizes = "TOKENSxVOCABULARY",
     .size_fields = kCrossEntropySizes,
     .sizes_help = "logits [tokens, vocabulary]",
     .example = "8192x128256 --dtype=fp32"},
    {.name = "attention",
     .description = "softmax(q k^T / sqrt(head size)) v, fused or not",
     .form = SizesForm::kEach,
     .sizes = "BATCHxHEADSxLENGTHxHEAD_SIZE",
     .size_fields = kAttentionSizes,
     .sizes_help = "q [batch, heads, length, head size]",
     .flags = kAttentionFlags,
     .example = "1x32x8192x128 --kv-heads=8 --causal --dtype=bf16 --device=h100-sxm"},
    {.name = "optimizer-update",
     .description = "One optimizer step",
     .form = SizesForm::kEach,
     .sizes = "PARAMETERS",
     .size_fields = kOptimizerUpdateSizes,
     .sizes_help = "how many, e.g. 8B",
     .flags = kOptimizerUpdateFlags,
     .example = "8B --rule=adamw --master-weights --dtype=bf16 --device=h100-sxm"},
    {.name = "host-copy",
     .description = "A copy between host and device, either way",
     .form = SizesForm::kEach,
     .sizes = "BYTES",
     .size_fields = kHostCopySizes,
     .sizes_help = "how many, e.g. 1GiB",
     .flags = kHostCopyFlags,
     .on_device = false,
     .example = "1GiB --device=h100-sxm"},
    {.name = "fused-chain",
     .description = "Elementwise steps, one upon another, in one kernel",
     .form = SizesForm::kShape,
     .sizes = "SHAPE",
     .size_fields = kFusedChainSizes,
     .sizes_help = kCountHelp,
     .has_steps = true,
     .example = "8192x4096 scale add:1 exp --dtype=bf16 --device=h100-sxm"},
    {.name = "einsum",
     .description = "A product of several tensors, summed over axes",
     .form = SizesForm::kExpression,
     .sizes = "EXPRESSION",
     .size_fields = {},
     .sizes_help = "\"b s h, b t h -> b s t\", or \"bsh,bth->bst\" by letters",
     .flags = kEinsumFlags,
     .example = "\"b s h, b t h -> b s t\" 2x3x4 2x3x4 --dtype=bf16"},
    {.name = "experts",
     .description = "A layer of experts, on one of the devices that share it",
     .form = SizesForm::kEach,
     .sizes = "TOKENSxHIDDENxFEED_FORWARD",
     .size_fields = kExpertsSizes,
     .sizes_help = "tokens of all devices, width of one, of an expert",
     .flags = kExpertsFlags,
     .example = "64x4096x14336 --experts=8 --experts-per-token=2 --dtype=bf16 --device=h200-sxm"},
};

constexpr FieldFlag kNumberFormatFlags[] = {
    {"--dtype", "data_types.input", "of what it reads; sextant dtype lists them", kFormats},
    {"--output-dtype", "data_types.output", "of what it writes; default: --dtype", kFormats},
    {"--accumulation-dtype", "data_types.accumulation",
     "of sums and statistics; default: fp32, or fp64 of fp64", kFormats},
    {"--scaling", "data_types.scaling", "of fp8 products: by tensor or block; default: tensor",
     kFormats},
    {"--transcendental-flops", "transcendental_flops",
     "FLOPs of one exp, log, tanh, erf or root; default: 1", kFormats}};

constexpr FieldFlag kDeviceFlags[] = {
    {"--matrix-flops-per-second,--matrix-flops", "device.matrix_flops_per_second",
     "FLOP/s of matrix products, for the device's, e.g. 989e12", kDevice},
    {"--general-flops-per-second,--general-flops", "device.general_flops_per_second",
     "FLOP/s of all other arithmetic, for the device's", kDevice},
    {"--memory-bytes-per-second,--memory-bandwidth", "device.memory_bytes_per_second",
     "memory's bytes a second, for the device's, e.g. 3.35e12", kDevice},
    {"--launch-seconds", "device.launch_seconds",
     "of a kernel, in addition to its work, e.g. 4e-6; default: 0", kDevice},
    {"--method", "device.method", "how compute and memory time overlap; default: smooth", kDevice},
    {"--regime", "device.regime", "of predicted times: burst or sustained; default: burst",
     kDevice}};
constexpr FieldFlag kFleetFlags[] = {
    {"--fleet", "device.device.fleet.accelerator",
     "a catalogue name: at rates that the fleet's hosts measured", kDevice},
    {"--hostnames,--hosts", "device.device.fleet.hostnames",
     "with --fleet: the hosts that count, a,b,c; repeatable", kDevice},
    {"--gpu-uuids", "device.device.fleet.gpu_uuids",
     "with --fleet: the GPUs that count, a,b,c; repeatable", kDevice}};
constexpr FieldFlag kRateRequirementFlags[] = {
    {"--minimum-source,--minimum-rate-source", "device.rate_requirement.minimum_source",
     "the worst source allowed for its rates", kDevice},
    {"--maximum-age", "device.rate_requirement.maximum_age",
     "the oldest measurement allowed, e.g. 36h or 7d", kDevice}};

}  // namespace

absl::Span<const OperationKind> OperationKinds() { return kKinds; }

absl::Span<const FieldFlag> NumberFormatFlags() { return kNumberFormatFlags; }

absl::Span<const FieldFlag> DeviceFlags() { return kDeviceFlags; }

absl::Span<const FieldFlag> FleetFlags() { return kFleetFlags; }

absl::Span<const FieldFlag> RateRequirementFlags() { return kRateRequirementFlags; }

}  // namespace sextant::client
