#include "engine/operation/graph_check.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/near_names.h"
#include "engine/operation/analysis.h"
#include "engine/tensor/expression/contraction.h"

namespace sextant {
namespace {

// A search for near names scans all names, so only the first unknown names get one.
constexpr int kMaxSearches = 8;

// Number of bytes after a character's first byte; absent where `first` can't start a character.
absl::optional<int> ContinuationBytes(unsigned char first) {
  if (first < 0x80) return 0;
  if (first >= 0xC2 && first <= 0xDF) return 1;
  if (first >= 0xE0 && first <= 0xEF) return 2;
  if (first >= 0xF0 && first <= 0xF4) return 3;
  return absl::nullopt;
}

// Removes and returns the next character of `text`; absent where the bytes are no UTF-8. Source:
// RFC 3629 section 4: shortest forms, no surrogates, up to U+10FFFF.
absl::optional<uint32_t> TakeCharacter(absl::string_view& text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const absl::optional<int> more = ContinuationBytes(first);
  if (!more.has_value() || text.size() <= static_cast<size_t>(*more)) return absl::nullopt;
  uint32_t code = *more == 0 ? first : first & (0x3Fu >> *more);
  for (int i = 1; i <= *more; ++i) {
    const auto byte = static_cast<unsigned char>(text[static_cast<size_t>(i)]);
    if ((byte & 0xC0) != 0x80) return absl::nullopt;
    code = code << 6 | (byte & 0x3F);
  }
  text.remove_prefix(static_cast<size_t>(*more) + 1);
  constexpr uint32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[*more] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
    return absl::nullopt;
  }
  return code;
}

bool IsPrintable(absl::string_view text) {
  while (!text.empty()) {
    const absl::optional<uint32_t> code = TakeCharacter(text);
    if (!code.has_value() || *code < 0x20 || (*code >= 0x7F && *code < 0xA0)) return false;
  }
  return true;
}

// The most work of a graph, in units of 1/600 us of one core, as measured: about 50 ms. Without
// einsums of three operands or more every graph is within it.
constexpr double kMaxGraphWork = 3e7;
constexpr double kWorkAnOperation = 6000;
constexpr double kWorkAnEinsum = 12'000;  // of three operands or more, without the search

// The work of an einsum and its gradients: subsets of subsets of `count` operands where the search
// is exact, pairs at each step where it is greedy, each scaled by the number of axes. The weights
// were measured.
double ContractionWork(size_t count, size_t expression_bytes) {
  if (count <= 2) return 0;
  const auto n = static_cast<double>(count);
  const double pairs = count <= kMaxExactOperands ? std::pow(3, n) : n * n * n / 8;
  return kWorkAnEinsum + (n + 1) * pairs * (1 + static_cast<double>(expression_bytes) / 256);
}

// The work of the graph where it has einsums of three operands or more, else 0.
double ContractionWork(const GraphSpec& spec) {
  double work = 0;
  for (const GraphOperation& op : spec.operations) {
    const auto* operation = std::get_if<Operation>(&op.work);
    if (operation == nullptr) continue;
    const auto* einsum = std::get_if<Einsum>(operation);
    if (einsum == nullptr || einsum->left_to_right) continue;
    work += ContractionWork(op.inputs.size(), einsum->expression.size());
  }
  if (work == 0) return 0;
  return work + kWorkAnOperation * static_cast<double>(spec.operations.size());
}

size_t InputCount(const GraphSpec& spec) {
  size_t count = 0;
  for (const GraphOperation& op : spec.operations) count += op.inputs.size();
  return count;
}

size_t TensorCount(const GraphSpec& spec) { return spec.tensors.size() + spec.operations.size(); }

void CheckLimits(const GraphSpec& spec, FieldViolations& violations) {
  const auto at_most = [&violations](absl::string_view path, absl::string_view what, size_t count,
                                     size_t most) {
    if (count <= most) return;
    violations.Add(path, absl::StrCat(what, " are ", count, ": at most ", most));
  };
  if (spec.operations.empty()) violations.Add("operations", "are required: write at least one");
  at_most("operations", "the operations", spec.operations.size(), kMaxGraphOperations);
  at_most("tensors", "the tensors, given and made,", TensorCount(spec), kMaxGraphTensors);
  at_most("operations", "all inputs together", InputCount(spec), kMaxGraphInputs);
  at_most("losses", "the losses", spec.losses.size(), kMaxGraphTensors);
  at_most("checkpointed_segments", "the segments", spec.checkpointed_segments.size(),
          kMaxGraphOperations);
  if (ContractionWork(spec) > kMaxGraphWork) {
    violations.Add("operations",
                   "have einsums of too many operands to search for their orders of contraction: "
                   "write some as several of two operands");
  }
}

void CheckOperationOf(const GraphSpec& spec, size_t i, GraphNames& names,
                      FieldViolations& violations) {
  const GraphOperation& op = spec.operations[i];
  const std::string path = OperationPath(i);
  const std::string name = FieldPath(path, "name");
  if (CheckGraphName(op.name, name, violations) && !names.Add(op.name, i)) {
    violations.Add(name, absl::StrCat("'", op.name, "' is ", OperationPath(*names.Find(op.name)),
                                      " already: write another name"));
  }
  if (op.inputs.size() > kMaxOperands) {
    violations.Add(FieldPath(path, "inputs"),
                   absl::StrCat("are ", op.inputs.size(), ": at most ", kMaxOperands));
  }
  if (!op.segment.empty()) CheckGraphName(op.segment, FieldPath(path, "segment"), violations);
}

void CheckKind(const GraphTensor& tensor, const Array& array, absl::string_view path,
               FieldViolations& violations) {
  if (tensor.frozen && !tensor.parameter) {
    violations.Add(FieldPath(path, "frozen"), "is of parameters alone: this is an input");
  }
  if (tensor.requires_gradient && tensor.parameter) {
    violations.Add(FieldPath(path, "requires_gradient"),
                   "is of inputs alone: a parameter has a gradient unless it is frozen");
  }
  const bool asked = tensor.requires_gradient || (tensor.parameter && !tensor.frozen);
  if (!asked || CanHaveGradient(array)) return;
  violations.Add(path,
                 absl::StrCat("'", tensor.name, "' has no gradient, since it is not a tensor ",
                              "of floating-point numbers: ",
                              tensor.parameter ? "mark it frozen" : "leave requires_gradient out"));
}

void CheckFormat(const GraphTensor& tensor, DataType graph_type, absl::string_view path,
                 FieldViolations& violations) {
  const int64_t bytes = tensor.index_bytes;
  if (bytes != 0 && bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) {
    violations.Add(FieldPath(path, "index_bytes"),
                   absl::StrCat("must be 1, 2, 4 or 8, or 0 for numbers, not ", bytes));
  }
  if (bytes != 0 && tensor.data_type != DataType::kUnspecified) {
    violations.Add(FieldPath(path, "data_type"),
                   "must not be given where index_bytes is: ids and masks have none");
  }
  if (bytes == 0 && tensor.data_type == DataType::kUnspecified &&
      graph_type == DataType::kUnspecified) {
    violations.Add(FieldPath(path, "data_type"),
                   "is required where the graph has none: write e.g. bf16");
  }
}

}  // namespace

