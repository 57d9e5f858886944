// Pipeline stages as Megatron-LM's arguments give them, and patterns of its layers.
#ifndef SEXTANT_CLIENT_LAUNCHER_MEGATRON_PIPELINE_H_
#define SEXTANT_CLIENT_LAUNCHER_MEGATRON_PIPELINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/launcher/setting.h"

namespace sextant::client {

// Writes the stages of a run: how many, their chunks, and how many layers each has where that is
// not the same number; and reads them. Chunks that are not all alike take --num-layers.
void WritePipeline(const Setting& setting, Writing& writing);
void ReadPipeline(const Setting& setting, Reading& reading);

// The layers of each chunk of a --pipeline-model-parallel-layout such as "Et*3|(tt|)*2,m|L", in the
// order of the forward pass. Errors: kInvalidArgument, saying what to write.
absl::StatusOr<std::vector<int64_t>> ChunksOf(absl::string_view layout);

// The layers that have experts, of `layer_count`, by a --moe-layer-freq: "2" is every second one
// from the first on, "([0]*3+[1]*58)" a list. Errors: kInvalidArgument, saying what to write.
absl::StatusOr<std::vector<bool>> ExpertLayers(absl::string_view frequency, int64_t layer_count);

// The list's text: "([0]*3+[1]*58)".
std::string ExpertLayersText(const std::vector<bool>& layers);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_LAUNCHER_MEGATRON_PIPELINE_H_
