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
    {"allocator's cache",
     "the share that the allocator reserves beyond what it hands out follows its history of sizes; "
     "the ledger adds one share to all, the median of SimuMax's runs",
     [](const Answer&, MemoryDefinition d) { return d == MemoryDefinition::kReserved; }},
    {"process of 2022",
     "read off nvidia-smi in whole GB: context, communicators and cache of DeepSpeed of early 2022 "
     "are estimated, and its bf16 optimizer's gradients in 16 bits beside those in fp32 are not "
     "described",
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
