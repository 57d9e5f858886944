// Random jobs of random models.
#ifndef SEXTANT_TESTS_ENGINE_MEMORY_LEDGER_RANDOM_JOB_H_
#define SEXTANT_TESTS_ENGINE_MEMORY_LEDGER_RANDOM_JOB_H_

#include <cstdint>

#include "engine/memory/ledger/memory_job.h"
#include "engine/model/architecture/architecture_spec.h"

namespace sextant {

struct RandomJob {
  ArchitectureSpec spec;
  MemoryJob job;
};

// The same job for the same seed. MemoryModel::Of() takes all of them.
RandomJob DrawJob(uint32_t seed);

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_MEMORY_LEDGER_RANDOM_JOB_H_
