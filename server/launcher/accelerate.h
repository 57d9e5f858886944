// accelerate: what its reader and its writer share.
// Source: src/accelerate/commands/launch.py, utils/launch.py and parallelism_config.py of
// huggingface/accelerate @16cb6eb8.
#ifndef SEXTANT_SERVER_LAUNCHER_ACCELERATE_H_
#define SEXTANT_SERVER_LAUNCHER_ACCELERATE_H_

#include "server/launcher/setting.h"

namespace sextant::server {

// Writers of its rows.
void WriteAccelerateEngine(const Setting& setting, Writing& writing);
void WriteAcceleratePrecision(const Setting& setting, Writing& writing);
void WriteAccelerateState(const Setting& setting, Writing& writing);
void WriteAccelerateZero(const Setting& setting, Writing& writing);
void WriteAccelerateOffload(const Setting& setting, Writing& writing);
void WriteAccelerateGroups(const Setting& setting, Writing& writing);
void WriteAccelerateRecompute(const Setting& setting, Writing& writing);

// Fields that the training script decides, listed as left out where a run has them.
void LeaveToScript(const Setting& setting, Writing& writing);
constexpr Setting Scripts(const char* field, const char* only = nullptr) {
  return Takes(field, only).Written(LeaveToScript);
}

// A row that is read alone.
inline void WriteNothing(const Setting&, Writing&) {}

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_ACCELERATE_H_
