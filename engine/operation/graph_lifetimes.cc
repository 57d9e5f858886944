#include "engine/operation/graph_lifetimes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/operation/graph_memory.h"

namespace sextant {
namespace {

// An array of a node that is not a tensor of the graph.
struct OwnArray {
  std::string name;
  StorageKind kind = StorageKind::kScratch;
  Bytes size = Bytes(0);
};

// An array of the forward pass that a backward pass reads.
struct SavedSource {
  const SavedArray* array = nullptr;
  size_t value = kNoIndex;  // the graph's tensor, if it is one
  size_t maker = kNoIndex;  // the node that makes its storage; kNoIndex: given
};

bool Has(const std::vector<OwnArray>& arrays, const std::string& name) {
  return std::any_of(arrays.begin(), arrays.end(),
                     [&name](const OwnArray& array) { return array.name == name; });
}

void AddTraffic(const OperationCost& cost, std::vector<OwnArray>& out) {
  for (const StepCost& step : cost.steps) {
    for (const TrafficTerm& term : step.traffic) {
      const bool statistic = term.array.role == ArrayRole::kStatistic;
      if (!statistic && term.array.role != ArrayRole::kScratch) continue;
      if (Has(out, term.array.name)) continue;
      out.push_back({term.array.name, statistic ? StorageKind::kStatistic : StorageKind::kScratch,
                     term.size});
    }
  }
}

// The value named `name` in the kernels; kNoIndex if it is the node's own array.
size_t ValueNamed(const GraphNode& node, const std::string& name) {
  if (node.kernels.outputs[0].name == name) return node.output;
  for (size_t k = 0; k < node.operands.size(); ++k) {
    if (node.kernels.operands[k].name == name) return node.operands[k];
  }
  return kNoIndex;
}

bool IsTable(const GraphNode& node, const std::string& name) {
  const auto& operands = node.kernels.operands;
  return std::any_of(operands.begin(), operands.end(),
                     [&name](const Array& array) { return array.name == name; });
}

// Operands that are not tensors of the graph.
std::vector<OwnArray> TablesOf(const GraphNode& node) {
  std::vector<OwnArray> out;
  for (size_t k = 0; k < node.operands.size(); ++k) {
    if (node.operands[k] != kNoIndex) continue;
    const Array& array = node.kernels.operands[k];
    // The forward pass reads it, so its size is known.
    out.push_back({array.name, StorageKind::kTable, BytesOf(array).value_or(Bytes(0))});
  }
  return out;
}

// Arrays that the forward pass makes in addition to the output: statistics, and scratch, each
// once.
std::vector<OwnArray> OwnArraysOf(const GraphNode& node, const NodeBackward& backward) {
  std::vector<OwnArray> out;
  if (backward.cost.has_value()) {
    for (const SavedArray& saved : backward.cost->saved) {
      if (saved.array.role != ArrayRole::kStatistic) continue;
      out.push_back({saved.array.name, StorageKind::kStatistic, saved.size});
    }
  }
  AddTraffic(node.forward, out);
  return out;
}

// Scratch arrays of the backward pass.
std::vector<OwnArray> BackwardScratchOf(const NodeBackward& backward) {
  std::vector<OwnArray> all;
  AddTraffic(backward.cost->cost, all);
  std::vector<OwnArray> out;
  for (OwnArray& array : all) {
    if (array.kind == StorageKind::kScratch) out.push_back(std::move(array));
  }
  return out;
}

// The result points into `gradients`.
std::vector<SavedSource> SavedSourcesOf(const GraphNodes& graph, const GraphGradients& gradients,
                                        size_t node) {
  std::vector<SavedSource> out;
  if (!gradients.nodes[node].cost.has_value()) return out;
  const GraphNode& n = graph.nodes[node];
  for (const SavedArray& saved : gradients.nodes[node].cost->saved) {
    const std::string& name = saved.array.name;
    SavedSource source = {.array = &saved, .value = ValueNamed(n, name)};
    if (source.value != kNoIndex) {
      source.maker = graph.values[graph.values[source.value].root].maker;
    } else if (!IsTable(n, name)) {
      source.maker = node;
    }
    out.push_back(source);
  }
  return out;
}

// The results of one run of a node: its output, and its statistics by name.
struct NodeRun {
  size_t output = kNoIndex;
  absl::flat_hash_map<std::string, size_t> statistics;
};

class TrainingStep {
 public:
  explicit TrainingStep(const LifetimeRequest& request)
      : r_(request), runs_(r_.graph.nodes.size()) {}

