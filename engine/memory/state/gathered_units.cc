#include "engine/memory/state/gathered_units.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "engine/memory/state/state_rules.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/sharding/layer_placement.h"

namespace sextant {
namespace {

// The layers of a chunk, and the multi-token prediction modules that follow the very last one.
struct UnitsOfChunk {
  absl::Span<const LayerPiece> pieces = {};
  int64_t modules = 0;
};

// The units that ZeRO stage 3 gathers in sequence: one layer each, in the order of the forward
// pass. Walks runs of equal layers, multi-token prediction modules last. Allocates nothing.
class UnitWalk {
 public:
  explicit UnitWalk(const UnitsOfChunk& units) : units_(units) { left_ = CountOf(piece_); }

  bool done() const { return left_ == 0; }
  // Number of equal layers from here on.
  int64_t left() const { return left_; }
  ModelPart part() const {
    return is_modules() ? ModelPart::kMultiTokenPrediction : units_.pieces[piece_].part;
  }
  // -1 for multi-token prediction modules.
  int layer_kind() const { return is_modules() ? -1 : units_.pieces[piece_].layer_kind; }
  bool frozen() const { return !is_modules() && units_.pieces[piece_].frozen; }

  // Advances by at most left() layers.
  void Advance(int64_t layers) {
    left_ -= layers;
    if (left_ == 0 && !is_modules()) left_ = CountOf(++piece_);
  }
  // Advances by any number of layers that there are.
  void Skip(int64_t layers) {
    while (layers > 0) {
      const int64_t step = std::min(layers, left_);
      Advance(step);
      layers -= step;
    }
  }

 private:
  bool is_modules() const { return piece_ == units_.pieces.size(); }
  int64_t CountOf(size_t piece) const {
    return piece == units_.pieces.size() ? units_.modules : units_.pieces[piece].layers.count;
  }

  const UnitsOfChunk units_;
  int64_t left_ = 0;  // of the piece
  size_t piece_ = 0;
};

// The gathered amounts of a unit.
struct UnitSize {
  int64_t elements = 0;
  int64_t scale_bytes = 0;
  int64_t quantized = 0;
  int64_t quantized_scale_bytes = 0;
  int64_t gradients = 0;

  void Add(const UnitSize& unit, int64_t count) {
    elements += unit.elements * count;
    scale_bytes += unit.scale_bytes * count;
    quantized += unit.quantized * count;
    quantized_scale_bytes += unit.quantized_scale_bytes * count;
  }
};

// The sizes of one kind of layer in one part, trained and frozen.
struct LayerUnit {
  ModelPart part = ModelPart::kDecoder;
  int layer_kind = -1;
  UnitSize trained = {};
  UnitSize frozen = {};
};

constexpr char kUnitsSource[] =
    "PyTorch FSDP; Rajbhandari et al. 2020 (arXiv 1910.02054) section 5.3; docs/memory.md";

DataType GatheredType(const PrecisionPolicy& precision) {
  const DataType computed = StorageFor(precision.compute_data_type);
  const bool narrower = StorageBytes(computed) < StorageBytes(precision.weight_data_type);
  return narrower ? computed : precision.weight_data_type;
}

class Units {
 public:
  Units(const StageStateContext& context, const StateRanks& ranks, int64_t stage)
      : context_(context),
        state_(context.state),
        ranks_(ranks),
        stage_(stage),
        element_bytes_(StorageBytes(GatheredType(state_.precision))) {
    context.weights.ForEachTensor(
        stage, [this](const WeightTensor& tensor, const TensorShard& shard, const KindLayers& l) {
          Add(tensor, shard, l);
        });
  }

  const UnitSize& root() const { return root_; }

  // The unit of the layer at `walk`; empty where it has no tensors. Units are in the order of the
  // model's tensors: by part, and by kind.
  const UnitSize& At(const UnitWalk& walk) const {
    const auto key = std::make_pair(walk.part(), walk.layer_kind());
    const auto unit = std::lower_bound(layers_.begin(), layers_.end(), key,
                                       [](const LayerUnit& u, const auto& wanted) {
                                         return std::make_pair(u.part, u.layer_kind) < wanted;
                                       });
    if (unit == layers_.end() || std::make_pair(unit->part, unit->layer_kind) != key) return none_;
    return walk.frozen() ? unit->frozen : unit->trained;
  }

  // Bytes of the unit's weights, as its rows list them.
  int64_t BytesOf(const UnitSize& unit) const {
    return unit.elements * element_bytes_ + unit.scale_bytes + unit.quantized_scale_bytes +
           SizeOf({.elements = unit.quantized}, QuantizedBits(state_.frozen));
  }

