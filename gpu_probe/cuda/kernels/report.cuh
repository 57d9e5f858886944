// The report of a kernel that checks results: the first parameter of each kernel whose name starts
// with check_.
#ifndef SEXTANT_GPU_PROBE_CUDA_KERNELS_REPORT_CUH_
#define SEXTANT_GPU_PROBE_CUDA_KERNELS_REPORT_CUH_

// As in kernels.h. Before the kernel the host sets the fields to the values in the comments.
struct Report {
  unsigned long long wrong_count;  // 0
  unsigned long long first_wrong;  // the lowest wrong place; all bits set
};

static __device__ void Tell(Report* report, unsigned long long place) {
  atomicAdd(&report->wrong_count, 1ULL);
  atomicMin(&report->first_wrong, place);
}

#endif  // SEXTANT_GPU_PROBE_CUDA_KERNELS_REPORT_CUH_
