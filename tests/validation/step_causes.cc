#include "tests/validation/step_causes.h"

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace sextant {
namespace {

struct KnownRow {
  absl::string_view id;
  absl::string_view why;
};

constexpr absl::string_view kNoFusedKernel =
    "its heads had no fused attention on Blackwell, which is predicted; the rest is not known";

constexpr KnownRow kKnownRows[] = {
    {"bloom-chronicles-prequel-068", "its batch is 0.77 of its neighbour's, its time 0.99"},
    {"bloom-chronicles-prequel-104", "other counts of heads on this shape take 12 to 15 % less"},
    {"bloom-chronicles-prequel-060", "other counts of heads on this shape take 12 to 15 % less"},
    {"llm-foundry-benchmarks-080", "26 % slower than its neighbours"},
    {"llm-foundry-benchmarks-140", "25 % slower than its neighbours"},
    {"llm-foundry-benchmarks-179", "20 % slower than its neighbours of 16 and 64 GPUs"},
    {"megatron-bridge-performance-summary-022",
     "4.48 s here and 2.83 s in -044: one release, the same columns"},
    {"megatron-bridge-performance-summary-227", "51 s here, 29 s in -190 of the same month"},
    {"megatron-bridge-performance-summary-193",
     "49.6 s here, 22.1 s in -103, where the host starts half as many micro-batches"},
    {"megatron-bridge-performance-summary-229",
     "48.7 s here, 22.1 s in -103, where the host starts half as many micro-batches"},
    {"megatron-bridge-performance-summary-262",
     "24.8 s here with exchanges overlapped, 12.5 s in -290 without, whose tokens are dropped"},
    {"megatron-bridge-performance-summary-021",
     "4.04 s here, 2.47 s in -043: the same columns, another release"},
    {"megatron-bridge-performance-summary-220",
     "9.8 s here, 5.4 s in -183: experts over 64 GPUs, or over 8"},
    {"nvidia-dgx-cloud-benchmarking-319", kNoFusedKernel},
    {"nvidia-dgx-cloud-benchmarking-320", kNoFusedKernel},
    {"nvidia-dgx-cloud-benchmarking-321", kNoFusedKernel},
};

// Of all rows of a kind.
struct KnownKind {
  bool (*holds)(const StepRow& row);
  absl::string_view why;
};

constexpr KnownKind kKnownKinds[] = {
    {[](const StepRow& row) { return row.stack == "deepspeed_zero3_2021"; },
     "ZeRO-3 of 2021, which waits for what later releases overlap"},
    {[](const StepRow& row) { return absl::StartsWith(row.model, "gpt-oss"); },
     "sinks of attention are not timed; experts of before 26.06 take several kernels for one"},
    {[](const StepRow& row) { return row.hardware == "B200, limited"; },
     "a power limit that the source doesn't state"},
    {[](const StepRow& row) { return row.stack == "pytorch_ddp" || row.stack == "generic"; },
     "a script's own kernels, with no stack of their own"},
    {[](const StepRow& row) { return row.format == "nvfp4"; },
     "recipes of 4 bits keep some layers wider"},
};

}  // namespace

std::string StepCauseOf(const StepCase& each) {
  for (const KnownRow& row : kKnownRows) {
    if (each.row.id == row.id) return std::string(row.why);
  }
  for (const KnownKind& kind : kKnownKinds) {
    if (kind.holds(each.row)) return std::string(kind.why);
  }
  return "";
}

}  // namespace sextant
