// The order in which points are measured, and the number of samples of each visit.
#ifndef SEXTANT_GPU_PROBE_SAMPLING_ROUNDS_H_
#define SEXTANT_GPU_PROBE_SAMPLING_ROUNDS_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "gpu_probe/point.h"

namespace sextant::probe {

// Points whose workloads exist at the same time, by their indices in the plan.
struct Group {
  std::vector<size_t> points;
  int pass_count = 1;
  int level = 0;
  bool first = false;  // the first pass of its one point, which is marked `first`
};

// The points marked `first`, each in a group of its own with only its first pass, in the lowest
// level; then one group for each phase of each level, with the phase's other points and all further
// passes. Levels ascend. Within a level phases are in the plan's order, with two exceptions: those
// whose points are visited once come before those of several passes, which can use whatever time is
// left; and those with only repeated first points come last, to be as late as possible. In the
// lowest level the phase of the last first point directly follows it, so that the two can share
// data. A first point of several passes whose phase is visited once comes again by itself.
std::vector<Group> GroupsOf(const std::vector<Point>& points);

// One turn of a point.
struct Visit {
  size_t point = 0;
  int pass = 0;
};

// All visits of a group: pass after pass, each with the points that want that many passes, in a new
// random order where there is more than one pass. The same seed gives the same order. In a phase's
// group the points marked `first` have had their first pass.
std::vector<Visit> VisitsOf(const Group& group, const std::vector<Point>& points, uint64_t seed);

// The number of samples in one visit, for a point that is visited `pass_count` times.
struct VisitQuota {
  size_t minimum = 0;
  size_t maximum = 0;
};
VisitQuota QuotaOf(int pass_count);

// Shuffles the same way everywhere: std::shuffle's draws depend on the library. Fisher and Yates's
// algorithm: all orders are equally likely, up to a remainder's bias below size / 2^64.
inline void Shuffle(std::mt19937_64& random, std::vector<size_t>* values) {
  for (size_t left = values->size(); left > 1; --left) {
    std::swap((*values)[left - 1], (*values)[random() % left]);
  }
}

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_SAMPLING_ROUNDS_H_
