#include "tests/validation/causes.h"

#include <string>

#include "tests/validation/contradictions.h"
#include "tests/validation/traits.h"

namespace sextant {
namespace {

bool Has(const Answer& answer, absl::string_view trait) {
  return answer.run.traits.count(std::string(trait)) > 0;
}

constexpr Cause kCauses[] = {
    {"contradicted",
     "another run of the source that is the same question, on the same hardware, is more than 10 % "
     "away: a golden value of another release of the framework, most of them of `lts` containers",
     [](const Answer& a, MemoryDefinition) { return Has(a, kContradicted); }},
    {"samples shorter than the maximum",
     "litgpt's table says how long a sample may be, not how long they are, nor how the gradients "
     "of "
     "several micro-batches are kept; rows of 1 and of 4 GPUs have the same figure, as if both "
     "were "
     "of one GPU",
     [](const Answer& a, MemoryDefinition) { return Has(a, kTraitShorterSamples); }},
    {"torch.compile and fp8",
     "what a compiled layer keeps under full recomputation, and the copies that fp8 products make, "
     "are not described",
     [](const Answer& a, MemoryDefinition) { return Has(a, kTraitCompiled); }},
    {"allocator's cache",
     "the share that the allocator reserves beyond what it hands out follows its history of sizes; "
     "the ledger adds one share to all, the median of SimuMax's runs",
     [](const Answer&, MemoryDefinition d) { return d == MemoryDefinition::kReserved; }},
    {"process of 2022",
     "read off nvidia-smi in whole GB: context, communicators and cache of DeepSpeed of early 2022 "
     "are estimated",
     [](const Answer&, MemoryDefinition d) { return d == MemoryDefinition::kProcess; }},
};

}  // namespace

absl::Span<const Cause> Causes() { return kCauses; }

const Cause* CauseOf(const Answer& answer, MemoryDefinition definition) {
  for (const Cause& cause : kCauses) {
    if (cause.holds(answer, definition)) return &cause;
  }
  return nullptr;
}

}  // namespace sextant
