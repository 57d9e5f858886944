#include "engine/memory/ledger/stage_memory.h"

#include <cmath>
#include <initializer_list>

#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

constexpr char kAlways[] = "always";
constexpr char kSource[] = "docs/memory.md, estimated";

// Beyond this, scaling by a double could overflow an int64.
constexpr int64_t kMaxAllocated = int64_t{1} << 58;

Bytes PartOf(Bytes size, double share) {
  return Bytes(RoundedInt(static_cast<double>(size.value()) * share));
}

BytesInterval OfShare(Bytes size, const Interval<double>& share) {
  return {PartOf(size, share.low), PartOf(size, share.expected), PartOf(size, share.high)};
}

// Allocated but not counted. Its two parts are one fit's: their ends go together.
BytesInterval UncountedOf(const ReserveSpec& reserve, Bytes counted) {
  const BytesInterval share = OfShare(counted, reserve.uncounted);
  const BytesInterval& fixed = reserve.uncounted_bytes;
  return {share.low + fixed.low, share.expected + fixed.expected, share.high + fixed.high};
}

// The interval of a sum of terms whose errors are independent: the distances of its ends from what
// is expected add up in squares. Source: the variance of a sum of independent terms.
BytesInterval SumOf(std::initializer_list<BytesInterval> terms) {
  Bytes expected(0);
  double below = 0;
  double above = 0;
  for (const BytesInterval& term : terms) {
    expected = expected + term.expected;
    below += std::pow(static_cast<double>((term.expected - term.low).value()), 2);
    above += std::pow(static_cast<double>((term.high - term.expected).value()), 2);
  }
  return {expected - Bytes(RoundedInt(std::sqrt(below))), expected,
          expected + Bytes(RoundedInt(std::sqrt(above)))};
}

LedgerRow RowOf(absl::string_view name, absl::string_view why, Bytes size) {
  return {.kind = LedgerKind::kFrameworkReserve,
          .module = "framework",
          .name = name,
          .element_kind = RowElements::kByte,
          .element_bits = 8,
          .elements = size.value(),
          .size = size,
          .alive = kAlways,
          .why = why,
          .source = kSource};
}

// The counted bytes and the workspace.
Bytes CountedOf(const ReserveSpec& reserve, const StageMemory& memory) {
  Bytes out = reserve.workspace;
  for (int i = 0; i < kLedgerKindCount; ++i) {
    const auto kind = static_cast<LedgerKind>(i);
    if (kind != LedgerKind::kFrameworkReserve) out = out + memory.of(kind);
  }
  return out;
}

}  // namespace

absl::StatusOr<ProcessMemory> ProcessMemoryOf(const ReserveSpec& reserve, CheckedInt counted,
                                              Bytes step_cache) {
  const CheckedInt worked = counted + reserve.workspace.value();
  if (!worked.ok() || worked.value() > kMaxAllocated) {
    return InvalidField("layout", "needs more than 2.8e17 bytes on a GPU");
  }
  const Bytes base(worked.value());
  ProcessMemory out;
  out.allocated = UncountedOf(reserve, base) + base;
  out.reserved = SumOf(
      {out.allocated, OfShare(out.allocated.expected, reserve.fragmentation), Exactly(step_cache)});
  out.process = SumOf({out.reserved, reserve.context, reserve.communicators});
  return out;
}

absl::StatusOr<StageMemory> AddReserve(const ReserveSpec& reserve, StageMemory memory) {
  const CheckedInt counted = memory.counted();
  SEXTANT_ASSIGN_OR_RETURN(const ProcessMemory held,
                           ProcessMemoryOf(reserve, counted, memory.step_cache));
  memory.allocated = held.allocated;
  memory.reserved = held.reserved;
  memory.process = held.process;
  memory.sums[static_cast<size_t>(LedgerKind::kFrameworkReserve)] =
      memory.process.expected - Bytes(counted.value());
  return memory;
}

void AppendReserveRows(const ReserveSpec& reserve, const StageMemory& memory, LedgerRows& rows) {
  const auto append = [&rows](absl::string_view name, absl::string_view why, Bytes size) {
    if (size > Bytes(0)) rows.push_back(RowOf(name, why, size));
  };
  append("workspace", "matrix libraries work in it", reserve.workspace);
  append("uncounted", "what frameworks hold and no row has",
         UncountedOf(reserve, CountedOf(reserve, memory)).expected);
  append("fragmentation", "the allocator has taken it and can't hand it out",
         memory.reserved.expected - memory.allocated.expected - memory.step_cache);
  append("step_cache", "flat copies of the optimizer step, which no freed activation has room for",
         memory.step_cache);
  append("context", "driver and loaded kernels", reserve.context.expected);
  append("communicators", "buffers of collective libraries", reserve.communicators.expected);
}

}  // namespace sextant
