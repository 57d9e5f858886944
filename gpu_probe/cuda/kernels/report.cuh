// What kernels that check results tell: the first parameter of each, whose name begins with check_.
#ifndef SEXTANT_GPU_PROBE_CUDA_KERNELS_REPORT_CUH_
#define SEXTANT_GPU_PROBE_CUDA_KERNELS_REPORT_CUH_

// As check_report.h has it. The host sets all of it to what stands here before the kernel.
struct Report {
  unsigned long long wrong_count;  // 0
  unsigned long long first_wrong;  // the lowest place of one; all bits set
};

static __device__ void Tell(Report* report, unsigned long long place) {
  atomicAdd(&report->wrong_count, 1ULL);
  atomicMin(&report->first_wrong, place);
}

#endif  // SEXTANT_GPU_PROBE_CUDA_KERNELS_REPORT_CUH_
