// What a run of Megatron-LM computes and keeps: precision, optimizer and recomputation, as
// arguments.
#ifndef SEXTANT_CLIENT_LAUNCHER_MEGATRON_TRAINING_H_
#define SEXTANT_CLIENT_LAUNCHER_MEGATRON_TRAINING_H_

#include "client/launcher/setting.h"

namespace sextant::client {

// Rows of Megatron-LM's table: the types that are computed with and stored.
void ReadPrecision(const Setting& setting, Reading& reading);
void WritePrecision(const Setting& setting, Writing& writing);

// The optimizer, and the types of its states.
void ReadOptimizer(const Setting& setting, Reading& reading);
void WriteOptimizer(const Setting& setting, Writing& writing);
void ReadStates(const Setting& setting, Reading& reading);
void WriteStates(const Setting& setting, Writing& writing);

void ReadRecompute(const Setting& setting, Reading& reading);
void WriteRecompute(const Setting& setting, Writing& writing);

// True where one grouped product multiplies all experts of a GPU: by default in Megatron-Bridge.
bool GroupsExperts(const LaunchedRun& run);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_LAUNCHER_MEGATRON_TRAINING_H_
