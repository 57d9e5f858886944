// The probe's kernels of passes over memory and of clocks, as a fake GPU runs them.
#ifndef SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_MEMORY_KERNELS_H_
#define SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_MEMORY_KERNELS_H_

namespace sextant {

class FakeHost;

// Adds kernels that take the time of FakeGpu's rates, and write what is read by the host itself:
// hashes and clocks. `host` must outlive its kernels.
void AddMemoryKernels(FakeHost& host);

}  // namespace sextant

#endif  // SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_MEMORY_KERNELS_H_
