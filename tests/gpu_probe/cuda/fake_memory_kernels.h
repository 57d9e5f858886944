// The probe's kernels of passes over memory and of clocks, as run by a fake GPU.
#ifndef SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_MEMORY_KERNELS_H_
#define SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_MEMORY_KERNELS_H_

namespace sextant::probe {

class FakeHost;

// Adds kernels that take the time of FakeGpu's rates, and write results that the host itself reads:
// hashes and clocks. `host` must outlive its kernels.
void AddMemoryKernels(FakeHost& host);

}  // namespace sextant::probe

#endif  // SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_MEMORY_KERNELS_H_