  absl::StatusOr<GraphMemory> Run() {
    Begin();
    for (size_t i = 0; i < r_.graph.nodes.size(); ++i) {
      SEXTANT_RETURN_IF_ERROR(r_.work.Spend(kStepsAnOperation));
      RunForward(i, ledger_.Next({MomentKind::kForward, NameOf(i)}), runs_[i]);
    }
    ledger_.EndForward();
    for (size_t a = 0; a < r_.gradients.actions.size(); ++a) {
      SEXTANT_RETURN_IF_ERROR(r_.work.Spend(kStepsAnOperation));
      SEXTANT_RETURN_IF_ERROR(GoBack(a));
    }
    if (UpdatesAnything()) ledger_.Next({MomentKind::kUpdate, ""});
    SEXTANT_ASSIGN_OR_RETURN(GraphMemory memory, ledger_.Close());
    memory.recompute = recompute_;
    memory.recomputed_operations = recomputed_;
    return memory;
  }

 private:
  absl::string_view NameOf(size_t node) const { return r_.graph.nodes[node].spec->name; }
  const GraphValue& ValueAt(size_t value) const { return r_.graph.values[value]; }
  size_t RootOf(size_t value) const { return ValueAt(value).root; }

  bool UpdatesAnything() const {
    for (size_t v = 0; v < r_.graph.values.size(); ++v) {
      if (ValueAt(v).kind == GraphTensorKind::kParameter && r_.gradients.has_gradient[v]) {
        return true;
      }
    }
    return false;
  }

  // Adds the storages that exist throughout.
  void Begin() {
    for (const GraphValue& value : r_.graph.values) {
      if (value.maker != kNoIndex) continue;
      const bool parameter = value.kind == GraphTensorKind::kParameter;
      given_.push_back(
          ledger_.AddHeld({value.array.name,
                           parameter ? StorageKind::kParameter : StorageKind::kInput, value.size}));
    }
    for (const KeptState& state : r_.update.kept) {
      ledger_.AddHeld({absl::StrCat(state.name, " of ", ValueAt(state.value).array.name),
                       StorageKind::kOptimizerState, state.size});
    }
    for (size_t i = 0; i < r_.graph.nodes.size(); ++i) {
      for (const OwnArray& table : TablesOf(r_.graph.nodes[i])) {
        tables_[{i, table.name}] = ledger_.AddHeld(
            {absl::StrCat(table.name, " of ", NameOf(i)), StorageKind::kTable, table.size});
      }
    }
  }

  // The end of the recomputed nodes of segment s.
  size_t EndOfRecompute(size_t s) const {
    const CheckpointedSegment& segment = r_.graph.segments[s];
    if (r_.extent == RecomputeExtent::kWholeSegment) return segment.end;
    size_t end = segment.first;
    for (size_t i = segment.first; i < segment.end; ++i) {
      for (const SavedSource& saved : SavedSourcesOf(r_.graph, r_.gradients, i)) {
        end = std::max(end, saved.maker == i ? i + 1 : i);
      }
    }
    return end;
  }

  // The storage of `value`: the recomputed one where there is one.
  size_t StorageOf(size_t value) const {
    const size_t root = RootOf(value);
    const size_t maker = ValueAt(root).maker;
    if (maker == kNoIndex) return given_[root];
    const auto again = again_.find(maker);
    return again != again_.end() ? again->second.output : runs_[maker].output;
  }

  void RunForward(size_t i, size_t moment, NodeRun& run) {
    const GraphNode& node = r_.graph.nodes[i];
    const bool is_again = &run != &runs_[i];
    const absl::string_view suffix = is_again ? ", computed again" : "";
    for (const size_t value : node.operands) {
      if (value == kNoIndex) continue;
      const size_t storage = StorageOf(value);
      ledger_.Touch(storage, moment);
      if (is_again) ledger_.Saves(storage, NameOf(i), "it is computed again from it");
    }
    const GraphValue& output = ValueAt(node.output);
    if (output.root == node.output) {
      run.output = ledger_.Add(
          {absl::StrCat(output.array.name, suffix), StorageKind::kActivation, output.size}, moment);
    }
    for (const OwnArray& own : OwnArraysOf(node, r_.gradients.nodes[i])) {
      const size_t storage = ledger_.Add(
          {absl::StrCat(own.name, " of ", NameOf(i), suffix), own.kind, own.size}, moment);
      run.statistics[own.name] = storage;
    }
    if (!is_again && !output.is_read) ledger_.Hold(StorageOf(node.output));
  }

