// A naive training step that allocates and frees: every array is counted by who still holds it,
// as a framework does, and the heap notes when it was fullest.
#ifndef SEXTANT_TESTS_ENGINE_OPERATION_NAIVE_MEMORY_H_
#define SEXTANT_TESTS_ENGINE_OPERATION_NAIVE_MEMORY_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/operation/graph.h"

namespace sextant::naive {

struct MemoryTally {
  int64_t peak_bytes = 0;
  std::string peak_moment;
  int64_t saved_bytes = 0;  // kept at the end of the forward pass, parameters left out
  int64_t recomputed_operations = 0;
};

struct Heap {
  int64_t live = 0;
  MemoryTally tally;

  void Measure(const std::string& moment) {
    if (live <= tally.peak_bytes) return;
    tally.peak_bytes = live;
    tally.peak_moment = moment;
  }
};

class NaiveBuffer {
 public:
  NaiveBuffer(Heap& heap, int64_t size, bool is_parameter)
      : heap_(heap), size_(size), is_parameter_(is_parameter) {
    heap_.live += size_;
  }
  ~NaiveBuffer() { heap_.live -= size_; }
  NaiveBuffer(const NaiveBuffer&) = delete;
  NaiveBuffer& operator=(const NaiveBuffer&) = delete;

  int64_t size() const { return size_; }
  bool is_parameter() const { return is_parameter_; }

 private:
  Heap& heap_;
  const int64_t size_;
  const bool is_parameter_;
};

using Handle = std::shared_ptr<NaiveBuffer>;
using Handles = std::vector<Handle>;
using Names = std::vector<std::string>;

inline int64_t WidthOf(DataType type) {
  return type == DataType::kBf16 ? 2 : type == DataType::kFp64 ? 8 : 4;
}

template <typename T>
inline const T* As(const GraphOperation& op) {
  const auto* operation = std::get_if<Operation>(&op.work);
  return operation == nullptr ? nullptr : std::get_if<T>(operation);
}

inline bool IsView(const GraphOperation& op) {
  return std::holds_alternative<Rearrangement>(op.work);
}

inline bool IsFunction(const GraphOperation& op, ElementwiseFunction function) {
  const auto* elementwise = As<Elementwise>(op);
  return elementwise != nullptr && elementwise->function == function;
}

class Simulation {
 public:
  Simulation(const GraphSpec& spec, const std::map<std::string, Shape>& shapes, bool checkpointed)
      : spec_(spec), checkpointed_(checkpointed), kept_(spec.operations.size()) {
    tape_.resize(spec.operations.size());
    for (const auto& [name, shape] : shapes) {
      counts_[name] = 1;
      for (const int64_t size : shape) counts_[name] *= size;
    }
    FindTypes();
    FindGradients();
  }

  MemoryTally Run() {
    Hold();
    Forward();
    CountSaved();
    Backward();
    if (!state_.empty()) heap_.Measure("update");
    return heap_.tally;
  }

 private:
  Handle New(int64_t bytes, bool parameter = false) {
    return std::make_shared<NaiveBuffer>(heap_, bytes, parameter);
  }
  int64_t BytesOf(const std::string& name) { return counts_[name] * WidthOf(types_[name]); }

  void FindTypes() {
    for (const GraphTensor& tensor : spec_.tensors) {
      types_[tensor.name] =
          tensor.data_type == DataType::kUnspecified ? spec_.data_type : tensor.data_type;
      base_[tensor.name] = tensor.name;
    }
    for (const GraphOperation& op : spec_.operations) {
      const std::string& made = op.output;
      types_[made] = op.output_data_type == DataType::kUnspecified ? types_[op.inputs[0]]
                                                                   : op.output_data_type;
      base_[made] = IsView(op) ? base_[op.inputs[0]] : made;
    }
  }

  // Which tensors depend on what is asked for, and of those, which a loss depends on.
  void FindGradients() {
    std::set<std::string> read;
    for (const GraphTensor& tensor : spec_.tensors) {
      if ((tensor.parameter && !tensor.frozen) || tensor.requires_gradient) {
        wants_.insert(tensor.name);
      }
    }
    for (const GraphOperation& op : spec_.operations) {
      for (const std::string& input : op.inputs) {
        read.insert(input);
        if (wants_.count(input) > 0) wants_.insert(op.output);
      }
    }
    for (const GraphOperation& op : spec_.operations) {
      const std::string& made = op.output;
      if (read.count(made) == 0) results_.insert(base_[made]);
      const bool named = std::count(spec_.losses.begin(), spec_.losses.end(), made) > 0;
      const bool loss = spec_.losses.empty() ? read.count(made) == 0 : named;
      if (loss && wants_.count(made) > 0) losses_.push_back(made);
    }
    reached_.insert(losses_.begin(), losses_.end());
    for (size_t i = spec_.operations.size(); i-- > 0;) {
      if (!GoesBack(i)) continue;
      for (const std::string& input : spec_.operations[i].inputs) {
        if (wants_.count(input) > 0) reached_.insert(input);
      }
    }
  }

