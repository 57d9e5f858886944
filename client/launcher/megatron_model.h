// A model's shape as arguments of Megatron-LM, written and read.
#ifndef SEXTANT_CLIENT_LAUNCHER_MEGATRON_MODEL_H_
#define SEXTANT_CLIENT_LAUNCHER_MEGATRON_MODEL_H_

#include <vector>

#include "absl/types/span.h"
#include "client/launcher/setting.h"

namespace sextant::client {

// The tables of its arguments.
std::vector<absl::Span<const Setting>> ModelTables();

// Writes the run's model. What Megatron-LM's GPT model lacks is refused, by the model's name.
void WriteModel(const Setting& setting, Writing& writing);

// Reads the model, where --num-layers or --hidden-size gives one. Its layers are named "dense" and
// "experts". A model takes --vocab-size, although Megatron-LM itself may ask the tokenizer.
void ReadModel(const Setting& setting, Reading& reading);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_LAUNCHER_MEGATRON_MODEL_H_
