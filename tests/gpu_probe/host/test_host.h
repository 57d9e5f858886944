// A small host for testing workloads.
#ifndef SEXTANT_TESTS_GPU_PROBE_HOST_TEST_HOST_H_
#define SEXTANT_TESTS_GPU_PROBE_HOST_TEST_HOST_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gpu_probe/host/builtin_matmul.h"
#include "gpu_probe/host/host_context.h"
#include "gpu_probe/host/simd.h"

namespace sextant::probe {

// oneDNN's threads are OpenMP's and never end, and the leak checker can't read their thread-local
// storage: under it the library gets no threads of its own, or is missing.
#ifdef __SANITIZE_ADDRESS__
inline const CoreSet kOnednnCores = {.numbers = {0}, .pinned = false};
inline constexpr char kOnednnLibrary[] = "/nowhere";
#else
inline const CoreSet kOnednnCores = {.numbers = {0, 1}, .pinned = false};
inline constexpr char kOnednnLibrary[] = "";
#endif

inline std::unique_ptr<ThreadTeam> UnpinnedTeam(int thread_count) {
  return *ThreadTeam::Create(
      {.numbers = std::vector<int>(static_cast<size_t>(thread_count)), .pinned = false});
}

inline SharedContext SmallHost(int thread_count = 2, int64_t cap_bytes = int64_t{64} << 20) {
  auto context = std::make_shared<HostContext>();
  context->features = DetectCpuFeatures();
  context->cache_bytes = 1 << 20;
  context->team = UnpinnedTeam(thread_count);
  context->memory = std::make_unique<MemoryBudget>(cap_bytes);
  context->builtin = std::make_unique<BuiltinEngine>(WidestSimd(context->features),
                                                     context->team.get(), context->memory.get());
  return context;
}

// All levels that this processor supports.
inline std::vector<SimdLevel> LevelsHere() {
  std::vector<SimdLevel> levels;
  for (const SimdLevel level : {SimdLevel::kBase, SimdLevel::kAvx2, SimdLevel::kAvx512}) {
    if (level <= WidestSimd(DetectCpuFeatures())) levels.push_back(level);
  }
  return levels;
}

inline v1::MatmulShape ShapeOf(v1::DataType type, int64_t m, int64_t n, int64_t k) {
  v1::MatmulShape shape;
  shape.set_data_type(type);
  shape.set_m(m);
  shape.set_n(n);
  shape.set_k(k);
  return shape;
}

}  // namespace sextant::probe

#endif  // SEXTANT_TESTS_GPU_PROBE_HOST_TEST_HOST_H_
