// The ranks that divide the state of DeepSpeed's ZeRO stage 3, and the weights that it keeps whole.
#ifndef SEXTANT_SERVER_LAUNCHER_DEEPSPEED_SHARDS_H_
#define SEXTANT_SERVER_LAUNCHER_DEEPSPEED_SHARDS_H_

#include "server/launcher/setting.h"

namespace sextant::server {

// Ranks that divide a shard (MiCS).
void ReadDeepspeedGroup(const Setting& setting, Reading& reading);
void WriteDeepspeedGroup(const Setting& setting, Writing& writing);

// Ranks that divide a second shard of the weights (ZeRO++). Without effect at other stages.
void ReadSecondaryGroup(const Setting& setting, Reading& reading);
void WriteSecondaryGroup(const Setting& setting, Writing& writing);

// Gathered weights stay until they are more than the live ones, or until their next use is farther
// away than the distance: the smaller one counts. Without effect at other stages.
// Source: deepspeed/runtime/zero/config.py of DeepSpeed 0.17.
void ReadLiveElements(const Setting& setting, Reading& reading);
void WriteLiveElements(const Setting& setting, Writing& writing);

// Numbers that a step updates at a time: no field has another number than the default.
void ReadSubgroups(const Setting& setting, Reading& reading);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_DEEPSPEED_SHARDS_H_
