#include "client/flags/operation_kinds.h"

namespace sextant::client {
namespace {

constexpr char kRowsHelp[] = "rows of COLUMNS numbers";
constexpr char kCountHelp[] = "any shape, or a number of elements";

constexpr OperationKind kKinds[] = {
    {"matmul", "c [m, n] = a [m, k] b [k, n]", "MxNxK",
     "a [m, k] times b [k, n]: sums run over K, the last",
     "16384x8192x32768 --dtype=bf16 --device=h100-sxm"},
    {"batched-matmul", "Such products, each of its own a and b", "BATCHxMxNxK",
     "BATCH products of a [m, k] and b [k, n]", "64x4096x4096x128 --dtype=bf16 --device=h100-sxm"},
    {"linear", "y = x w, and a bias; how large outputs are at the start", "ROWSxINPUTSxOUTPUTS",
     "x [rows, inputs] times w [inputs, outputs]",
     "8192x4096x14336 --dtype=bf16 --device=h100-sxm --plot"},
    {"elementwise", "One function of arrays of one size", "SHAPE", kCountHelp,
     "4096x4096 --function=add --dtype=fp32 --device=a100-sxm-80"},
    {"reduction", "y [outer] from x [outer, reduced]", "OUTERxREDUCED",
     "results, and the elements that each combines", "8192x4096 --function=mean --dtype=fp32"},
    {"softmax", "Softmax of each row", "ROWSxCOLUMNS", kRowsHelp,
     "8192x4096 --dtype=bf16 --device=h100-sxm"},
    {"layer-norm", "LayerNorm of each row, with weight and bias", "ROWSxCOLUMNS", kRowsHelp,
     "8192x4096 --dtype=bf16 --device=h100-sxm"},
    {"rms-norm", "RMSNorm of each row, with a weight", "ROWSxCOLUMNS", kRowsHelp,
     "8192x4096 --dtype=bf16 --device=h100-sxm"},
    {"activation", "ReLU, SiLU or GELU of each number", "SHAPE", kCountHelp,
     "8192x14336 --function=gelu-tanh --dtype=bf16 --device=h100-sxm"},
    {"swiglu", "silu(gate) x up", "ROWSxCOLUMNS", kRowsHelp,
     "8192x14336 --dtype=bf16 --device=h100-sxm"},
    {"rotary", "Rotary embedding: turns each pair of numbers by an angle", "TOKENSxHEADSxHEAD_SIZE",
     "of queries or of keys", "8192x32x128 --dtype=bf16"},
    {"dropout", "Sets numbers to zero at random", "SHAPE", kCountHelp, "8192x4096 --dtype=bf16"},
    {"embedding", "The rows of a table that token ids name", "TOKENSxVOCABULARYxWIDTH",
     "lookups in a table [vocabulary, width]", "8192x128256x4096 --dtype=bf16"},
    {"cross-entropy", "The mean over tokens of -log softmax(logits)[target]", "TOKENSxVOCABULARY",
     "logits [tokens, vocabulary]", "8192x128256 --dtype=fp32"},
    {"attention", "softmax(q k^T / sqrt(head size)) v, fused or not",
     "BATCHxHEADSxLENGTHxHEAD_SIZE", "q [batch, heads, length, head size]",
     "1x32x8192x128 --kv-heads=8 --causal --dtype=bf16 --device=h100-sxm"},
    {"optimizer-update", "One optimizer step", "PARAMETERS", "how many, e.g. 8B",
     "8B --rule=adamw --master-weights --dtype=bf16 --device=h100-sxm"},
    {"host-copy", "A copy between host and device, either way", "BYTES", "how many, e.g. 1GiB",
     "1GiB --device=h100-sxm"},
    {"fused-chain", "Elementwise steps, one upon another, in one kernel", "SHAPE", kCountHelp,
     "8192x4096 scale add:1 exp --dtype=bf16 --device=h100-sxm"},
    {"einsum", "A product of several tensors, summed over axes", "EXPRESSION",
     "\"b s h, b t h -> b s t\", or \"bsh,bth->bst\" by letters",
     "\"b s h, b t h -> b s t\" 2x3x4 2x3x4 --dtype=bf16"},
    {"experts", "A layer of experts, on one of the devices that share it",
     "TOKENSxHIDDENxFEED_FORWARD", "tokens of all devices, width of one, of an expert",
     "64x4096x14336 --experts=8 --experts-per-token=2 --dtype=bf16 --device=h200-sxm"},
};

}  // namespace

absl::Span<const OperationKind> OperationKinds() { return kKinds; }

}  // namespace sextant::client