  bool GoesBack(size_t i) const { return reached_.count(spec_.operations[i].output) > 0; }
  bool Needs(size_t i, size_t operand) const {
    const GraphOperation& op = spec_.operations[i];
    return GoesBack(i) && operand < op.inputs.size() && wants_.count(op.inputs[operand]) > 0;
  }

  void Hold() {
    for (const GraphTensor& tensor : spec_.tensors) {
      env_[tensor.name] = New(BytesOf(tensor.name), tensor.parameter);
      given_.push_back(env_[tensor.name]);
      if (!tensor.parameter || reached_.count(tensor.name) == 0) continue;
      const int64_t width = types_[tensor.name] == DataType::kFp64 ? 8 : 4;
      for (int i = 0; i < 2; ++i) state_.push_back(New(counts_[tensor.name] * width, true));
      if (spec_.master_weights && WidthOf(types_[tensor.name]) != width) {
        state_.push_back(New(counts_[tensor.name] * width, true));
      }
    }
  }

  // The tensors that the backward pass of operation i reads.
  Names SavedOf(size_t i) const {
    const GraphOperation& op = spec_.operations[i];
    Names saved;
    const auto other = [&](size_t k) {
      if (Needs(i, 1 - k)) saved.push_back(op.inputs[k]);
    };
    if (!GoesBack(i)) return saved;
    if (IsFunction(op, ElementwiseFunction::kSquare)) saved.push_back(op.inputs[0]);
    if (As<Softmax>(op) != nullptr || As<Activation>(op) != nullptr) {
      saved.push_back(op.output);
    }
    const bool product = As<Linear>(op) != nullptr ||
                         (As<Einsum>(op) != nullptr && op.inputs.size() == 2) ||
                         IsFunction(op, ElementwiseFunction::kMultiply);
    if (product) {
      other(0);
      other(1);
    }
    if (As<RmsNorm>(op) != nullptr) {
      saved.push_back(op.inputs[0]);
      if (Needs(i, 0)) saved.push_back(op.inputs[1]);
    }
    return saved;
  }

  // The operation's second result: RMSNorm's scale for each row, in the accumulation type, where
  // there is a backward pass; dropout's mask, a byte an element.
  int64_t StatisticOf(size_t i) {
    const GraphOperation& op = spec_.operations[i];
    if (As<Dropout>(op) != nullptr) return counts_[op.inputs[0]];
    if (As<RmsNorm>(op) == nullptr || !GoesBack(i)) return 0;
    const int64_t rows = counts_[op.inputs[0]] / counts_[op.inputs[1]];
    return rows * (types_[op.inputs[0]] == DataType::kFp64 ? 8 : 4);
  }

  bool IsCheckpointed(size_t i) const {
    const auto& named = spec_.checkpointed_segments;
    const std::string& segment = spec_.operations[i].segment;
    return checkpointed_ && std::count(named.begin(), named.end(), segment) > 0;
  }
  bool SameSegment(size_t i, size_t k) const {
    return spec_.operations[i].segment == spec_.operations[k].segment;
  }
  // The operation that makes the storage of `name`; the number of operations if it is given.
  size_t MakerOf(const std::string& name) {
    const auto made =
        std::find_if(spec_.operations.begin(), spec_.operations.end(),
                     [&](const GraphOperation& op) { return op.output == base_[name]; });
    return static_cast<size_t>(made - spec_.operations.begin());
  }
  bool IsInside(size_t segment_of, const std::string& name) {
    const size_t maker = MakerOf(name);
    return maker < spec_.operations.size() && SameSegment(maker, segment_of);
  }

  // Operations of i's segment that are done again: a half-open range.
  std::pair<size_t, size_t> AgainOf(size_t i) {
    size_t first = i;
    size_t end = i + 1;
    while (first > 0 && SameSegment(first - 1, i)) --first;
    while (end < spec_.operations.size() && SameSegment(end, i)) ++end;
    bool any = false;
    size_t needed = first;
    for (size_t k = first; k < end; ++k) {
      any = any || GoesBack(k);
      for (const std::string& name : SavedOf(k)) {
        needed = std::max(needed, MakerOf(name) == k ? k + 1 : k);
      }
      if (GoesBack(k) && StatisticOf(k) > 0) needed = std::max(needed, k + 1);
    }
    if (!any) return {first, first};
    return {first, spec_.extent == RecomputeExtent::kWholeSegment ? end : needed};
  }

  void Forward() {
    std::map<std::string, int> reads;
    for (const GraphOperation& op : spec_.operations) {
      for (const std::string& input : op.inputs) ++reads[base_[input]];
    }
    for (size_t i = 0; i < spec_.operations.size(); ++i) {
      const GraphOperation& op = spec_.operations[i];
      const std::string& made = op.output;
      if (!IsView(op)) env_[made] = New(BytesOf(made));
      Handle statistic = New(StatisticOf(i));
      heap_.Measure("forward of " + op.name);
      const bool checkpointed = IsCheckpointed(i);
      for (const std::string& name : SavedOf(i)) {
        if (!checkpointed || !IsInside(i, name)) tape_[i].push_back(env_[base_[name]]);
      }
      if (GoesBack(i) && !checkpointed) tape_[i].push_back(statistic);
      if (checkpointed) {
        const auto [first, end] = AgainOf(i);
        for (const std::string& input : op.inputs) {
          if (i < end && !IsInside(i, input)) kept_[i].push_back(env_[base_[input]]);
        }
      }
      for (const std::string& input : op.inputs) {
        const std::string& root = base_[input];
        if (--reads[root] == 0 && results_.count(root) == 0) env_.erase(root);
      }
    }
  }

