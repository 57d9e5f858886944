// Arithmetic with the same result on every multiprocessor, and the number of the one that ran it,
// so that a faulty one is identified.
#include "gpu_probe/cuda/kernels/counters.cuh"
#include "gpu_probe/cuda/kernels/narrow.cuh"
#include "gpu_probe/cuda/kernels/places.cuh"

// hashes[thread of the grid]: a hash of a chain of fp32 multiply-adds, each rounded once by IEEE
// 754, and of integer multiplications. The result of a step goes into the hash and the next step,
// so that one wrong bit changes all that follows. It depends only on the thread's place in its
// block. kernels.h has the same for the host.
extern "C" __global__ void multiprocessor_hash(unsigned* hashes, unsigned* multiprocessors,
                                               unsigned step_count) {
  unsigned hash = threadIdx.x;
  FloatBits x;
  x.value = 0.0f;
  for (unsigned step = 0; step < step_count; ++step) {
    FloatBits summand;
    summand.bits = 0x3F800000u | hash >> 9;  // from 1 to 2
    x.value = fmaf(x.value, 0.618034f, summand.value);
    hash = (hash ^ x.bits) * 0x9E3779B1u;
    hash ^= hash >> 16;
  }
  hashes[FirstPlace()] = hash;
  if (threadIdx.x == 0) multiprocessors[blockIdx.x] = Multiprocessor();
}
