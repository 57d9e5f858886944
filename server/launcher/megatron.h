// Rows of Megatron-LM's table that are described apart from it.
#ifndef SEXTANT_SERVER_LAUNCHER_MEGATRON_H_
#define SEXTANT_SERVER_LAUNCHER_MEGATRON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/launcher/setting.h"
#include "sextant/v1/architecture.pb.h"

namespace sextant::server {

// The model, in megatron_model.cc.

// The tables of its arguments.
std::vector<absl::Span<const Setting>> ModelTables();

// Writes the run's model. What Megatron-LM's GPT model lacks is refused, by the model's name.
void WriteModel(const Setting& setting, Writing& writing);

// Reads the model, where --num-layers or --hidden-size gives one. Its layers are named "dense" and
// "experts". A model takes --vocab-size, although Megatron-LM itself may ask the tokenizer.
void ReadModel(const Setting& setting, Reading& reading);

// Its shape, in gpt_shape.cc.

// The layers of a GPT model: those with a feed-forward, and those with experts.
struct GptShape {
  const v1::LayerKind* dense = nullptr;
  const v1::LayerKind* experts = nullptr;
  std::vector<bool> layers = {};  // true: of experts
  // By Megatron-LM's two switches.
  bool linear_bias = false;           // on all matrices
  bool query_key_value_bias = false;  // on those alone

  const v1::LayerKind& any() const { return dense != nullptr ? *dense : *experts; }
};

// Fills in the shape of `model`, which it points into. Returns the part that no argument gives:
// "windows or chunks of attention"; "" for a GPT model.
std::string FindGptShape(const v1::Architecture& model, GptShape* shape);

// The pipeline and patterns of layers, in megatron_pipeline.cc.

// Writes the stages of a run: how many, their chunks, and how many layers each has where that is
// not the same number; and reads them. Chunks that are not all alike take --num-layers.
void WritePipeline(const Setting& setting, Writing& writing);
void ReadPipeline(const Setting& setting, Reading& reading);

// The layers that have experts, of `layer_count`, by a --moe-layer-freq: "2" is every second one
// from the first on, "([0]*3+[1]*58)" a list. Errors: kInvalidArgument, saying what to write.
absl::StatusOr<std::vector<bool>> ExpertLayers(absl::string_view frequency, int64_t layer_count);

// The list's text: "([0]*3+[1]*58)".
std::string ExpertLayersText(const std::vector<bool>& layers);

// Precision, the optimizer, the types of its states and recomputation, in megatron_training.cc.
void ReadPrecision(const Setting& setting, Reading& reading);
void WritePrecision(const Setting& setting, Writing& writing);
void ReadOptimizer(const Setting& setting, Reading& reading);
void WriteOptimizer(const Setting& setting, Writing& writing);
void ReadStates(const Setting& setting, Reading& reading);
void WriteStates(const Setting& setting, Writing& writing);
void ReadRecompute(const Setting& setting, Reading& reading);
void WriteRecompute(const Setting& setting, Writing& writing);

// A batch that grows while it trains, in megatron_ramp.cc. Steps become tokens there.
void ReadRamp(const Setting& setting, Reading& reading);
void WriteRamp(const Setting& setting, Writing& writing);

// The table with the arguments of a model too.
absl::Span<const Setting> AllMegatronSettings();

// Rows of arguments that change nothing that is planned, in megatron_passed.cc, and of those that
// matter and that no field stands for, in megatron_open.cc.
absl::Span<const Setting> MegatronPassed();
absl::Span<const Setting> MegatronOpen();

// Overlaps, dispatchers and graphs, in megatron_overlap.cc.
void ReadDataOverlap(const Setting& setting, Reading& reading);
void WriteDataOverlap(const Setting& setting, Writing& writing);
void ReadTensorOverlap(const Setting& setting, Reading& reading);
void WriteTensorOverlap(const Setting& setting, Writing& writing);
void ReadSends(const Setting& setting, Reading& reading);
void WriteSends(const Setting& setting, Writing& writing);
void ReadDispatcher(const Setting& setting, Reading& reading);
void WriteDispatcher(const Setting& setting, Writing& writing);
void ReadCapacity(const Setting& setting, Reading& reading);
void ReadUnfusedActivation(const Setting& setting, Reading& reading);
void ReadGraphs(const Setting& setting, Reading& reading);

// Who holds the state, and how much of it each rank has, in megatron_sharding.cc. Arguments of
// Megatron-DeepSpeed make the framework DeepSpeed.
void ReadFrameworkKind(const Setting& setting, Reading& reading);
void ReadSharding(const Setting& setting, Reading& reading);
void WriteSharding(const Setting& setting, Writing& writing);

// The tensors that context parallel ranks exchange.
void ReadContextKind(const Setting& setting, Reading& reading);
void WriteContextKind(const Setting& setting, Writing& writing);

// True where one grouped product multiplies all experts of a GPU: by default in Megatron-Bridge.
bool GroupsExperts(const LaunchedRun& run);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_MEGATRON_H_
