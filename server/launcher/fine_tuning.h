// What programs on Hugging Face's Trainer have in common, whatever they call their settings: the
// types of weights under each engine, optimizers, adapters, quantised bases, DeepSpeed's files.
#ifndef SEXTANT_SERVER_LAUNCHER_FINE_TUNING_H_
#define SEXTANT_SERVER_LAUNCHER_FINE_TUNING_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/launcher/setting.h"

namespace sextant::server {

// What divides state among ranks.
enum class TuningEngine { kNone, kFsdp, kDeepspeed };

// The types that a program loads and trains weights in.
struct TuningWeights {
  v1::DataType compute = v1::DATA_TYPE_FP32;
  // True where trained weights are loaded in `compute`, bf16 for narrower ones, and stay so, unless
  // the engine widens them.
  bool narrow = false;
};

// The precision of a run: of `optimizer` with or without adapters.
// Sources: accelerate, prepare_model() of accelerator.py and fsdp2_prepare_model() of
// utils/fsdp_utils.py @16cb6eb8: FSDP with mixed precision trains fp32 weights. DeepSpeed keeps an
// fp32 copy (deepspeed/runtime/bf16_optimizer.py @edaa7221). PEFT 0.17.0, autocast_adapter_dtype:
// adapters are fp32, which the API has as bf16 with an fp32 copy, of the same 16 bytes under Adam.
// Else torch's optimizers keep their state in the type of the weights.
v1::PrecisionPolicy TuningPrecision(TuningEngine engine, const TuningWeights& weights,
                                    const v1::PlanRunRequest& request);

// Sets the precision, the framework and the loss, once the rest was read.
void FinishTuning(TuningEngine engine, const TuningWeights& weights, Reading& reading);

// The optimizer that transformers' OptimizerNames calls so. Others are not understood, and may
// lower memory: what is counted then is AdamW.
void ReadTuningOptimizer(const std::string& path, const std::string& name, Reading& reading);
// Its name; "" where there is none.
std::string TuningOptimizerName(const v1::OptimizerSpec& optimizer);

// The model: a name on a hub, or a folder, whose config.json is wanted then.
void ReadTuningModel(const std::string& path, Reading& reading);

// Low-rank adapters of `rank` on modules by their names in transformers; the rest is frozen.
// "all-linear" and "all" are every matrix inside layers.
void SetAdapters(int64_t rank, const std::string& path, const std::vector<std::string>& modules,
                 Reading& reading);
// The modules that SetAdapters() takes for these targets; empty where one has no name.
std::vector<std::string> ModulesOf(const v1::ModelChanges::Adapters& adapters);

// A base that bitsandbytes quantises to 8 bits, or to 4 by blocks of 64.
// Source: bitsandbytes 0.49.0, Linear4bit (blocksize 64) and Linear8bitLt (scales of rows).
void SetQuantizedBase(int64_t bits, bool double_quantization, Reading& reading);

// The texts of a setting that is a list, or a text with commas.
std::vector<std::string> TextsAt(const std::string& path, Reading& reading);

// One of DeepSpeed's configurations that come with a program, by its name without a folder.
struct DeepspeedPreset {
  const char* name;
  v1::ZeroStage stage;
  bool offloads_optimizer = false;
  bool offloads_parameters = false;
};
// Reads the name of DeepSpeed's configuration: of one of `presets`, or a file that is wanted.
// A setting may also hold the configuration itself. True where there is one.
bool ReadDeepspeedName(const std::string& path, absl::Span<const DeepspeedPreset> presets,
                       Reading& reading);

// Logits chunk by chunk. Liger's kernel takes a power of two of tokens, those of a micro-batch over
// the vocabulary's size in hidden sizes, rounded up: at least 4 in Llama-2-70B, so that the chunk
// is an upper bound.
// Source: linkedin/Liger-Kernel, src/liger_kernel/ops/fused_linear_cross_entropy.py @ead96b61.
int64_t LigerChunkTokens(const v1::PlanRunRequest& request);
void SetChunkedLoss(Reading& reading);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_FINE_TUNING_H_
