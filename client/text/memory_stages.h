// The pipeline stages of a run's memory, with equal neighbours joined.
#ifndef SEXTANT_CLIENT_TEXT_MEMORY_STAGES_H_
#define SEXTANT_CLIENT_TEXT_MEMORY_STAGES_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sextant/v1/memory.pb.h"

namespace sextant::client {

struct MemoryKind {
  v1::LedgerKind kind;
  char letter;
  const char* name;  // for one row's bytes or for many
};

// In the order of bars, from the left.
inline constexpr std::array<MemoryKind, 8> kMemoryKinds = {{
    {v1::LEDGER_KIND_WEIGHT, 'W', "weights"},
    {v1::LEDGER_KIND_GRADIENT, 'G', "gradients"},
    {v1::LEDGER_KIND_MASTER_WEIGHT, 'M', "master weights"},
    {v1::LEDGER_KIND_OPTIMIZER_STATE, 'O', "optimizer state"},
    {v1::LEDGER_KIND_ACTIVATION, 'A', "activations"},
    {v1::LEDGER_KIND_TRANSIENT, 't', "transients"},
    {v1::LEDGER_KIND_COMMUNICATION_BUFFER, 'b', "communication buffers"},
    {v1::LEDGER_KIND_FRAMEWORK_RESERVE, 'r', "framework reserve"},
}};

// Neighbours that hold the same, by their indices.
struct StageRun {
  int first = 0;
  int last = 0;
  int left_out_before = 0;  // stages between the run before and this one
};

std::vector<StageRun> StageRunsOf(const v1::Memory& memory);

// The runs that a page has room for: of more than 64 the first ones, the last ones and those around
// the stage with the peak.
std::vector<StageRun> ShownStageRuns(const v1::Memory& memory);

// "3", or "1-6".
std::string StageRunName(const v1::Memory& memory, const StageRun& run);

// True where the stage with the peak is in the run.
bool HoldsThePeak(const v1::Memory& memory, const StageRun& run);

// Bytes of one kind; 0 where there are none.
int64_t BytesOf(const v1::StageMemory& stage, v1::LedgerKind kind);

// "in the backward pass of a layer".
std::string PhaseWords(v1::PeakPhase phase);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_TEXT_MEMORY_STAGES_H_
