// A fake of NVML's performance monitoring with scripted GPUs.
#ifndef SEXTANT_TESTS_SERVER_FAKE_GPM_H_
#define SEXTANT_TESTS_SERVER_FAKE_GPM_H_

#include <atomic>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include "server/gpu_activity/gpm_library.h"

namespace sextant::server {

inline constexpr gpm::Return kNotSupported = 3;
inline constexpr gpm::Return kNoPermission = 4;
inline constexpr gpm::Return kGpuIsLost = 15;

struct FakeWatchedGpu {
  std::string uuid;
  gpm::Return code = gpm::kSuccess;  // NVML's answer to every query
  gpm::Return sample_code = gpm::kSuccess;
  gpm::Return mig_code = gpm::kSuccess;
  unsigned mig_mode = 0;
  unsigned is_supported = 1;
  // By nvmlGpmMetricId_t, in per cent; a missing metric fails with kNotSupported.
  std::map<unsigned, double> percents = {{2, 75}, {5, 50}, {10, 25}};
};

// Must outlive its library's use.
class FakeGpm {
 public:
  std::deque<FakeWatchedGpu> gpus;
  gpm::Return init_code = gpm::kSuccess;
  gpm::Return metrics_code = gpm::kSuccess;
  std::function<void()> on_look = {};  // when the GPUs are counted
  std::atomic<int> init_count = 0;
  std::atomic<int> live_sample_count = 0;  // allocated and not freed

  GpmLibrary Library() {
    GpmLibrary out;
    out.init = [this] {
      ++init_count;
      return init_code;
    };
    out.gpu_count = [this](unsigned* count) {
      if (on_look) on_look();
      *count = static_cast<unsigned>(gpus.size());
      return gpm::kSuccess;
    };
    out.gpu = [this](unsigned index, gpm::Gpu* gpu) {
      *gpu = reinterpret_cast<gpm::Gpu>(&gpus[index]);
      return gpus[index].code;
    };
    out.uuid = [](gpm::Gpu gpu, char* text, unsigned size) {
      std::snprintf(text, size, "%s", Of(gpu).uuid.c_str());
      return Of(gpu).code;
    };
    out.mig = [](gpm::Gpu gpu, unsigned* now, unsigned* after_reset) {
      *now = Of(gpu).mig_mode;
      *after_reset = 0;
      return Of(gpu).mig_code;
    };
    out.support = [](gpm::Gpu gpu, gpm::Support* support) {
      if (support->version == 1) support->is_supported = Of(gpu).is_supported;
      return Of(gpu).code;
    };
    out.allocate = [this](gpm::Sample* sample) {
      ++live_sample_count;
      *sample = reinterpret_cast<gpm::Sample>(new FakeWatchedGpu*(nullptr));
      return gpm::kSuccess;
    };
    out.free = [this](gpm::Sample sample) {
      --live_sample_count;
      delete reinterpret_cast<FakeWatchedGpu**>(sample);
      return gpm::kSuccess;
    };
    out.sample = [](gpm::Gpu gpu, gpm::Sample sample) {
      *reinterpret_cast<FakeWatchedGpu**>(sample) = &Of(gpu);
      return Of(gpu).sample_code;
    };
    out.metrics = [this](gpm::MetricsRequest* request) { return Answer(request); };
    return out;
  }

 private:
  static FakeWatchedGpu& Of(gpm::Gpu gpu) { return *reinterpret_cast<FakeWatchedGpu*>(gpu); }

  gpm::Return Answer(gpm::MetricsRequest* request) const {
    const FakeWatchedGpu* const gpu = *reinterpret_cast<FakeWatchedGpu**>(request->later);
    const bool same = *reinterpret_cast<FakeWatchedGpu**>(request->earlier) == gpu;
    if (request->version != 1 || !same || request->earlier == request->later) return 2;
    for (unsigned i = 0; i < request->metric_count; ++i) {
      const auto found = gpu->percents.find(request->metrics[i].id);
      request->metrics[i].code = found == gpu->percents.end() ? kNotSupported : gpm::kSuccess;
      if (found != gpu->percents.end()) request->metrics[i].value = found->second;
    }
    return metrics_code;
  }
};

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_FAKE_GPM_H_
