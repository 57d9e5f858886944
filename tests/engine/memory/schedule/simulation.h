// A pipeline that runs the orders of all of its stages, one unit of time a pass, and counts what
// each stage holds. It knows what a pass waits for, and nothing of schedules.
#ifndef SEXTANT_TESTS_ENGINE_MEMORY_SCHEDULE_SIMULATION_H_
#define SEXTANT_TESTS_ENGINE_MEMORY_SCHEDULE_SIMULATION_H_

#include <cstdint>
#include <vector>

#include "engine/memory/schedule/in_flight.h"
#include "engine/memory/schedule/schedule_order.h"

namespace sextant {

// As a backward pass, a half of one, or a weight gradient began.
struct SimulatedPoint {
  ScheduleWork begins = ScheduleWork::kBackward;
  int64_t chunk = 0;
  std::vector<int64_t> counts;  // held, chunk by chunk, and then awaiting a weight gradient

  friend bool operator==(const SimulatedPoint&, const SimulatedPoint&) = default;
};

struct SimulatedStage {
  std::vector<SimulatedPoint> points;
  std::vector<int64_t> left;  // `counts` at the end
  int64_t passes = 0;         // forward, input gradient and weight gradient: three of each
  int64_t start = 0;          // of its first pass
  int64_t end = 0;
};

struct Simulation {
  bool deadlock = false;
  bool repeated = false;  // a pass ran twice
  std::vector<SimulatedStage> stages;

  // The longest that a stage stood still between its first and its last pass.
  int64_t Bubble() const;
};

// A forward pass, an input gradient and a weight gradient take a unit of time each, and passes that
// run together as long as one after the other.
Simulation Simulate(const PipelineSpec& pipeline, const ParallelLayout& layout);

// The same of a point that InFlight lists.
SimulatedPoint Listed(const InFlightPoint& point, int64_t chunk_count);

// The bytes of a point.
int64_t BytesOf(const SimulatedPoint& point, const std::vector<ChunkBytes>& chunks);

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_MEMORY_SCHEDULE_SIMULATION_H_
