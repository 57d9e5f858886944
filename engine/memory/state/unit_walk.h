// The units that ZeRO stage 3 gathers one after the other: a layer each, in the order of the
// forward pass.
#ifndef SEXTANT_ENGINE_MEMORY_STATE_UNIT_WALK_H_
#define SEXTANT_ENGINE_MEMORY_STATE_UNIT_WALK_H_

#include <algorithm>
#include <cstdint>

#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/sharding/layer_placement.h"

namespace sextant {

// Walks by runs of equal layers, the encoder's before the decoder's, modules of multi-token
// prediction last. Allocates nothing.
class UnitWalk {
 public:
  UnitWalk(const ArchitectureSpec& spec, const LayerRange& range)
      : spec_(spec), left_in_range_(range.count) {
    left_in_run_ = CountOf(run_);
    Skip(range.first);
  }

  bool done() const { return left_in_range_ == 0; }
  // Equal layers from here on.
  int64_t left() const { return std::min(left_in_run_, left_in_range_); }
  ModelPart part() const {
    return IsModules()                          ? ModelPart::kMultiTokenPrediction
           : run_ < spec_.encoder.layers.size() ? ModelPart::kEncoder
                                                : ModelPart::kDecoder;
  }
  // -1 of modules of multi-token prediction.
  int layer_kind() const { return IsModules() ? -1 : RunAt(run_).layer_kind; }
  bool frozen() const { return !IsModules() && RunAt(run_).frozen; }

  // By at most left().
  void Advance(int64_t layers) {
    left_in_range_ -= layers;
    Skip(layers);
  }

 private:
  size_t RunCount() const { return spec_.encoder.layers.size() + spec_.decoder.layers.size(); }
  bool IsModules() const { return run_ >= RunCount(); }
  const LayerRun& RunAt(size_t i) const {
    const size_t encoder = spec_.encoder.layers.size();
    return i < encoder ? spec_.encoder.layers[i] : spec_.decoder.layers[i - encoder];
  }
  int64_t CountOf(size_t i) const {
    if (i < RunCount()) return RunAt(i).count;
    return spec_.multi_token_prediction.has_value() ? spec_.multi_token_prediction->module_count
                                                    : 0;
  }
  void Skip(int64_t layers) {
    while (layers >= left_in_run_ && run_ < RunCount()) {
      layers -= left_in_run_;
      left_in_run_ = CountOf(++run_);
    }
    left_in_run_ -= layers;
  }

  const ArchitectureSpec& spec_;
  int64_t left_in_range_;
  int64_t left_in_run_ = 0;
  size_t run_ = 0;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_STATE_UNIT_WALK_H_
