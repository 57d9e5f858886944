// The host of the fake libraries, selected by $SEXTANT_FAKE_GPU.
#ifndef SEXTANT_TESTS_GPU_PROBE_CUDA_SCRIPTED_HOST_H_
#define SEXTANT_TESTS_GPU_PROBE_CUDA_SCRIPTED_HOST_H_

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "tests/gpu_probe/cuda/fake_host.h"

namespace sextant::probe {

// Eight idle GPUs. Variants: the first one busy; busy, and not to be touched by CUDA; hot; wrong in
// multiplications; or never answering NVML. The sixth slow. No GPU at all. A driver that is too
// old.
inline FakeHost& ScriptedHost() {
  static FakeHost* const host = [] {
    const char* const name = std::getenv("SEXTANT_FAKE_GPU");
    const std::string script = name == nullptr ? "" : name;
    auto* const made = new FakeHost(8);
    FakeGpu& first = made->gpus.front();
    if (script == "busy" || script == "untouched") first.process_ids = {71};
    if (script == "untouched") made->cuda_init_code = 999;
    if (script == "hot") first.celsius = 91;
    if (script == "wrong") first.wrong_kernels = {"check_matmul"};
    if (script == "lost") first.nvml_code = nvml::kGpuIsLost;
    if (script == "slow") made->gpus[5].slowness = 1.15;
    if (script == "none") made->cuda_init_code = 100;
    if (script == "old") made->cuda_version = 11040;
    if (script == "hang") {
      first.on_question = [] {
        while (true) pause();
      };
    }
    return made;
  }();
  return *host;
}

}  // namespace sextant::probe

#endif  // SEXTANT_TESTS_GPU_PROBE_CUDA_SCRIPTED_HOST_H_
