// The models that torchtitan knows, and how it cuts them into pipelines.
#ifndef SEXTANT_CLIENT_LAUNCHER_TORCHTITAN_MODELS_H_
#define SEXTANT_CLIENT_LAUNCHER_TORCHTITAN_MODELS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/launcher/setting.h"

namespace sextant::client {

// A model that torchtitan knows, and the preset of the same shape.
struct TorchtitanModel {
  const char* name;
  const char* flavor;
  const char* preset;
  int64_t layer_count;
};

// Those known; nullptr where none is.
const TorchtitanModel* ModelOfPreset(const std::string& preset);
const TorchtitanModel* ModelOfFlavor(const std::string& name, const std::string& flavor);

// Layers of each of `stages` chunks as torchtitan deals them out, the embedding counted as `first`
// layers and the output head as `last` (generate_llm_fqn_per_model_part() of
// torchtitan/distributed/pipeline_parallel.py). Empty where it refuses to.
std::vector<int64_t> LayersPerChunk(int64_t layers, int64_t stages, int64_t first, int64_t last);

// The row of its table that has the number of stages: all that is said about them.
void ReadPipelineDegree(const Setting& setting, Reading& reading);
void WritePipelineDegree(const Setting& setting, Writing& writing);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_LAUNCHER_TORCHTITAN_MODELS_H_
