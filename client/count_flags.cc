#include "client/count_flags.h"

#include <iterator>

#include "absl/strings/match.h"
#include "client/flag_words.h"
#include "client/plan_flags.h"

namespace sextant {
namespace {

constexpr FieldFlag kFlags[] = {
    {"--recompute", "step.recompute", "what the backward pass computes again", kStepGroup},
    {"--expert-capacity-factor", "step.expert_capacity_factor",
     "slots of the experts over tokens routed, e.g. 1.25", kStepGroup},

    {"--tensor-parallel-size,--tp", "layout.tensor_parallel_size", "ranks that share a matrix",
     kLayoutGroup},
    {"--pipeline-parallel-size,--pp", "layout.pipeline_parallel_size", "stages of layers",
     kLayoutGroup},
    {"--virtual-stage-count,--vpp,--virtual-stages", "layout.virtual_stage_count",
     "chunks of layers on each stage", kLayoutGroup},
    {"--expert-parallel-size,--ep", "layout.expert_parallel_size",
     "ranks that the experts are dealt out to", kLayoutGroup},
    {"--expert-tensor-parallel-size,--etp", "layout.expert_tensor_parallel_size",
     "ranks that share an expert; default: --tp", kLayoutGroup},
    {"--split-key-value-heads", "layout.split_key_value_heads",
     "--tp above the heads of keys: part them, don't copy", kLayoutGroup},
};

constexpr char kArchitecture[] = "model.architecture";
constexpr char kConfig[] = "model.hugging_face_config";

constexpr FieldFlag kChunksFlag = {"--layers-per-chunk", "layout.layers_per_chunk", ""};

// Read otherwise than by their field's type alone.
constexpr FieldFlag kOtherFlags[] = {
    {"--sequence", "step.sequences", ""},  kChunksFlag,
    {"--architecture", kArchitecture, ""}, {"MODEL", kConfig, ""},
    {"MODEL", "model.preset", ""},
};

}  // namespace

std::vector<FieldFlag> CountFlags() {
  std::vector<FieldFlag> flags(std::begin(kFlags), std::end(kFlags));
  for (const PlanFlag& flag : PlanFlags()) {
    if (!absl::StartsWith(flag.field, "model.changes.")) continue;
    flags.push_back({flag.names, flag.field, flag.help, flag.group});
  }
  return flags;
}

std::string CountFieldWords(const std::string& field) {
  if (field == "model") return "MODEL";
  std::vector<FieldFlag> flags = CountFlags();
  flags.insert(flags.end(), std::begin(kOtherFlags), std::end(kOtherFlags));
  return FieldWordsOf(flags, field);
}

std::string CountDescriptionWords(const std::string& text) {
  std::vector<FieldFlag> flags = CountFlags();
  flags.push_back(kChunksFlag);
  return DescriptionWordsOf(flags, text);
}

}  // namespace sextant
