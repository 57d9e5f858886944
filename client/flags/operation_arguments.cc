#include "client/flags/operation_arguments.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/flags/words.h"
#include "client/text/text.h"
#include "sextant/v1/field_options.pb.h"

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

// True where the argument is any number of sizes, whose product is the field.
bool IsShape(const OperationKind& kind) { return kind.sizes == absl::string_view("SHAPE"); }

// The fields of the kind's sizes, in the order of its argument: those that no flag sets.
std::vector<const google::protobuf::FieldDescriptor*> SizesOf(const OperationKind& kind) {
  const auto& type = *FindField(*v1::AnalyzeOperationRequest::descriptor(), PathOf(kind));
  std::vector<const google::protobuf::FieldDescriptor*> sizes;
  for (int i = 0; i < type.message_type()->field_count(); ++i) {
    const auto* const field = type.message_type()->field(i);
    const bool is_size = FormOf(*field) == FieldForm::kCount ||
                         FormOf(*field) == FieldForm::kLength ||
                         FormOf(*field) == FieldForm::kByteCount;
    if (is_size && field->options().GetExtension(v1::field).flag().empty()) sizes.push_back(field);
  }
  return sizes;
}

// Sets one of an operation's sizes; one alone (`joined` false) may be a number of bytes.
absl::Status SetSize(const std::string& path, const std::string& text, bool joined,
                     v1::AnalyzeOperationRequest* request) {
  if (!joined) return SetField(path, text, request);
  const absl::StatusOr<int64_t> size = ParseLength(text);
  return size.ok() ? SetField(path, absl::StrCat(*size), request) : size.status();
}

// A number of elements, "7B", or a shape, "4x8Ki".
absl::StatusOr<int64_t> ReadShapeSize(absl::string_view text) {
  if (!absl::StrContains(text, 'x')) return ParseCount(text);
  const absl::StatusOr<std::vector<int64_t>> sizes = ParseSizes(text);
  return sizes.ok() ? ElementCount(*sizes) : sizes.status();
}

// The whole number after `prefix` in "operation.einsum.operands[1].shape", counted from 1; absent
// for another field.
std::optional<int64_t> EntryOf(absl::string_view field, absl::string_view prefix) {
  int64_t index = 0;
  if (!absl::ConsumePrefix(&field, prefix) ||
      !absl::SimpleAtoi(field.substr(0, field.find(']')), &index)) {
    return std::nullopt;
  }
  return index + 1;
}

constexpr FlagRow kOperationRows[] = {
    {.field = "device.device.accelerator", .names = "", .word = "--device"},
    {.field = "device.device.calibrations.calibrations[0]",
     .word = "--calibration",
     .below = Below::kAppended},
    {.field = "device.device.calibrations", .names = ""},
    {.field = "device.device.host_devices.devices",
     .names = "",
     .word = "--device",
     .below = Below::kDropped},
    {.field = "device.device.fleet.accelerator"},
    {.field = "device.device.fleet.hostnames",
     .help = "with --fleet: the hosts that count, a,b,c; repeatable"},
    {.field = "device.device.fleet.gpu_uuids",
     .help = "with --fleet: the GPUs that count, a,b,c; repeatable"},
    {.field = "device.rate_requirement.minimum_source",
     .help = "the worst source allowed for its rates",
     .group = "Device"},
    {.field = "device.rate_requirement.maximum_age", .group = "Device"},
    {.field = "device", .word = "--device", .below = Below::kUnknown},
    {.field = "achieved_seconds", .word = "--achieved"},
};

std::optional<std::string> ArgumentOf(const OperationKind& kind, absl::string_view field) {
  const std::vector<std::string> letters = absl::StrSplit(kind.sizes, 'x');
  const auto sizes = SizesOf(kind);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (field != absl::StrCat(PathOf(kind), ".", sizes[i]->name())) continue;
    return sizes.size() == 1 ? kind.sizes : absl::StrCat(letters[i], " of ", kind.sizes);
  }
  if (field == "operation.einsum.expression") return "EXPRESSION";
  if (field == "operation.einsum.operands") return "SHAPE...";
  if (const auto operand = EntryOf(field, "operation.einsum.operands[")) {
    return absl::StrCat("SHAPE ", *operand);
  }
  if (const auto step = EntryOf(field, "operation.fused_chain.steps[")) {
    return absl::StrCat("STEP ", *step);
  }
  return std::nullopt;
}

}  // namespace

