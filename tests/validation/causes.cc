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
     "another run of the source asks the same question on the same hardware, and its figure is "
     "more "
     "than 10 % away: golden values of two releases of the framework, most of them in `lts` "
     "containers",
     [](const Answer& a, MemoryDefinition) { return Has(a, kContradicted); }},
    {"samples shorter than the maximum",
     "litgpt's table has the longest length that a sample may have, not the lengths of its "
     "samples, "
     "and doesn't say how the gradients of several micro-batches are kept; rows of 1 and of 4 GPUs "
     "have the same figure",
     [](const Answer& a, MemoryDefinition) { return Has(a, kTraitShorterSamples); }},
    {"torch.compile and fp8",
     "not described: the tensors that a compiled layer keeps under full recomputation, and the "
     "copies that fp8 products make",
     [](const Answer& a, MemoryDefinition) { return Has(a, kTraitCompiled); }},
    {"experts under Megatron-FSDP",
     "the buffers that it gathers experts in are not described; rows without experts are within "
     "2 %",
     [](const Answer& a, MemoryDefinition) { return Has(a, kTraitFsdp) && Has(a, kTraitExperts); }},
    {"shares of experts",
     "the router sends more tokens to some experts, most of all in the first steps, and the share "
     "of the logged rank is not published; the request has even shares (expert_load_factor 1)",
     [](const Answer& a, MemoryDefinition) { return Has(a, kTraitExperts); }},
    {"BERT",
     "under tensor parallelism a layer has 4 to 6 MiB more than the same layer of a GPT, and the "
     "last of 8 stages has some 50 MiB more in fp16; the tensors were not found",
     [](const Answer& a, MemoryDefinition) { return Has(a, kTraitBert); }},
    {"workspaces of PyTorch on Blackwell",
     "older releases take 8.125 MiB for each cuBLAS handle there, the newest 32 MiB, which is "
     "assumed",
     [](const Answer& a, MemoryDefinition) { return Has(a, kTraitNewestWorkspace); }},
    {"without Transformer Engine",
     "Megatron-LM's own layers; in the one row far off the package was not installed, and "
     "fallbacks "
     "ran that keep more",
     [](const Answer& a, MemoryDefinition) { return Has(a, kTraitLocalLayers); }},
    {"allocator's cache",
     "the share that the allocator reserves beyond what it hands out depends on the order of its "
     "sizes; the ledger adds one share to all, the median of SimuMax's runs",
     [](const Answer&, MemoryDefinition d) { return d == MemoryDefinition::kReserved; }},
    {"process of 2022",
     "nvidia-smi's figure in whole GB; communicators and cache of DeepSpeed of early 2022 are "
     "estimated",
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
