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
  bool first = false;  // its one point is marked `first`
};

// The points marked `first`, each a group of its own with one pass; then the other points, a
// group a phase, in the order in which the plan first names the phases, but for the phase of the
// last first point: it comes next to that one, so that the two can share what they work on.
std::vector<Group> GroupsOf(const std::vector<Point>& points);

// One turn of a point.
struct Visit {
  size_t point = 0;
  int pass = 0;
};

// All turns of a group: pass after pass, each with the points that want so many, in a new
// random order where there is more than one pass. The same seed gives the same order.
std::vector<Visit> VisitsOf(const Group& group, const std::vector<Point>& points, uint64_t seed);

// Samples of one visit where its point is visited `pass_count` times.
struct VisitQuota {
  size_t minimum = 0;
  size_t maximum = 0;
};
VisitQuota QuotaOf(int pass_count);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_VISIT_PLAN_H_