absl::Span<const OperationKind> OperationKinds() { return kKinds; }

std::string PathOf(const OperationKind& kind) {
  return absl::StrCat("operation.", absl::StrReplaceAll(kind.name, {{"-", "_"}}));
}

absl::Status ReadSizes(const OperationKind& kind, absl::string_view text,
                       v1::AnalyzeOperationRequest* request) {
  const std::vector<const google::protobuf::FieldDescriptor*> fields = SizesOf(kind);
  if (fields.empty()) {
    request->mutable_operation()->mutable_einsum()->set_expression(std::string(text));
    return absl::OkStatus();
  }
  if (IsShape(kind)) {
    const absl::StatusOr<int64_t> count = ReadShapeSize(text);
    if (!count.ok()) return count.status();
    return SetField(absl::StrCat(PathOf(kind), ".", fields[0]->name()), absl::StrCat(*count),
                    request);
  }
  const std::vector<std::string> sizes = absl::StrSplit(text, 'x');
  if (sizes.size() != fields.size()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not ", kind.sizes,
                                                   "; write it as in: sextant op ", kind.name, " ",
                                                   kind.example));
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    const std::string path = absl::StrCat(PathOf(kind), ".", fields[i]->name());
    const absl::Status set = SetSize(path, sizes[i], sizes.size() > 1, request);
    if (set.ok()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(OperationFieldWords(kind, path), ": ", set.message()));
  }
  return absl::OkStatus();
}

std::string NamedSizes(const OperationKind& kind, const v1::AnalyzeOperationRequest& request) {
  const v1::Operation& operation = request.operation();
  const auto& of_kind =
      *v1::Operation::descriptor()->FindFieldByName(absl::StrReplaceAll(kind.name, {{"-", "_"}}));
  const auto& message = operation.GetReflection()->GetMessage(operation, &of_kind);
  return absl::StrJoin(SizesOf(kind), ", ", [&message](std::string* out, const auto* field) {
    absl::StrAppend(out, field->name(), "=", message.GetReflection()->GetInt64(message, field));
  });
}

absl::Status AddOperand(absl::string_view text, v1::AnalyzeOperationRequest* request) {
  const absl::StatusOr<std::vector<int64_t>> shape = ParseShape(text);
  if (!shape.ok()) return shape.status();
  v1::Operation::Einsum::Operand* operand =
      request->mutable_operation()->mutable_einsum()->add_operands();
  operand->mutable_shape()->Add(shape->begin(), shape->end());
  return absl::OkStatus();
}

absl::Status AddChainStep(absl::string_view text, v1::AnalyzeOperationRequest* request) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  v1::Operation::FusedChain::Step step;
  absl::Status read = SetField("function", parts[0], &step);
  if (read.ok() && parts.size() > 1) read = SetField("extra_input_count", parts[1], &step);
  if (read.ok() && parts.size() > 2) read = SetField("flops_per_element", parts[2], &step);
  if (read.ok() && parts.size() <= 3) {
    *request->mutable_operation()->mutable_fused_chain()->add_steps() = step;
    return read;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is not a step", read.ok() ? "" : absl::StrCat(": ", read.message()),
      "; write FUNCTION[:EXTRA_INPUTS[:FLOPS]] such as exp, add:1 or general:1:8, FUNCTION being ",
      absl::StrJoin(EnumNames(*v1::ElementwiseFunction_descriptor()), "|")));
}

absl::Span<const FieldFlag> OperationFlags() {
  return RequestFlags<v1::AnalyzeOperationRequest, kOperationRows>();
}

void SetDevice(const std::string& name, v1::DeviceSelector* device) {
  const bool on_server = name == "host" || absl::StartsWith(name, "CPU-") ||
                         absl::StartsWith(name, "GPU-") || absl::StartsWith(name, "MIG-");
  if (on_server) {
    device->mutable_host_devices()->Clear();
    device->mutable_host_devices()->add_devices(name);
  } else {
    device->set_accelerator(name);
  }
}

std::string OperationFieldWords(const OperationKind& kind, const std::string& field) {
  if (const auto argument = ArgumentOf(kind, field)) return *argument;
  return FieldWordsOf(OperationFlags(), field);
}

}  // namespace sextant::client
