// The lifetime of each array of a training step.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/operation/graph_nodes.h"

namespace sextant {
namespace {

// Parameters and their state are in memory anyway.
bool CountsAsSaved(StorageKind kind) {
  return kind == StorageKind::kInput || kind == StorageKind::kTable ||
         kind == StorageKind::kActivation || kind == StorageKind::kStatistic;
}

// Storages with their first and last moment; finds the moment with the most bytes.
class Ledger {
 public:
  // Starts the next moment, which has that name, and returns its number.
  size_t Next(std::string name) {
    moments_.push_back(std::move(name));
    return moments_.size() - 1;
  }
  // The number of moments so far, which is the next one's number.
  size_t moment_count() const { return moments_.size(); }
  // Arrays made before this and read after it have to be saved.
  void EndForward() { forward_end_ = moments_.size(); }

  // Adds a storage that exists from `moment`, or throughout; returns its number.
  size_t Add(GraphStorage storage, size_t moment) {
    entries_.push_back({.storage = std::move(storage), .first = moment, .last = moment});
    return entries_.size() - 1;
  }
  size_t AddHeld(GraphStorage storage) {
    const size_t number = Add(std::move(storage), 0);
    Hold(number);
    return number;
  }
  // Extends its life to at least `moment`.
  void Touch(size_t storage, size_t moment) {
    entries_[storage].last = std::max(entries_[storage].last, moment);
  }
  // Extends its life to the end.
  void Hold(size_t storage) { entries_[storage].held = true; }
  void Rename(size_t storage, std::string name, StorageKind kind) {
    entries_[storage].storage.name = std::move(name);
    entries_[storage].storage.kind = kind;
  }
  // Records why it is read after the forward pass. Ignored for arrays made after that pass.
  void Saves(size_t storage, absl::string_view operation, absl::string_view reason) {
    Entry& entry = entries_[storage];
    if (entry.first >= forward_end_ || !CountsAsSaved(entry.storage.kind)) return;
    entry.saved_by.push_back({std::string(operation), std::string(reason)});
  }

  absl::StatusOr<GraphMemory> Close() const;

 private:
  struct Entry {
    GraphStorage storage;
    size_t first = 0;
    size_t last = 0;
    bool held = false;
    std::vector<SavedBy> saved_by = {};
  };

  size_t Peak() const;

  std::vector<std::string> moments_;
  std::vector<Entry> entries_;
  size_t forward_end_ = 0;
};

// Uses the bytes that come and go at each moment: no sum exceeds that of all storages.
size_t Ledger::Peak() const {
  std::vector<int64_t> change(moments_.size() + 1, 0);
  for (const Entry& entry : entries_) {
    change[entry.first] += entry.storage.size.value();
    if (!entry.held) change[entry.last + 1] -= entry.storage.size.value();
  }
  size_t peak = 0;
  int64_t most = 0;
  int64_t now = 0;
  for (size_t i = 0; i < moments_.size(); ++i) {
    now += change[i];
    if (now <= most) continue;
    most = now;
    peak = i;
  }
  return peak;
}

absl::StatusOr<GraphMemory> Ledger::Close() const {
  CheckedInt all = 0;
  for (const Entry& entry : entries_) all = all + entry.storage.size.value();
  if (!all.ok()) {
    return InvalidField("operations",
                        "the arrays of a training step have more than 9.2e18 bytes: write smaller "
                        "sizes");
  }
  GraphMemory out;
  const size_t peak = Peak();
  out.peak_moment = moments_[peak];
  for (const Entry& entry : entries_) {
    if (entry.first <= peak && (entry.held || peak <= entry.last)) {
      out.at_peak.push_back(entry.storage);
      out.peak_bytes = out.peak_bytes + entry.storage.size;
    }
    if (entry.saved_by.empty()) continue;
    out.saved.push_back({entry.storage, entry.saved_by});
    out.saved_bytes = out.saved_bytes + entry.storage.size;
  }
  return out;
}

// An array of the forward pass that a backward pass reads.
struct SavedSource {
  const SavedArray* array = nullptr;
  size_t value = kNoIndex;  // the graph's tensor, if it is one
  size_t maker = kNoIndex;  // the node that makes its storage; kNoIndex: given
};

// The result points into `graph`.
std::vector<SavedSource> SavedSourcesOf(const GraphNodes& graph, size_t node) {
  std::vector<SavedSource> out;
  const GraphNode& n = graph.nodes[node];
  if (!n.row.backward.has_value()) return out;
  for (const SavedArray& saved : n.row.backward->saved) {
    SavedSource source = {.array = &saved, .maker = node};
    if (n.kernels.outputs[0].name == saved.array.name) source.value = n.output;
    for (size_t k = 0; k < n.operands.size(); ++k) {
      if (n.kernels.operands[k].name != saved.array.name) continue;
      source = {.array = &saved, .value = n.operands[k]};  // of no value: a table
    }
    if (source.value != kNoIndex) {
      source.maker = graph.values[graph.values[source.value].root].maker;
    }
    out.push_back(source);
  }
  return out;
}

// Adds the statistics and scratch of `cost`, which are no tensors of the graph, each once.
void AddOwn(const OperationCost& cost, std::vector<GraphStorage>& out) {
  for (const StepCost& step : cost.steps) {
    for (const TrafficTerm& term : step.traffic) {
      const bool statistic = term.array.role == ArrayRole::kStatistic;
      if (!statistic && term.array.role != ArrayRole::kScratch) continue;
      const bool known = std::any_of(out.begin(), out.end(), [&term](const GraphStorage& other) {
        return other.name == term.array.name;
      });
      if (known) continue;
      out.push_back({term.array.name, statistic ? StorageKind::kStatistic : StorageKind::kScratch,
                     term.size});
    }
  }
}

// Arrays that the forward pass makes in addition to the output.
std::vector<GraphStorage> OwnArraysOf(const GraphOperationRow& row) {
  std::vector<GraphStorage> out;
  if (row.backward.has_value()) {
    for (const SavedArray& saved : row.backward->saved) {
      if (saved.array.role != ArrayRole::kStatistic) continue;
      out.push_back({saved.array.name, StorageKind::kStatistic, saved.size});
    }
  }
  AddOwn(row.forward, out);
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
      RunForward(i, ledger_.Next(absl::StrCat("forward of ", NameOf(i))), runs_[i]);
    }
    ledger_.EndForward();
    for (size_t a = 0; a < r_.gradients.actions.size(); ++a) {
      SEXTANT_RETURN_IF_ERROR(r_.work.Spend(kStepsAnOperation));
      SEXTANT_RETURN_IF_ERROR(GoBack(a));
    }
    if (r_.update.cost.moved() > Bytes(0)) ledger_.Next("update");
    SEXTANT_ASSIGN_OR_RETURN(GraphMemory memory, ledger_.Close());
    memory.recompute = recompute_;
    memory.recomputed_operations = recomputed_;
    return memory;
  }

