// A model's shape, read from arguments of Megatron-LM.
#ifndef SEXTANT_CLIENT_LAUNCHER_READ_MEGATRON_MODEL_H_
#define SEXTANT_CLIENT_LAUNCHER_READ_MEGATRON_MODEL_H_

#include "client/launcher/megatron_arguments.h"
#include "sextant/v1/model.pb.h"

namespace sextant::client {

// Reads the model, where --num-layers or --hidden-size gives one. Its layers are named "dense" and
// "experts". A model takes --vocab-size, although Megatron-LM itself may ask the tokenizer.
void ReadModel(MegatronArguments* arguments, v1::ModelSpec* out);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_LAUNCHER_READ_MEGATRON_MODEL_H_