  UnitsOfChunk ChunkOf(int64_t chunk) const {
    const bool last = stage_ == context_.weights.stage_count() - 1 && chunk == chunk_count() - 1;
    const auto& modules = context_.spec.multi_token_prediction;
    return {.pieces = context_.weights.placement().PiecesOf(stage_, chunk),
            .modules = last && modules.has_value() ? modules->module_count : 0};
  }

  // Units of the chunk.
  int64_t CountOf(int64_t chunk) const {
    return context_.weights.placement().ChunkOf(stage_, chunk).count + ChunkOf(chunk).modules;
  }

  int64_t chunk_count() const { return context_.layout.virtual_stage_count; }

 private:
  void Add(const WeightTensor& tensor, const TensorShard& shard, const KindLayers& layers) {
    const bool shared = ranks_.of(shard.group) > 1;
    const StateSharding& s = state_.sharding;
    const Gathers gathers = {
        .weights = DividesParameters(s) && (shared || s.offload_parameters),
        .gradients = (DividesParameters(s) && shared) || OffloadsGradients(state_)};
    if (tensor.part == ModelPart::kMultiTokenPrediction) {
      AddTensor(tensor, shard, layers.not_frozen > 0, gathers, UnitOf(tensor.part, -1).trained);
    } else if (tensor.layer_kind < 0) {
      AddTensor(tensor, shard, layers.not_frozen > 0, gathers, root_);
    } else {
      LayerUnit& unit = UnitOf(tensor.part, tensor.layer_kind);
      const bool adapter = tensor.component == WeightComponent::kAdapter;
      AddTensor(tensor, shard, tensor.trainable_layers > 0, gathers, unit.trained);
      AddTensor(tensor, shard, adapter, gathers, unit.frozen);
    }
  }

  struct Gathers {
    bool weights;
    bool gradients;
  };

  void AddTensor(const WeightTensor& tensor, const TensorShard& shard, bool trained,
                 const Gathers& gathers, UnitSize& unit) const {
    if (gathers.gradients && trained) unit.gradients += shard.elements();
    if (!gathers.weights) return;
    if (!trained && IsQuantized(state_.frozen, tensor)) {
      unit.quantized += shard.elements();
      unit.quantized_scale_bytes += QuantizedScaleBytes(state_.frozen, shard);
      return;
    }
    unit.elements += shard.elements();
    if (element_bytes_ == 1) {
      unit.scale_bytes += Fp8ScaleBytes(state_.weight_scaling, shard, false);
    }
  }

  LayerUnit& UnitOf(ModelPart part, int layer_kind) {
    if (layers_.empty() || layers_.back().part != part || layers_.back().layer_kind != layer_kind) {
      layers_.push_back({.part = part, .layer_kind = layer_kind});
    }
    return layers_.back();
  }

