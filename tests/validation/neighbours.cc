#include "tests/validation/neighbours.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tests/validation/request.h"

namespace sextant {
namespace {

// "72 layers of 14336, 64 heads", or a preset's name.
std::string ModelText(const v1::ModelSpec& model) {
  if (!model.has_architecture()) return model.preset();
  const v1::Architecture& shape = model.architecture();
  int64_t layers = 0;
  for (const v1::Architecture::LayerRun& run : shape.decoder().layers()) layers += run.count();
  const int64_t heads =
      shape.layer_kinds().empty() ? 0 : shape.layer_kinds(0).attention().head_count();
  return absl::StrCat(layers, " layers of ", shape.hidden_size(), ", ", heads, " heads");
}

// "bf16"
std::string TypeText(v1::DataType type) {
  return absl::AsciiStrToLower(absl::StripPrefix(v1::DataType_Name(type), "DATA_TYPE_"));
}

int DifferencesOf(const MeasuredCase& a, const MeasuredCase& b) {
  const std::vector<std::string> mine = SettingsOf(a);
  const std::vector<std::string> other = SettingsOf(b);
  int out = 0;
  for (size_t i = 0; i < std::min(mine.size(), other.size()); ++i)
    out += mine[i] != other[i] ? 1 : 0;
  return out;
}

double DistanceOf(const Answer& a, const Answer& b) {
  const auto process = [](const Answer& answer) {
    return answer.all_fields.Of(MemoryDefinition::kProcess).expected();
  };
  return std::abs(process(a) - process(b));
}

// Equal devices with as much memory.
bool OnEqualDevices(const MeasuredCase& a, const MeasuredCase& b) {
  const v1::ClusterSpec& mine = a.all_fields.cluster();
  const v1::ClusterSpec& other = b.all_fields.cluster();
  return mine.device().accelerator() == other.device().accelerator() &&
         mine.device_memory_bytes() == other.device_memory_bytes();
}

}  // namespace

std::vector<std::string> SettingsOf(const MeasuredCase& run) {
  const v1::PlanRunRequest& request = run.all_fields;
  const v1::RunLayout& layout = request.layout();
  const auto size = [](bool given, int64_t value) { return given ? value : 1; };
  const v1::ParallelLayout& p = layout.parallel();
  return {
      ModelText(request.model()),
      absl::StrCat("tensor ", size(p.has_tensor_parallel_size(), p.tensor_parallel_size())),
      absl::StrCat("pipeline ", size(p.has_pipeline_parallel_size(), p.pipeline_parallel_size())),
      absl::StrCat("data ", DataParallelSize(request)),
      absl::StrCat("ZeRO ", std::max(0, layout.sharding().zero_stage() - 1)),
      absl::StrCat("micro-batch ", layout.micro_batch_size()),
      absl::StrCat("gradients in ", TypeText(request.training().precision().gradient_data_type()))};
}

const Answer* NearestThatFits(const Answer& run, const std::vector<Answer>& answers) {
  const Answer* best = nullptr;
  std::pair<int, double> least;
  for (const Answer& other : answers) {
    if (other.run.ran_out || other.run.source != run.run.source) continue;
    if (!OnEqualDevices(other.run, run.run)) continue;
    const std::pair<int, double> far = {DifferencesOf(run.run, other.run), DistanceOf(run, other)};
    if (best != nullptr && far >= least) continue;
    best = &other;
    least = far;
  }
  return best;
}

}  // namespace sextant