  void CountSaved() {
    std::set<Handle> saved;
    for (const auto* all : {&tape_, &kept_}) {
      for (const Handles& handles : *all) saved.insert(handles.begin(), handles.end());
    }
    for (const Handle& handle : saved) {
      if (!handle->is_parameter()) heap_.tally.saved_bytes += handle->size();
    }
  }

  void RunAgain(size_t i) {
    const auto [first, end] = AgainOf(i);
    std::map<std::string, int> reads;
    std::map<std::string, Handle> env;
    for (size_t k = first; k < end; ++k) {
      for (const std::string& input : spec_.operations[k].inputs) ++reads[base_[input]];
    }
    std::vector<size_t> all;
    for (size_t k = first; k < spec_.operations.size() && SameSegment(k, i); ++k) all.push_back(k);
    for (size_t k = first; k < end; ++k) {
      const GraphOperation& op = spec_.operations[k];
      const std::string& made = op.output;
      if (!IsView(op)) env[made] = New(BytesOf(made));
      Handle statistic = New(StatisticOf(k));
      heap_.Measure("forward of " + op.name + ", computed again");
      ++heap_.tally.recomputed_operations;
      kept_[k].clear();
      if (GoesBack(k)) tape_[k].push_back(statistic);
      // Who saves what was just made holds it from now on.
      for (const size_t reader : all) {
        for (const std::string& name : SavedOf(reader)) {
          if (!IsView(op) && base_[name] == made) tape_[reader].push_back(env[made]);
        }
      }
      for (const std::string& input : op.inputs) {
        if (--reads[base_[input]] == 0) env.erase(base_[input]);
      }
      if (reads[base_[made]] == 0) env.erase(base_[made]);
    }
  }

  bool PassesOn(const GraphOperation& op, const std::string& input) {
    return (IsView(op) || IsFunction(op, ElementwiseFunction::kAdd)) &&
           types_[input] == types_[op.output];
  }

  void Arrive(const std::string& name, Handle gradient) {
    Handle& slot = gradients_[name];
    if (slot == nullptr) {
      slot = std::move(gradient);
      return;
    }
    const std::string moment = "gradients of " + name + " added up";
    const long own = slot == gradient ? 2 : 1;
    if (slot.use_count() == own) {
      heap_.Measure(moment);
    } else if (gradient.use_count() == own) {
      heap_.Measure(moment);
      slot = std::move(gradient);
    } else {
      Handle sum = New(BytesOf(name));
      heap_.Measure(moment);
      slot = std::move(sum);
    }
  }

  void Backward() {
    for (const std::string& loss : losses_) gradients_[loss] = New(BytesOf(loss));
    std::set<std::string> done_again;
    for (size_t i = spec_.operations.size(); i-- > 0;) {
      if (!GoesBack(i)) continue;
      const GraphOperation& op = spec_.operations[i];
      if (IsCheckpointed(i) && done_again.insert(op.segment).second) RunAgain(i);
      Handle dy = std::move(gradients_[op.output]);
      gradients_.erase(op.output);
      std::vector<std::pair<std::string, Handle>> made;
      for (size_t k = 0; k < op.inputs.size(); ++k) {
        if (!Needs(i, k)) continue;
        const std::string& input = op.inputs[k];
        made.emplace_back(input, PassesOn(op, input) ? dy : New(BytesOf(input)));
      }
      heap_.Measure("backward of " + op.name);
      tape_[i].clear();
      dy.reset();
      for (auto& [name, handle] : made) {
        Handle gradient = std::move(handle);
        Arrive(name, std::move(gradient));
      }
    }
  }

  const GraphSpec& spec_;
  const bool checkpointed_;
  Heap heap_;
  std::map<std::string, int64_t> counts_;
  std::map<std::string, DataType> types_;
  std::map<std::string, std::string> base_;
  std::set<std::string> wants_;
  std::set<std::string> reached_;
  std::set<std::string> results_;  // storages that something nobody reads looks at
  Names losses_;
  std::map<std::string, Handle> env_;
  Handles given_;
  Handles state_;
  std::vector<Handles> tape_;  // by operation: for its backward pass
  std::vector<Handles> kept_;  // by operation: to do it again
  std::map<std::string, Handle> gradients_;
};

// For graphs that RandomGraphs makes, with the shapes of all their tensors.
inline MemoryTally SimulateStep(const GraphSpec& spec, const std::map<std::string, Shape>& shapes,
                                bool checkpointed) {
  return Simulation(spec, shapes, checkpointed).Run();
}

}  // namespace sextant::naive

#endif  // SEXTANT_TESTS_ENGINE_OPERATION_NAIVE_MEMORY_H_