  const StageStateContext& context_;
  const StateSpec& state_;
  const StateRanks& ranks_;
  const int64_t stage_;
  const int64_t element_bytes_;
  const UnitSize none_ = {};
  UnitSize root_ = {};
  absl::InlinedVector<LayerUnit, 8> layers_;  // more kinds allocate
};

struct StageTotals {
  UnitSize layers = {};
  int64_t largest_gradient = 0;
};

StageTotals TotalsOf(const Units& units) {
  StageTotals out = {.layers = {}, .largest_gradient = units.root().gradients};
  for (int64_t chunk = 0; chunk < units.chunk_count(); ++chunk) {
    for (UnitWalk walk(units.ChunkOf(chunk)); !walk.done(); walk.Advance(walk.left())) {
      const UnitSize& unit = units.At(walk);
      out.layers.Add(unit, walk.left());
      out.largest_gradient = std::max(out.largest_gradient, unit.gradients);
    }
  }
  return out;
}

// `count` consecutive layers of a chunk, or all of a shorter one, and their bytes.
struct Window {
  int64_t chunk = 0;
  LayerRange layers = {};  // from the chunk's first one on
  int64_t bytes = -1;
};

// The sum is linear between ends of runs, so its maxima are at these ends.
void FindLargest(const Units& units, int64_t chunk, int64_t count, Window& largest) {
  Window window = {
      .chunk = chunk, .layers = {.count = std::min(count, units.CountOf(chunk))}, .bytes = 0};
  UnitWalk head(units.ChunkOf(chunk));
  for (int64_t left = window.layers.count; left > 0;) {
    const int64_t step = std::min(left, head.left());
    window.bytes += units.BytesOf(units.At(head)) * step;
    head.Advance(step);
    left -= step;
  }
  if (window.bytes > largest.bytes) largest = window;
  UnitWalk tail(units.ChunkOf(chunk));
  while (!head.done()) {
    const int64_t step = std::min(head.left(), tail.left());
    const int64_t change = units.BytesOf(units.At(head)) - units.BytesOf(units.At(tail));
    window.bytes += change * step;
    window.layers.first += step;
    head.Advance(step);
    tail.Advance(step);
    if (window.bytes > largest.bytes) largest = window;
  }
}

UnitSize LargestWindow(const Units& units, int64_t count) {
  Window largest;
  for (int64_t chunk = 0; chunk < units.chunk_count(); ++chunk) {
    FindLargest(units, chunk, count, largest);
  }
  UnitSize out;
  UnitWalk walk(units.ChunkOf(largest.chunk));
  walk.Skip(largest.layers.first);
  for (int64_t left = largest.layers.count; left > 0;) {
    const int64_t step = std::min(left, walk.left());
    out.Add(units.At(walk), step);
    walk.Advance(step);
    left -= step;
  }
  return out;
}

// The units in work, or as many elements as stay whole.
UnitSize GatheredLayers(const StateSpec& state, const Units& units, const StageTotals& totals) {
  const StateSharding& s = state.sharding;
  UnitSize out =
      s.reshard_after_forward ? LargestWindow(units, 1 + s.prefetched_unit_count) : totals.layers;
  const int64_t live =
      std::min(state.live_elements - units.root().elements, totals.layers.elements);
  out.elements = std::max(out.elements, live);
  return out;
}

void ListWeights(const StageStateContext& context, const UnitSize& unit, absl::string_view name,
                 StateList& list) {
  const DataType type = GatheredType(context.state.precision);
  LedgerRow row = {.module = "gathered_weights",
                   .name = name,
                   .shape = "whole units",
                   .data_type = type,
                   .element_bits = 8 * StorageBytes(type),
                   .elements = unit.elements,
                   .scale_bytes = unit.scale_bytes,
                   .alive = "from a unit's gathering to the end of its work",
                   .why = "a unit computes with whole weights",
                   .source = kUnitsSource};
  list.AddTransient(row);
  row.data_type = context.state.frozen.data_type;
  row.element_bits = QuantizedBits(context.state.frozen);
  row.elements = unit.quantized;
  row.scale_bytes = unit.quantized_scale_bytes;
  list.AddTransient(row);
}

// The gradients of the largest unit.
struct UnitGradients {
  DataType reduced;   // the type in which they travel
  DataType computed;  // of a copy from which the former is filled; kUnspecified: no copy

  int64_t element_bytes() const {
    const int64_t copy = computed == DataType::kUnspecified ? 0 : StorageBytes(computed);
    return StorageBytes(reduced) + copy;
  }
};

UnitGradients UnitGradientsOf(const StateSpec& state) {
  const DataType computed = GatheredType(state.precision);
  const DataType kept = state.precision.gradient_data_type;
  return {.reduced = state.reduces_as_computed ? computed : kept,
          .computed = state.copies_reduced_units ? computed : DataType::kUnspecified};
}

void ListGradients(absl::string_view name, DataType type, int64_t elements, StateList& list) {
  list.AddTransient({.module = "gathered_gradients",
                     .name = name,
                     .shape = "a whole unit",
                     .data_type = type,
                     .element_bits = 8 * StorageBytes(type),
                     .elements = elements,
                     .alive = "from a unit's backward pass until it is reduced or sent off",
                     .why = "gradients are computed whole before they are sharded",
                     .source = kUnitsSource});
}

}  // namespace

GatheredSizes GatheredSizesOf(const StageStateContext& context, const StateRanks& ranks,
                              int64_t stage, StateList& list) {
  const Units units(context, ranks, stage);
  const StageTotals totals = TotalsOf(units);
  const UnitSize layers = GatheredLayers(context.state, units, totals);
  const UnitGradients gradients = UnitGradientsOf(context.state);
  if (list.has_rows()) {
    ListWeights(context, units.root(), "root", list);
    ListWeights(context, layers, "layers", list);
    ListGradients("largest_unit", gradients.reduced, totals.largest_gradient, list);
    if (gradients.computed != DataType::kUnspecified) {
      ListGradients("largest_unit_computed", gradients.computed, totals.largest_gradient, list);
    }
  }
  return {.weights = units.BytesOf(units.root()) + units.BytesOf(layers),
          .gradients = totals.largest_gradient * gradients.element_bytes()};
}

}  // namespace sextant