bool CheckGraphName(absl::string_view name, absl::string_view path, FieldViolations& violations) {
  if (name.empty()) {
    violations.Add(path, "is required: write a name");
  } else if (name.size() > kMaxGraphNameBytes) {
    violations.Add(
        path, absl::StrCat("has ", name.size(), " bytes: a name has at most ", kMaxGraphNameBytes));
  } else if (!IsPrintable(name)) {
    violations.Add(path, "has control characters or bytes that are no UTF-8: write letters");
  } else {
    return true;
  }
  return false;
}

bool GraphNames::Add(absl::string_view name, size_t number) {
  if (!numbers_.emplace(name, number).second) return false;
  in_order_.push_back(name);
  return true;
}

absl::optional<size_t> GraphNames::Find(absl::string_view name) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end()) return absl::nullopt;
  return found->second;
}

absl::optional<size_t> GraphNames::FindOrReport(absl::string_view name, absl::string_view path,
                                                FieldViolations& violations) {
  const absl::optional<size_t> found = Find(name);
  if (found.has_value() || !CheckGraphName(name, path, violations)) return found;
  if (++searches_ > kMaxSearches) {
    violations.Add(path, absl::StrCat(kind_, " \"", name, "\" is not known"));
    return absl::nullopt;
  }
  std::vector<KnownName> known;
  for (const absl::string_view one : in_order_) known.push_back({.name = one});
  violations.Add(path, UnknownNameMessage(kind_, name, known, where_listed_));
  return absl::nullopt;
}

