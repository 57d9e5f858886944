// Names, limits and given tensors of a graph, and its nodes in order.
#include "engine/operation/graph_nodes.h"

#include <cmath>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "engine/base/near_names.h"
#include "engine/base/status_macros.h"
#include "engine/base/text.h"
#include "engine/operation/analysis.h"
#include "engine/tensor/expression/contraction.h"

namespace sextant {
namespace {

// A search for near names scans all names, so only the first unknown names get one.
constexpr int kMaxSearches = 8;

// Adds the errors of `name` at `path`. Returns true where the name is valid.
bool CheckGraphName(absl::string_view name, absl::string_view path, FieldViolations& violations) {
  if (name.empty()) {
    violations.Add(path, "is required: write a name");
  } else if (name.size() > kMaxGraphNameBytes) {
    violations.Add(
        path, absl::StrCat("has ", name.size(), " bytes: a name has at most ", kMaxGraphNameBytes));
  } else if (Escaped(name) != name) {
    violations.Add(path, "has control characters or bytes that are no UTF-8: write letters");
  } else {
    return true;
  }
  return false;
}

// Names of one kind, each with a number. The strings must outlive it.
class GraphNames {
 public:
  // `kind` and `where_listed` as UnknownNameMessage() takes them.
  GraphNames(absl::string_view kind, absl::string_view where_listed)
      : kind_(kind), where_listed_(where_listed) {}

  // Returns false if the name already has a number, which it keeps.
  bool Add(absl::string_view name, size_t number) {
    if (!numbers_.emplace(name, number).second) return false;
    in_order_.push_back(name);
    return true;
  }

  absl::optional<size_t> Find(absl::string_view name) const {
    const auto found = numbers_.find(name);
    if (found == numbers_.end()) return absl::nullopt;
    return found->second;
  }

