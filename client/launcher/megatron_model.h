// A model's shape as arguments of Megatron-LM, written and read.
#ifndef SEXTANT_CLIENT_LAUNCHER_MEGATRON_MODEL_H_
#define SEXTANT_CLIENT_LAUNCHER_MEGATRON_MODEL_H_

#include "client/launcher/launched_run.h"
#include "client/launcher/megatron_arguments.h"
#include "sextant/v1/model.pb.h"

namespace sextant::client {

// Writes `run.model`. What Megatron-LM's GPT model lacks is added to `refusals`, by the model's
// name.
void WriteModel(const LaunchedRun& run, MegatronText* out, Refusals* refusals);

// Reads the model, where --num-layers or --hidden-size gives one. Its layers are named "dense" and
// "experts". A model takes --vocab-size, although Megatron-LM itself may ask the tokenizer.
void ReadModel(MegatronArguments* arguments, v1::ModelSpec* out);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_LAUNCHER_MEGATRON_MODEL_H_
