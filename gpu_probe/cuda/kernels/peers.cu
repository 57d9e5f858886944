// Data that GPUs send each other, and the data that must arrive: small integers in bf16, whose sums
// over 64 ranks are exact in any order. 16 bytes, eight numbers, at a time.
#include "gpu_probe/cuda/kernels/narrow.cuh"
#include "gpu_probe/cuda/kernels/places.cuh"
#include "gpu_probe/cuda/kernels/random.cuh"

// The bits from which the eight numbers of one vector of a rank's data are made. No rank has 2^40
// vectors.
static __device__ unsigned long long PeerBits(unsigned rank, unsigned long long vector) {
  return RandomBits(((unsigned long long)rank << 40) + vector);
}

// The number in one of eight lanes: -3 to 4.
static __device__ int PeerNumber(unsigned long long bits, int lane) {
  return (int)(bits >> (8 * lane) & 7) - 3;
}

// Two adjacent numbers as they are stored in memory.
static __device__ unsigned Bf16Pair(int low, int high) {
  return (unsigned)ToBf16((float)low) | (unsigned)ToBf16((float)high) << 16;
}

// The sums of the lanes over ranks `first_rank` to `first_rank` + `rank_count` - 1.
static __device__ uint4 PeerVector(unsigned first_rank, unsigned rank_count,
                                   unsigned long long vector) {
  int sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  for (unsigned rank = first_rank; rank < first_rank + rank_count; ++rank) {
    const unsigned long long bits = PeerBits(rank, vector);
    for (int lane = 0; lane < 8; ++lane) sums[lane] += PeerNumber(bits, lane);
  }
  uint4 out;
  out.x = Bf16Pair(sums[0], sums[1]);
  out.y = Bf16Pair(sums[2], sums[3]);
  out.z = Bf16Pair(sums[4], sums[5]);
  out.w = Bf16Pair(sums[6], sums[7]);
  return out;
}

static __device__ bool SameBits(uint4 a, uint4 b) {
  return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w;
}

// out = the data of `rank`.
extern "C" __global__ void fill_peer_data(uint4* out, unsigned long long vector_count,
                                          unsigned rank) {
  for (unsigned long long i = FirstPlace(); i < vector_count; i += Stride()) {
    out[i] = PeerVector(rank, 1, i);
  }
}

// Compares `got` with the sum of all ranks' data from vector `first` on. Places count vectors.
extern "C" __global__ void check_peer_sum(Report* report, const uint4* got,
                                          unsigned long long vector_count, unsigned long long first,
                                          unsigned rank_count) {
  for (unsigned long long i = FirstPlace(); i < vector_count; i += Stride()) {
    if (!SameBits(got[i], PeerVector(0, rank_count, first + i))) Tell(report, i);
  }
}

// Compares `got` with parts of `part_vector_count` vectors: the first part is `first_rank`'s data
// from vector `first` on, the next part the next rank's, and so on.
extern "C" __global__ void check_peer_parts(Report* report, const uint4* got,
                                            unsigned long long vector_count,
                                            unsigned long long part_vector_count,
                                            unsigned long long first, unsigned first_rank) {
  for (unsigned long long i = FirstPlace(); i < vector_count; i += Stride()) {
    const unsigned rank = first_rank + (unsigned)(i / part_vector_count);
    if (!SameBits(got[i], PeerVector(rank, 1, first + i % part_vector_count))) Tell(report, i);
  }
}
