#include "engine/operation/graph_memory.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/base/field_violation.h"

namespace sextant {
namespace {

// Parameters and their state are in memory anyway.
bool CountsAsSaved(StorageKind kind) {
  switch (kind) {
    case StorageKind::kInput:
    case StorageKind::kTable:
    case StorageKind::kActivation:
    case StorageKind::kStatistic:
      return true;
    default:
      return false;
  }
}

}  // namespace

size_t Ledger::Next(LedgerMoment moment) {
  moments_.push_back(moment);
  return moments_.size() - 1;
}

size_t Ledger::Add(GraphStorage storage, size_t moment) {
  entries_.push_back({.storage = std::move(storage),
                      .first = moment,
                      .last = moment,
                      .held = false,
                      .saved_by = {}});
  return entries_.size() - 1;
}

size_t Ledger::AddHeld(GraphStorage storage) {
  const size_t number = Add(std::move(storage), 0);
  Hold(number);
  return number;
}

void Ledger::Touch(size_t storage, size_t moment) {
  entries_[storage].last = std::max(entries_[storage].last, moment);
}

void Ledger::Hold(size_t storage) { entries_[storage].held = true; }

void Ledger::Rename(size_t storage, std::string name, StorageKind kind) {
  entries_[storage].storage.name = std::move(name);
  entries_[storage].storage.kind = kind;
}

void Ledger::Saves(size_t storage, absl::string_view operation, absl::string_view reason) {
  Entry& entry = entries_[storage];
  if (entry.first >= forward_end_ || !CountsAsSaved(entry.storage.kind)) return;
  entry.saved_by.push_back({std::string(operation), std::string(reason)});
}

std::string Ledger::TextOf(size_t moment) const {
  const auto& [kind, name] = moments_[moment];
  switch (kind) {
    case MomentKind::kForward:
      return absl::StrCat("forward of ", name);
    case MomentKind::kRecompute:
      return absl::StrCat("forward of ", name, ", computed again");
    case MomentKind::kBackward:
      return absl::StrCat("backward of ", name);
    case MomentKind::kAccumulation:
      return absl::StrCat("gradients of ", name, " added up");
    case MomentKind::kUpdate:
      break;
  }
  return "update";
}

// Uses the bytes that come and go at each moment: no sum exceeds that of all storages.
size_t Ledger::PeakPhase() const {
  std::vector<int64_t> change(moments_.size() + 1, 0);
  for (const Entry& entry : entries_) {
    change[entry.first] += entry.storage.size.value();
    if (!entry.held) change[entry.last + 1] -= entry.storage.size.value();
  }
  size_t peak = 0;
  int64_t most = 0;
  int64_t now = 0;
  for (size_t i = 0; i < moments_.size(); ++i) {
    now += change[i];
    if (now <= most) continue;
    most = now;
    peak = i;
  }
  return peak;
}

absl::StatusOr<GraphMemory> Ledger::Close() const {
  CheckedInt all = 0;
  for (const Entry& entry : entries_) all = all + entry.storage.size.value();
  if (!all.ok()) {
    return InvalidField("operations",
                        "the arrays of a training step have more than 9.2e18 bytes: write smaller "
                        "sizes");
  }
  GraphMemory out;
  const size_t peak = PeakPhase();
  out.peak_moment = TextOf(peak);
  for (const Entry& entry : entries_) {
    if (IsThereAt(entry, peak)) {
      out.at_peak.push_back(entry.storage);
      out.peak_bytes = out.peak_bytes + entry.storage.size;
    }
    if (entry.saved_by.empty()) continue;
    out.saved.push_back({entry.storage, entry.saved_by});
    out.saved_bytes = out.saved_bytes + entry.storage.size;
  }
  return out;
}

}  // namespace sextant
