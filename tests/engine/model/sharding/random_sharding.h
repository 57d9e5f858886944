// Random small models with layouts that fit them.
#ifndef SEXTANT_TESTS_ENGINE_MODEL_SHARDING_RANDOM_SHARDING_H_
#define SEXTANT_TESTS_ENGINE_MODEL_SHARDING_RANDOM_SHARDING_H_

#include <cstdint>

#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/sharding/parallel_layout.h"

namespace sextant {

struct RandomSharding {
  ArchitectureSpec spec;
  ParallelLayout layout;
};

// Draws every kind that can be described: decoders, encoders and both, latent and grouped
// attention, experts, adapters, frozen layers, multi-token prediction, uneven stages.
RandomSharding DrawSharding(uint32_t seed);

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_MODEL_SHARDING_RANDOM_SHARDING_H_