bool IsWithinGraphLimits(const GraphSpec& spec) {
  FieldViolations violations;
  CheckLimits(spec, violations);
  return violations.empty();
}

void CheckGraphSpec(const GraphSpec& spec, FieldViolations& violations) {
  CheckLimits(spec, violations);
  if (!violations.empty()) return;
  CheckConvention(spec.convention, "", violations);
  GraphNames names("operation", "the graph's operations");
  for (size_t i = 0; i < spec.operations.size(); ++i) CheckOperationOf(spec, i, names, violations);
}

absl::optional<GraphValue> GivenValue(const GraphSpec& spec, size_t i, absl::string_view path,
                                      FieldViolations& violations) {
  const GraphTensor& tensor = spec.tensors[i];
  FieldViolations wrong;
  CheckShape(tensor.shape, FieldPath(path, "shape"), wrong);
  CheckFormat(tensor, spec.data_type, path, wrong);
  GraphValue value;
  value.root = i;
  value.kind = tensor.parameter ? GraphTensorKind::kParameter : GraphTensorKind::kInput;
  value.frozen = tensor.frozen;
  value.gradient_asked_for = tensor.parameter ? !tensor.frozen : tensor.requires_gradient;
  const DataType type =
      tensor.data_type == DataType::kUnspecified ? spec.data_type : tensor.data_type;
  value.array = {.name = tensor.name,
                 .role = tensor.parameter ? ArrayRole::kParameter : ArrayRole::kInput,
                 .data_type = tensor.index_bytes > 0 ? DataType::kUnspecified : type,
                 .shape = tensor.shape,
                 .index_bytes = tensor.index_bytes};
  if (wrong.empty()) {
    CheckKind(tensor, value.array, path, wrong);
    value.elements = ElementCount(tensor.shape).value_or(0);
    const auto size = BytesOf(value.array);
    if (size.ok()) value.size = *size;
    if (!size.ok() || (tensor.parameter && value.elements > kMaxDimension)) {
      wrong.Add(FieldPath(path, "shape"),
                absl::StrCat(ShapeText(tensor.shape), " is too large: at most 2^40 elements of a ",
                             "parameter, and 9.2e18 bytes of any tensor"));
    } else {
      value.layout = ContiguousTensor(tensor.shape, value.array.data_type);
    }
  }
  if (wrong.empty()) return value;
  violations.AddAll(wrong.ToStatus());
  return absl::nullopt;
}

std::vector<CheckpointedSegment> SegmentsOf(const GraphSpec& spec, FieldViolations& violations) {
  std::vector<CheckpointedSegment> segments;
  GraphNames names("segment", "the operations' segments");
  for (size_t i = 0; i < spec.operations.size(); ++i) {
    const std::string& name = spec.operations[i].segment;
    if (name.empty()) continue;
    const auto known = names.Find(name);
    if (!known.has_value()) {
      names.Add(name, segments.size());
      segments.push_back({.name = name, .first = i, .end = i + 1});
    } else if (segments[*known].end == i) {
      segments[*known].end = i + 1;
    } else {
      violations.Add(
          FieldPath(OperationPath(i), "segment"),
          absl::StrCat("'", name, "' ended with ", OperationPath(segments[*known].end - 1),
                       ": a segment is one run of operations"));
    }
  }
  return segments;
}

}  // namespace sextant
