// A Megatron-LM run but for its model.
#ifndef SEXTANT_TESTS_VALIDATION_MEGATRON_JOB_H_
#define SEXTANT_TESTS_VALIDATION_MEGATRON_JOB_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "engine/memory/ledger/memory_job.h"
#include "tests/validation/megatron_arguments.h"

namespace sextant {

struct MegatronMachine {
  int compute_capability = 0;  // its first digit
  int64_t gpu_count = 0;       // a multiple of what a replica takes
};

// GPUs of one replica: tensor x pipeline x context parallel size.
int64_t GpusOfReplica(const MegatronArguments& arguments);

// True where a GPU's memory depends on the number of GPUs: shards of ZeRO.
bool SharesState(const MegatronArguments& arguments);

// True where layers are Transformer Engine's; false for Megatron-LM's own.
bool UsesTransformerEngine(const MegatronArguments& arguments);

// Errors: kInvalidArgument with the reason why it can't be described.
absl::StatusOr<MemoryJob> MegatronJob(const MegatronArguments& arguments,
                                      const MegatronMachine& machine);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_MEGATRON_JOB_H_
