// What is wrong with the devices of a run, taken by themselves.
#ifndef SEXTANT_ENGINE_RUN_CHECK_CLUSTER_H_
#define SEXTANT_ENGINE_RUN_CHECK_CLUSTER_H_

#include <cstdint>

#include "engine/base/field_violation.h"
#include "engine/memory/fit.h"
#include "engine/run/run_spec.h"

namespace sextant {

inline constexpr int64_t kMaxDevices = 1'000'000;

// Appends to `violations` ranges, devices named in no way or in several, named twice, of
// different products, or more than device_count. Names are looked up elsewhere.
void CheckCluster(const ClusterSpec& cluster, FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_CHECK_CLUSTER_H_
