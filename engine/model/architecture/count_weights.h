// The exact parameter count of any architecture.
#ifndef SEXTANT_ENGINE_MODEL_ARCHITECTURE_COUNT_WEIGHTS_H_
#define SEXTANT_ENGINE_MODEL_ARCHITECTURE_COUNT_WEIGHTS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/weight_tensor.h"

namespace sextant {

// Larger models are rejected; the largest ever announced has about 1e13.
inline constexpr int64_t kMaxParameterCount = 1'000'000'000'000'000;

// Parameters. Active parameters are those used by one token: experts_per_token of the routed
// experts, and everything else.
struct WeightCount {
  int64_t total = 0;
  int64_t active = 0;
  int64_t trainable = 0;  // not frozen, and updated by gradients

  friend bool operator==(const WeightCount&, const WeightCount&) = default;
};

// The layers of one kind in one part of the model.
struct LayerKindCount {
  ModelPart part;
  int layer_kind;
  int64_t layers = 0;
  int64_t total_per_layer = 0;
  int64_t active_per_layer = 0;
  WeightCount all_layers = {};
};

struct ArchitectureCount {
  WeightCount all = {};
  int64_t embedding = 0;  // components with IsEmbedding()
  int64_t padding = 0;    // of `embedding`: vocabulary padding rows
  std::array<WeightCount, kWeightComponentCount> by_component{};
  std::array<WeightCount, kModelPartCount> by_part{};
  std::vector<LayerKindCount> by_layer_kind = {};

  int64_t non_embedding() const { return all.total - embedding; }
  int64_t active_non_embedding() const { return all.active - embedding; }
  const WeightCount& of(WeightComponent c) const { return by_component[static_cast<size_t>(c)]; }
  const WeightCount& of(ModelPart p) const { return by_part[static_cast<size_t>(p)]; }
};

// Sums `tensors`; those of one part and kind of layer are adjacent (WeightsOf()).
// Errors: kInvalidArgument naming `path` where the total exceeds kMaxParameterCount.
absl::StatusOr<ArchitectureCount> CountWeights(const WeightTensors& tensors,
                                               absl::string_view path);

// Checks `spec`, whose fields are at `path`, and counts it.
// Errors: kInvalidArgument with all that CheckArchitecture() finds, or CountWeights()'s.
absl::StatusOr<ArchitectureCount> CountArchitecture(const ArchitectureSpec& spec,
                                                    absl::string_view path);

// A named way to add up a model's parameters.
struct PublishedTotal {
  absl::string_view name;        // "main_model"
  absl::string_view definition;  // "without multi-token prediction"
  absl::string_view example;     // a model whose files have that total
  int64_t parameter_count = 0;
};

// The totals of a model of `spec`, counted as `count`, in which it may be published: all of it
// first, then those that differ from it. Derived in docs/architecture.md, "Published totals".
std::vector<PublishedTotal> PublishedTotalsOf(const ArchitectureSpec& spec,
                                              const ArchitectureCount& count);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_ARCHITECTURE_COUNT_WEIGHTS_H_
