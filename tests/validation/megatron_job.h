// A Megatron-LM run but for its model.
#ifndef SEXTANT_TESTS_VALIDATION_MEGATRON_JOB_H_
#define SEXTANT_TESTS_VALIDATION_MEGATRON_JOB_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "sextant/v1/planning_service.pb.h"
#include "tests/validation/megatron_arguments.h"

namespace sextant {

struct MegatronMachine {
  std::string accelerator = {};  // a name of the catalogue
  int64_t gpu_count = 0;         // a multiple of what a replica takes
};

// GPUs of one replica: tensor x pipeline x context parallel size.
int64_t GpusOfReplica(const MegatronArguments& arguments);

// True where a GPU's memory depends on the number of GPUs: shards of ZeRO.
bool SharesState(const MegatronArguments& arguments);

// True where layers are Transformer Engine's; false for Megatron-LM's own.
bool UsesTransformerEngine(const MegatronArguments& arguments);

// Sets all of `out` but its model and devices' name. Errors: kInvalidArgument with the reason why
// the run can't be described.
absl::Status SetMegatronJob(const MegatronArguments& arguments, const MegatronMachine& machine,
                            v1::PlanRunRequest& out);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_MEGATRON_JOB_H_
