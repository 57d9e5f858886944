// The time of state in host memory: copies over the host link, and the optimizer's step on the
// host. Derivation: docs/step_time.md, "Offload".
#ifndef SEXTANT_ENGINE_TIME_OFFLOAD_TIME_H_
#define SEXTANT_ENGINE_TIME_OFFLOAD_TIME_H_

#include <cstdint>

#include "engine/base/units.h"
#include "engine/memory/ledger/memory_job.h"
#include "engine/model/sharding/sharded_weights.h"

namespace sextant {

struct HostRates {
  BytesPerSecond link = {};    // copies of one device in one direction
  BytesPerSecond update = {};  // the optimizer's step of all devices of a node
};

// Seconds on one rank of a stage.
struct OffloadSeconds {
  // Each time.
  double weights = 0;    // the rank's shard, to the device
  double gradients = 0;  // to the host, or back
  double addition = 0;   // of a micro-batch's gradients to those before, on the host
  // Once per step, after the last micro-batch.
  double copies = 0;  // gradients to the host where they wait for the step; updated weights back
  double update = 0;
};

struct OffloadInput {
  const MemoryJob& job;
  const StageWeights& weights;
  double shard_bytes = 0;  // the rank's weights as they are stored
  int64_t node_ranks = 1;  // ranks that share a node's host
  HostRates rates = {};
};

// Nothing where the job offloads nothing. Copies take the host's memory, too: a rank's part of the
// update rate bounds them.
OffloadSeconds OffloadSecondsOf(const OffloadInput& in);

// Seconds of a micro-batch's passes, and of the exchanges of shards in each.
struct ShardPasses {
  double forward = 0;
  double backward = 0;
  double forward_exchange = 0;
  double backward_exchange = 0;
  bool gathers_again = true;  // weights for the backward pass
};

// Time that offloading adds to a micro-batch, on average over those of a step.
struct OffloadExposed {
  double forward = 0;   // copies
  double backward = 0;  // likewise
  double addition = 0;  // on the host, in the backward pass

  double copies() const { return forward + backward; }
};

// A pass hides copies and exchanges one after the other: an exchange needs what was copied. The two
// directions of the link don't disturb each other. `slowness` is that of the host.
OffloadExposed ExposedOf(const OffloadSeconds& offload, const MemoryJob& job,
                         const ShardPasses& passes, double slowness);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_OFFLOAD_TIME_H_
