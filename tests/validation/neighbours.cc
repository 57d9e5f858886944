#include "tests/validation/neighbours.h"

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/model/architecture/weight_tensor.h"

namespace sextant {
namespace {

int64_t LayersOf(const ArchitectureSpec& model) {
  int64_t out = 0;
  for (const LayerRun& run : model.decoder.layers) out += run.count;
  return out;
}

int64_t HeadsOf(const ArchitectureSpec& model) {
  const auto& kinds = model.layer_kinds;
  return kinds.empty() || !kinds[0].attention.has_value() ? 0 : kinds[0].attention->head_count;
}

int DifferencesOf(const MeasuredCase& a, const MeasuredCase& b) {
  const std::vector<std::string> mine = SettingsOf(a);
  const std::vector<std::string> other = SettingsOf(b);
  int out = 0;
  for (size_t i = 0; i < mine.size(); ++i) out += mine[i] != other[i] ? 1 : 0;
  return out;
}

int64_t DistanceOf(const Answer& a, const Answer& b) {
  return std::abs(a.memory.total().value() - b.memory.total().value());
}

}  // namespace

std::vector<std::string> SettingsOf(const MeasuredCase& run) {
  const MemoryJob& job = run.job;
  const StateSharding& sharding = job.state.sharding;
  return {absl::StrCat(LayersOf(run.model), " layers of ", run.model.hidden_size),
          absl::StrCat(HeadsOf(run.model), " heads"),
          absl::StrCat("tensor ", job.layout.tensor_parallel_size),
          absl::StrCat("pipeline ", job.layout.pipeline_parallel_size),
          absl::StrCat("data ", sharding.data_parallel_size),
          absl::StrCat("ZeRO ", static_cast<int>(sharding.zero_stage)),
          absl::StrCat("micro-batch ", job.batch.sequence_count),
          absl::StrCat("gradients in ", DataTypeName(job.state.precision.gradient_data_type))};
}

const Answer* NearestThatFits(const Answer& run, const std::vector<Answer>& answers) {
  const Answer* best = nullptr;
  std::pair<int, int64_t> least;
  for (const Answer& other : answers) {
    if (other.run.ran_out || other.run.source != run.run.source) continue;
    if (other.run.device_memory != run.run.device_memory) continue;
    const std::pair<int, int64_t> far = {DifferencesOf(run.run, other.run), DistanceOf(run, other)};
    if (best != nullptr && far >= least) continue;
    best = &other;
    least = far;
  }
  return best;
}

}  // namespace sextant