  // Find() for a user's name; adds an error at `path` where it is invalid or unknown.
  absl::optional<size_t> FindOrReport(absl::string_view name, absl::string_view path,
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

 private:
  absl::string_view kind_;
  absl::string_view where_listed_;
  absl::flat_hash_map<absl::string_view, size_t> numbers_;
  std::vector<absl::string_view> in_order_;
  int searches_ = 0;
};

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

void CheckLimits(const GraphSpec& spec, FieldViolations& violations) {
  const auto at_most = [&violations](absl::string_view path, absl::string_view what, size_t count,
                                     size_t most) {
    if (count <= most) return;
    violations.Add(path, absl::StrCat(what, " are ", count, ": at most ", most));
  };
  if (spec.operations.empty()) violations.Add("operations", "are required: write at least one");
  at_most("operations", "the operations", spec.operations.size(), kMaxGraphOperations);
  at_most("tensors", "the tensors, given and made,", spec.tensors.size() + spec.operations.size(),
          kMaxGraphTensors);
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

// Given tensor i as a value; absent where anything but its name is invalid. Errors are added below
// `path`.
absl::optional<GraphValue> GivenValue(const GraphSpec& spec, size_t i, absl::string_view path,
                                      FieldViolations& violations) {
  const GraphTensor& tensor = spec.tensors[i];
  FieldViolations wrong;
  CheckShape(tensor.shape, FieldPath(path, "shape"), wrong);
  CheckFormat(tensor, spec.data_type, path, wrong);
  GraphValue value;
  GraphTensorRow& row = value.row;
  value.root = i;
  value.frozen = tensor.frozen;
  value.gradient_asked_for = tensor.parameter ? !tensor.frozen : tensor.requires_gradient;
  const DataType type =
      tensor.data_type == DataType::kUnspecified ? spec.data_type : tensor.data_type;
  row.name = tensor.name;
  row.kind = tensor.parameter ? GraphTensorKind::kParameter : GraphTensorKind::kInput;
  row.array = {.name = tensor.name,
               .role = tensor.parameter ? ArrayRole::kParameter : ArrayRole::kInput,
               .data_type = tensor.index_bytes > 0 ? DataType::kUnspecified : type,
               .shape = tensor.shape,
               .index_bytes = tensor.index_bytes};
  if (wrong.empty()) {
    CheckKind(tensor, row.array, path, wrong);
    row.elements = ElementCount(tensor.shape).value_or(0);
    const auto size = BytesOf(row.array);
    if (size.ok()) row.size = *size;
    if (!size.ok() || (tensor.parameter && row.elements > kMaxDimension)) {
      wrong.Add(FieldPath(path, "shape"),
                absl::StrCat(ShapeText(tensor.shape), " is too large: at most 2^40 elements of a ",
                             "parameter, and 9.2e18 bytes of any tensor"));
    } else {
      value.layout = ContiguousTensor(tensor.shape, row.array.data_type);
    }
  }
  if (wrong.empty()) return value;
  violations.AddAll(wrong.ToStatus());
  return absl::nullopt;
}

class Graph {
 public:
  Graph(const GraphSpec& spec, CallWork& work) : spec_(spec), work_(work) {}

  absl::StatusOr<GraphNodes> Build() {
    CheckLimits(spec_, violations_);
    SEXTANT_RETURN_IF_ERROR(violations_.ToStatus());
    CheckConvention(spec_.convention, "", violations_);
    GraphNames names("operation", "the graph's operations");
    for (size_t i = 0; i < spec_.operations.size(); ++i) {
      CheckOperationOf(spec_, i, names, violations_);
    }
    for (size_t i = 0; i < spec_.tensors.size(); ++i) AddGiven(i);
    for (size_t i = 0; i < spec_.operations.size(); ++i) AddMade(i);
    for (size_t i = 0; i < spec_.operations.size(); ++i) {
      SEXTANT_RETURN_IF_ERROR(work_.Spend(kStepsAnOperation));
      BuildOne(i);
    }
    FindLosses();
    FindSegments();
    SEXTANT_RETURN_IF_ERROR(violations_.ToStatus());
    return std::move(out_);
  }

 private:
  size_t ValueOf(size_t node) const { return spec_.tensors.size() + node; }

  void AddGiven(size_t i) {
    const std::string path = absl::StrCat("tensors[", i, "]");
    absl::optional<GraphValue> value = GivenValue(spec_, i, path, violations_);
    known_.push_back(value.has_value());
    out_.values.emplace_back();
    if (value.has_value()) out_.values.back() = *std::move(value);
    const std::string& name = spec_.tensors[i].name;
    const std::string place = FieldPath(path, "name");
    if (!CheckGraphName(name, place, violations_) || tensors_.Add(name, i)) return;
    violations_.Add(place, absl::StrCat("'", name, "' is tensors[", *tensors_.Find(name),
                                        "] already: write another name"));
  }

  // Registers an output's name, and a place for its value.
  void AddMade(size_t i) {
    out_.values.emplace_back();
    known_.push_back(false);
    const GraphOperation& op = spec_.operations[i];
    const std::string path = FieldPath(OperationPath(i), "output");
    if (!CheckGraphName(op.output, path, violations_) || tensors_.Add(op.output, ValueOf(i))) {
      return;
    }
    const size_t before = *tensors_.Find(op.output);
    const bool given = before < spec_.tensors.size();
    violations_.Add(path, absl::StrCat("'", op.output, "' is ", given ? "given, as " : "made by ",
                                       given ? absl::StrCat("tensors[", before, "]")
                                             : OperationPath(before - spec_.tensors.size()),
                                       " already: write another name"));
  }

  // The inputs of operation i; absent where one is unknown, which may be another operation's
  // error.
  absl::optional<std::vector<size_t>> InputsOf(size_t i) {
    std::vector<size_t> inputs;
    bool all_known = true;
    for (size_t k = 0; k < spec_.operations[i].inputs.size(); ++k) {
      const std::string& name = spec_.operations[i].inputs[k];
      const std::string path = FieldPath(OperationPath(i), absl::StrCat("inputs[", k, "]"));
      const auto value = tensors_.FindOrReport(name, path, violations_);
      if (value.has_value() && *value >= ValueOf(i)) {
        violations_.Add(path, *value == ValueOf(i)
                                  ? absl::StrCat("'", name, "' is what this operation makes")
                                  : absl::StrCat("'", name, "' is made later, by ",
                                                 OperationPath(*value - spec_.tensors.size())));
      }
      all_known = all_known && value.has_value() && known_[*value];
      if (value.has_value()) inputs.push_back(*value);
    }
    if (!all_known) return absl::nullopt;
    return inputs;
  }

  void BuildOne(size_t i) {
    out_.nodes.emplace_back();
    const GraphOperation& op = spec_.operations[i];
    absl::optional<std::vector<size_t>> inputs = InputsOf(i);
    if (!inputs.has_value() || inputs->size() > kMaxOperands) return;
    absl::optional<BuiltNode> built = BuildNode({.operation = op,
                                                 .values = out_.values,
                                                 .inputs = std::move(*inputs),
                                                 .output = ValueOf(i),
                                                 .convention = spec_.convention},
                                                OperationPath(i), violations_);
    if (!built.has_value()) return;
    for (const size_t value : built->node.operands) {
      if (value != kNoIndex) out_.values[value].is_read = true;
    }
    out_.nodes[i] = std::move(built->node);
    out_.values[ValueOf(i)] = std::move(built->value);
    out_.values[ValueOf(i)].maker = i;
    known_[ValueOf(i)] = true;
  }

  void FindLosses() {
    std::vector<bool> named(out_.values.size());
    for (size_t i = 0; i < spec_.losses.size(); ++i) {
      const std::string path = absl::StrCat("losses[", i, "]");
      const auto value = tensors_.FindOrReport(spec_.losses[i], path, violations_);
      if (!value.has_value()) continue;
      if (named[*value]) violations_.Add(path, "is named before: once is enough");
      if (*value < spec_.tensors.size()) {
        violations_.Add(path, absl::StrCat("'", spec_.losses[i], "' is given: a loss is made by ",
                                           "an operation"));
      }
      named[*value] = true;
      out_.losses.push_back(*value);
    }
  }

  // All segments in order, checkpointed or not, each with a name.
  std::vector<CheckpointedSegment> AllSegments(GraphNames& names) {
    std::vector<CheckpointedSegment> all;
    for (size_t i = 0; i < spec_.operations.size(); ++i) {
      const std::string& name = spec_.operations[i].segment;
      if (name.empty()) continue;
      const auto known = names.Find(name);
      if (!known.has_value()) {
        names.Add(name, all.size());
        all.push_back({.name = name, .first = i, .end = i + 1});
      } else if (all[*known].end == i) {
        all[*known].end = i + 1;
      } else {
        violations_.Add(FieldPath(OperationPath(i), "segment"),
                        absl::StrCat("'", name, "' ended with ", OperationPath(all[*known].end - 1),
                                     ": a segment is one run of operations"));
      }
    }
    return all;
  }

  void FindSegments() {
    GraphNames names("segment", "the operations' segments");
    const std::vector<CheckpointedSegment> all = AllSegments(names);
    std::vector<bool> named(all.size());
    for (size_t i = 0; i < spec_.checkpointed_segments.size(); ++i) {
      const std::string path = absl::StrCat("checkpointed_segments[", i, "]");
      const auto found = names.FindOrReport(spec_.checkpointed_segments[i], path, violations_);
      if (!found.has_value()) continue;
      if (named[*found]) violations_.Add(path, "is named before: once is enough");
      named[*found] = true;
    }
    for (size_t s = 0; s < all.size(); ++s) {
      if (!named[s]) continue;
      for (size_t i = all[s].first; i < all[s].end; ++i) {
        out_.nodes[i].segment = out_.segments.size();
      }
      out_.segments.push_back(all[s]);
    }
  }

  const GraphSpec& spec_;
  CallWork& work_;
  FieldViolations violations_;
  GraphNames tensors_{"tensor", "the graph's tensors and the operations' outputs"};
  std::vector<bool> known_;  // by value: its shape is known
  GraphNodes out_;
};

}  // namespace

std::string OperationPath(size_t node) { return absl::StrCat("operations[", node, "]"); }

absl::StatusOr<GraphNodes> BuildGraph(const GraphSpec& spec, CallWork& work) {
  return Graph(spec, work).Build();
}

}  // namespace sextant
