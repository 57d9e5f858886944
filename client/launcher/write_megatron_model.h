// A model's shape, written as arguments of Megatron-LM.
#ifndef SEXTANT_CLIENT_LAUNCHER_WRITE_MEGATRON_MODEL_H_
#define SEXTANT_CLIENT_LAUNCHER_WRITE_MEGATRON_MODEL_H_

#include "client/launcher/launched_run.h"
#include "client/launcher/megatron_arguments.h"

namespace sextant::client {

// Writes `run.model`. What Megatron-LM's GPT model lacks is added to `refusals`, by the model's
// name.
void WriteModel(const LaunchedRun& run, MegatronText* out, Refusals* refusals);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_LAUNCHER_WRITE_MEGATRON_MODEL_H_
