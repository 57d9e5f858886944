// Runs of torchtitan: its job configuration in TOML, written and read.
// Source: torchtitan/config/job_config.py of v0.2.2; later ones are configured in Python.
#ifndef SEXTANT_CLIENT_LAUNCHER_TORCHTITAN_H_
#define SEXTANT_CLIENT_LAUNCHER_TORCHTITAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/launcher/launched_run.h"

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

// The fields that it can express.
absl::Span<const Expressible> TorchtitanFields();

// The configuration's sections that a plan decides. Dataset, checkpoints and learning rate are the
// user's, on the command line or in a file of their own.
//
// Errors: kInvalidArgument naming every flag of the request that torchtitan has no setting for.
absl::StatusOr<LauncherFile> WriteTorchtitan(const LaunchedRun& run);

// Reads one. Where `with_model` is false its model is passed over.
//
// Errors: kInvalidArgument naming every wrong setting.
absl::StatusOr<LauncherRead> ReadTorchtitan(const std::string& text, bool with_model);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_LAUNCHER_TORCHTITAN_H_