 private:
  absl::string_view NameOf(size_t node) const { return r_.graph.nodes[node].row.name; }
  const GraphValue& ValueAt(size_t value) const { return r_.graph.values[value]; }

  // Adds the storages that exist throughout.
  void Begin() {
    for (const GraphValue& value : r_.graph.values) {
      if (value.maker != kNoIndex) continue;
      const StorageKind kind = value.is_parameter() ? StorageKind::kParameter : StorageKind::kInput;
      given_.push_back(ledger_.AddHeld({value.name(), kind, value.row.size}));
    }
    for (const KeptState& state : r_.update.kept) {
      ledger_.AddHeld({absl::StrCat(state.name, " of ", ValueAt(state.value).name()),
                       StorageKind::kOptimizerState, state.size});
    }
    for (size_t i = 0; i < r_.graph.nodes.size(); ++i) {
      const GraphNode& node = r_.graph.nodes[i];
      for (size_t k = 0; k < node.operands.size(); ++k) {
        if (node.operands[k] != kNoIndex) continue;
        // The forward pass reads it, so its size is known.
        const Array& table = node.kernels.operands[k];
        tables_[{i, table.name}] =
            ledger_.AddHeld({absl::StrCat(table.name, " of ", NameOf(i)), StorageKind::kTable,
                             BytesOf(table).value_or(Bytes(0))});
      }
    }
  }

  // The end of the recomputed nodes of segment s.
  size_t EndOfRecompute(size_t s) const {
    const CheckpointedSegment& segment = r_.graph.segments[s];
    if (r_.extent == RecomputeExtent::kWholeSegment) return segment.end;
    size_t end = segment.first;
    for (size_t i = segment.first; i < segment.end; ++i) {
      for (const SavedSource& saved : SavedSourcesOf(r_.graph, i)) {
        end = std::max(end, saved.maker == i ? i + 1 : i);
      }
    }
    return end;
  }

  // The storage of `value`: the recomputed one where there is one.
  size_t StorageOf(size_t value) const {
    const size_t root = ValueAt(value).root;
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
          {absl::StrCat(output.name(), suffix), StorageKind::kActivation, output.row.size}, moment);
    }
    for (const GraphStorage& own : OwnArraysOf(node.row)) {
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
      AddUp(a, ledger_.Next(
                   absl::StrCat("gradients of ", GradientName(action.makes[0]), " added up")));
      return absl::OkStatus();
    }
    SEXTANT_RETURN_IF_ERROR(RunSegmentAgain(r_.graph.nodes[action.node].segment));
    const size_t moment = ledger_.Next(absl::StrCat("backward of ", NameOf(action.node)));
    ReadSaved(action.node, moment);
    std::vector<GraphStorage> own;
    AddOwn(r_.graph.nodes[action.node].row.backward->cost, own);
    for (const GraphStorage& one : own) {
      if (one.kind != StorageKind::kScratch) continue;
      ledger_.Add({absl::StrCat(one.name, " of ", NameOf(action.node)), one.kind, one.size},
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
      RunForward(i, ledger_.Next(absl::StrCat("forward of ", NameOf(i), ", computed again")), run);
      again_[i] = std::move(run);
      ++recomputed_;
      SEXTANT_ASSIGN_OR_RETURN(recompute_, SumOf(recompute_, r_.graph.nodes[i].row.forward.sum));
    }
    return absl::OkStatus();
  }

  void ReadSaved(size_t i, size_t moment) {
    for (const SavedSource& saved : SavedSourcesOf(r_.graph, i)) {
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
    return ValueAt(r_.gradients.arrays[array].value).name();
  }

  // Given gradients exist from the start of the backward pass.
  void AddLossGradients() {
    for (size_t i = 0; i < r_.graph.losses.size(); ++i) {
      Place(i, NewGradient(i, ledger_.moment_count()));
    }
  }

  size_t NewGradient(size_t array, size_t moment) {
    const GraphValue& value = ValueAt(r_.gradients.arrays[array].value);
    return ledger_.Add(
        {absl::StrCat("gradient of ", value.name()), StorageKind::kGradient, value.row.size},
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
    ledger_.Rename(storage, absl::StrCat("gradient of ", value.name()),
                   value.is_parameter() ? StorageKind::kParameterGradient : StorageKind::kGradient);
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
