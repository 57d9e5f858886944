// In which order points are measured, and how many samples each visit of one takes.
#ifndef SEXTANT_GPU_PROBE_VISIT_PLAN_H_
#define SEXTANT_GPU_PROBE_VISIT_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu_probe/point.h"

namespace sextant {

// Points whose workloads are there at the same time, by their places in the plan.
struct Group {
  std::vector<size_t> points;
  int pass_count = 1;
  int level = 0;
  bool first = false;  // the first pass of its one point, which is marked `first`
};

// The points marked `first`, each a group of its own, for its first pass alone and of the lowest
// level; then the phases, a group each in every level, with their other points and all further
// passes. Levels ascend. Within a level phases are in the plan's order, but those whose points are
// visited once come before those of several passes, which make do with what time is left; and last
// those in which only first points come again, as late as can be. In the lowest level the phase of
// the last first point stays next to it, so that the two can share what they work on.
std::vector<Group> GroupsOf(const std::vector<Point>& points);

// One turn of a point.
struct Visit {
  size_t point = 0;
  int pass = 0;
};

// All turns of a group: pass after pass, each with the points that want so many, in a new
// random order where there is more than one pass. The same seed gives the same order. In a
// phase's group the points marked `first` have had their first pass.
std::vector<Visit> VisitsOf(const Group& group, const std::vector<Point>& points, uint64_t seed);

// Samples of one visit where its point is visited `pass_count` times.
struct VisitQuota {
  size_t minimum = 0;
  size_t maximum = 0;
};
VisitQuota QuotaOf(int pass_count);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_VISIT_PLAN_H_
