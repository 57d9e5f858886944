#include "client/text/memory_stages.h"

#include <cstdlib>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

constexpr size_t kMaxRuns = 64;
constexpr int kEnds = 20;   // runs shown at either end
constexpr int kAround = 8;  // and on either side of the peak

// Compares rows, not sums: layers of two kinds can have the same size.
bool SameLedger(const v1::StageMemory& a, const v1::StageMemory& b) {
  return absl::c_equal(a.ledger(), b.ledger(), [](const v1::LedgerRow& x, const v1::LedgerRow& y) {
    return x.SerializeAsString() == y.SerializeAsString();
  });
}

bool Alike(const v1::StageMemory& a, const v1::StageMemory& b) {
  const auto same_sum = [](const v1::LedgerSum& x, const v1::LedgerSum& y) {
    return x.kind() == y.kind() && x.size_bytes() == y.size_bytes();
  };
  return a.layer_count() == b.layer_count() && a.parameter_count() == b.parameter_count() &&
         a.peak_phase() == b.peak_phase() && a.host_bytes() == b.host_bytes() &&
         absl::c_equal(a.micro_batches_in_flight(), b.micro_batches_in_flight()) &&
         absl::c_equal(a.sums(), b.sums(), same_sum) &&
         a.process_bytes().low() == b.process_bytes().low() &&
         a.process_bytes().high() == b.process_bytes().high() && SameLedger(a, b);
}

}  // namespace

std::vector<StageRun> StageRunsOf(const v1::Memory& memory) {
  std::vector<StageRun> runs;
  for (int i = 0; i < memory.stages_size(); ++i) {
    if (runs.empty() || !Alike(memory.stages(i - 1), memory.stages(i))) {
      runs.push_back({i, i});
    } else {
      runs.back().last = i;
    }
  }
  return runs;
}

std::vector<StageRun> ShownStageRuns(const v1::Memory& memory) {
  std::vector<StageRun> runs = StageRunsOf(memory);
  if (runs.size() <= kMaxRuns) return runs;
  const auto holds = [&memory](const StageRun& run) { return HoldsThePeak(memory, run); };
  const auto peak = static_cast<int>(absl::c_find_if(runs, holds) - runs.begin());
  const auto count = static_cast<int>(runs.size());
  std::vector<StageRun> shown;
  for (int i = 0; i < count; ++i) {
    if (i >= kEnds && i < count - kEnds && std::abs(i - peak) > kAround) continue;
    shown.push_back(runs[static_cast<size_t>(i)]);
    const int expect = shown.size() < 2 ? 0 : shown[shown.size() - 2].last + 1;
    shown.back().left_out_before = shown.back().first - expect;
  }
  return shown;
}

std::string StageRunName(const v1::Memory& memory, const StageRun& run) {
  const std::string first = absl::StrCat(memory.stages(run.first).stage());
  return run.first == run.last ? first : absl::StrCat(first, "-", memory.stages(run.last).stage());
}

bool HoldsThePeak(const v1::Memory& memory, const StageRun& run) {
  return run.first <= memory.peak_stage() && memory.peak_stage() <= run.last;
}

int64_t BytesOf(const v1::StageMemory& stage, v1::LedgerKind kind) {
  int64_t bytes = 0;
  for (const v1::LedgerSum& sum : stage.sums()) {
    if (sum.kind() == kind) bytes += sum.size_bytes();
  }
  return bytes;
}

std::string PhaseWords(v1::PeakPhase phase) {
  switch (phase) {
    case v1::PEAK_PHASE_FORWARD:
      return "in a forward pass";
    case v1::PEAK_PHASE_LOSS:
      return "while the loss is computed";
    case v1::PEAK_PHASE_HEAD_BACKWARD:
      return "in the backward pass of the head";
    case v1::PEAK_PHASE_LAYER_BACKWARD:
      return "in the backward pass of a layer";
    case v1::PEAK_PHASE_OPTIMIZER_STEP:
      return "in the optimizer's step";
    default:
      return EnumName(phase);
  }
}

}  // namespace sextant::client
