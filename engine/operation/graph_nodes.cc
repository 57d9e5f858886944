#include "engine/operation/graph_nodes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/operation/graph_check.h"
#include "engine/tensor/number_format.h"

namespace sextant {
namespace {

class Graph {
 public:
  Graph(const GraphSpec& spec, CallWork& work) : spec_(spec), work_(work) {}

  absl::StatusOr<GraphNodes> Build() {
    CheckGraphSpec(spec_, violations_);
    SEXTANT_RETURN_IF_ERROR(TooLarge());
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
  // A graph beyond the limits is not checked further.
  absl::Status TooLarge() const {
    const bool fits = IsWithinGraphLimits(spec_);
    return fits ? absl::OkStatus() : violations_.ToStatus();
  }

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

  void FindSegments() {
    const std::vector<CheckpointedSegment> all = SegmentsOf(spec_, violations_);
    GraphNames names("segment", "the operations' segments");
    for (size_t i = 0; i < all.size(); ++i) names.Add(all[i].name, i);
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

bool CanHaveGradient(const Array& array) {
  if (array.index_bytes > 0) return false;
  const auto format = FindNumberFormat(array.data_type);
  return format.ok() && (*format)->kind != NumberKind::kInteger;
}

std::string OperationPath(size_t node) { return absl::StrCat("operations[", node, "]"); }

absl::StatusOr<GraphNodes> BuildGraph(const GraphSpec& spec, CallWork& work) {
  return Graph(spec, work).Build();
}

}  // namespace sextant