  absl::Status GoBack(size_t a) {
    const BackwardAction& action = r_.gradients.actions[a];
    if (a == 0) AddLossGradients();
    if (action.node == kNoIndex) {
      AddUp(a, ledger_.Next({MomentKind::kAccumulation, GradientName(action.makes[0])}));
      return absl::OkStatus();
    }
    SEXTANT_RETURN_IF_ERROR(RunSegmentAgain(r_.graph.nodes[action.node].segment));
    const size_t moment = ledger_.Next({MomentKind::kBackward, NameOf(action.node)});
    ReadSaved(action.node, moment);
    for (const OwnArray& scratch : BackwardScratchOf(r_.gradients.nodes[action.node])) {
      ledger_.Add({absl::StrCat(scratch.name, " of ", NameOf(action.node)), StorageKind::kScratch,
                   scratch.size},
                  moment);
    }
    ledger_.Touch(places_[action.reads[0]], moment);
    for (const size_t array : action.makes) {
      const size_t shares = r_.gradients.arrays[array].shares;
      Place(array, shares == kNoIndex ? NewGradient(array, moment) : places_[shares]);
    }
    return absl::OkStatus();
  }

  absl::Status RunSegmentAgain(size_t s) {
    if (!r_.checkpointed || s == kNoIndex || !done_again_.insert(s).second) return absl::OkStatus();
    const size_t end = EndOfRecompute(s);
    for (size_t i = r_.graph.segments[s].first; i < end; ++i) {
      NodeRun run;
      RunForward(i, ledger_.Next({MomentKind::kRecompute, NameOf(i)}), run);
      again_[i] = std::move(run);
      ++recomputed_;
      SEXTANT_ASSIGN_OR_RETURN(recompute_, SumOf(recompute_, r_.graph.nodes[i].forward.sum));
    }
    return absl::OkStatus();
  }

  void ReadSaved(size_t i, size_t moment) {
    for (const SavedSource& saved : SavedSourcesOf(r_.graph, r_.gradients, i)) {
      size_t storage = kNoIndex;
      if (saved.value != kNoIndex) {
        storage = StorageOf(saved.value);
      } else if (const auto table = tables_.find({i, saved.array->array.name});
                 table != tables_.end()) {
        storage = table->second;
      } else {
        const auto again = again_.find(i);
        storage = (again != again_.end() ? again->second : runs_[i])
                      .statistics.at(saved.array->array.name);
      }
      ledger_.Touch(storage, moment);
      ledger_.Saves(storage, NameOf(i), saved.array->reason);
    }
  }

  absl::string_view GradientName(size_t array) const {
    return ValueAt(r_.gradients.arrays[array].value).array.name;
  }

  // Given gradients exist from the start of the backward pass.
  void AddLossGradients() {
    for (size_t i = 0; i < r_.gradients.losses.size(); ++i) {
      Place(i, NewGradient(i, ledger_.moment_count()));
    }
  }

  size_t NewGradient(size_t array, size_t moment) {
    const GraphValue& value = ValueAt(r_.gradients.arrays[array].value);
    return ledger_.Add(
        {absl::StrCat("gradient of ", value.array.name), StorageKind::kGradient, value.size},
        moment);
  }

  // Call in the order of the arrays' numbers.
  void Place(size_t array, size_t storage) {
    const GradientArray& gradient = r_.gradients.arrays[array];
    places_.resize(std::max(places_.size(), array + 1), kNoIndex);
    places_[array] = storage;
    size_t& read_until = read_until_[storage];
    read_until = std::max(read_until, gradient.held ? kNoIndex : gradient.last_read);
    if (!gradient.held) return;
    const GraphValue& value = ValueAt(gradient.value);
    ledger_.Rename(storage, absl::StrCat("gradient of ", value.array.name),
                   value.kind == GraphTensorKind::kParameter ? StorageKind::kParameterGradient
                                                             : StorageKind::kGradient);
    ledger_.Hold(storage);
  }

  void AddUp(size_t a, size_t moment) {
    const BackwardAction& action = r_.gradients.actions[a];
    size_t storage = kNoIndex;
    for (const size_t array : action.reads) {
      const size_t place = places_[array];
      ledger_.Touch(place, moment);
      if (storage == kNoIndex && read_until_[place] <= a) storage = place;
    }
    Place(action.makes[0], storage == kNoIndex ? NewGradient(action.makes[0], moment) : storage);
  }

  const LifetimeRequest& r_;
  Ledger ledger_;
  std::vector<size_t> given_;  // storages of given values
  std::vector<NodeRun> runs_;  // by node
  absl::flat_hash_map<size_t, NodeRun> again_;
  absl::flat_hash_map<std::pair<size_t, std::string>, size_t> tables_;
  std::vector<size_t> places_;                      // storages of gradient arrays
  absl::flat_hash_map<size_t, size_t> read_until_;  // by storage: the last action that reads it
  absl::flat_hash_set<size_t> done_again_;          // recomputed segments
  CostSum recompute_;
  int64_t recomputed_ = 0;
};

}  // namespace

absl::StatusOr<GraphMemory> MemoryOf(const LifetimeRequest& request) {
  return TrainingStep(request).Run();
}

}  // namespace sextant
