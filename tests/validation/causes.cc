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
     "what a compiled layer keeps under full recomputation, the copies that fp8 products make, and "
     "PyTorch's buffers to receive each micro-batch of a pipeline's step in are not described",
     [](const Answer& a, MemoryDefinition) { return Has(a, kTraitCompiled); }},
    {"experts under Megatron-FSDP",
     "what it gathers of experts, and holds for them besides, is not described; without experts "
     "its "
     "rows are within 2 %",
     [](const Answer& a, MemoryDefinition) { return Has(a, kTraitFsdp) && Has(a, kTraitExperts); }},
    {"a dispatcher that gathers",
     "Megatron-LM's `allgather` dispatcher gives every rank the tokens of all expert parallel "
     "ranks "
     "and their routing; the ledger has those alone that its experts take, in even shares",
     [](const Answer& a, MemoryDefinition) { return Has(a, kTraitGatheringDispatcher); }},
    {"shares of experts",
     "tokens are routed as the router learns, and the logged rank's share is not published; the "
     "ledger has even shares, and not the dispatcher's maps of indices",
     [](const Answer& a, MemoryDefinition) { return Has(a, kTraitExperts); }},
    {"BERT",
     "4 to 6 MiB a layer more under tensor parallelism than the same layers of a GPT, and some 50 "
     "MiB on the last of 8 stages in fp16: what keeps them was not found",
     [](const Answer& a, MemoryDefinition) { return Has(a, kTraitBert); }},
    {"workspaces of PyTorch on Blackwell",
     "older releases take 8.125 MiB for each cuBLAS handle there, the newest 32 MiB, which is what "
     "is assumed",
     [](const Answer& a, MemoryDefinition) { return Has(a, kTraitNewestWorkspace); }},
    {"without Transformer Engine",
     "Megatron-LM's own layers; in the one row far off the package was not installed, so that "
     "fallbacks ran that keep more",
     [](const Answer& a, MemoryDefinition) { return Has(a, kTraitLocalLayers); }},
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
