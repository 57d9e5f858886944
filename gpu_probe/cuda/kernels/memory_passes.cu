// Plain passes over arrays, by the names of calibration.proto's StreamMeasurement. Vectors of 16
// bytes. Reads and writes are marked as not needed again, so that a pass over more than the cache
// does not try to keep its data there.
#include "gpu_probe/cuda/kernels/places.cuh"
#include "gpu_probe/cuda/kernels/random.cuh"

// Vectors of each array that a thread has in flight, with one array and with two: 96 KiB a
// multiprocessor, some three times what the latency of memory needs.
static const int kUnroll = 4;
static const int kUnrollOfTwo = 2;

static __device__ unsigned SumOf(uint4 x) { return x.x + x.y + x.z + x.w; }

// sums[thread] = the sum of the numbers that the thread read, as integers modulo 2^32: independent
// of the order, and sensitive to a wrong bit anywhere.
SEXTANT_PASS memory_pass_read(unsigned* sums, const uint4* a, unsigned long long count) {
  unsigned sum = 0;
  unsigned long long i = FirstPlace();
  for (; i + (kUnroll - 1) * Stride() < count; i += kUnroll * Stride()) {
    uint4 x[kUnroll];
    for (int j = 0; j < kUnroll; ++j) x[j] = __ldcs(a + i + j * Stride());
    for (int j = 0; j < kUnroll; ++j) sum += SumOf(x[j]);
  }
  for (; i < count; i += Stride()) sum += SumOf(__ldcs(a + i));
  sums[FirstPlace()] = sum;
}

// c[i] = s.
SEXTANT_PASS memory_pass_write(float4* c, unsigned long long count, float s) {
  const float4 value = make_float4(s, s, s, s);
  for (unsigned long long i = FirstPlace(); i < count; i += Stride()) __stcs(c + i, value);
}

// c[i] = a[i].
SEXTANT_PASS memory_pass_copy(float4* c, const float4* a, unsigned long long count) {
  unsigned long long i = FirstPlace();
  for (; i + (kUnroll - 1) * Stride() < count; i += kUnroll * Stride()) {
    float4 x[kUnroll];
    for (int j = 0; j < kUnroll; ++j) x[j] = __ldcs(a + i + j * Stride());
    for (int j = 0; j < kUnroll; ++j) __stcs(c + i + j * Stride(), x[j]);
  }
  for (; i < count; i += Stride()) __stcs(c + i, __ldcs(a + i));
}

// c[i] = s a[i].
SEXTANT_PASS memory_pass_scale(float4* c, const float4* a, unsigned long long count, float s) {
  unsigned long long i = FirstPlace();
  for (; i + (kUnroll - 1) * Stride() < count; i += kUnroll * Stride()) {
    float4 x[kUnroll];
    for (int j = 0; j < kUnroll; ++j) x[j] = __ldcs(a + i + j * Stride());
    for (int j = 0; j < kUnroll; ++j) __stcs(c + i + j * Stride(), Times(s, x[j]));
  }
  for (; i < count; i += Stride()) __stcs(c + i, Times(s, __ldcs(a + i)));
}

// c[i] = a[i] + s b[i].
SEXTANT_PASS memory_pass_triad(float4* c, const float4* a, const float4* b,
                               unsigned long long count, float s) {
  unsigned long long i = FirstPlace();
  for (; i + (kUnrollOfTwo - 1) * Stride() < count; i += kUnrollOfTwo * Stride()) {
    float4 x[kUnrollOfTwo];
    float4 y[kUnrollOfTwo];
    for (int j = 0; j < kUnrollOfTwo; ++j) {
      x[j] = __ldcs(a + i + j * Stride());
      y[j] = __ldcs(b + i + j * Stride());
    }
    for (int j = 0; j < kUnrollOfTwo; ++j) __stcs(c + i + j * Stride(), Plus(x[j], Times(s, y[j])));
  }
  for (; i < count; i += Stride()) __stcs(c + i, Plus(__ldcs(a + i), Times(s, __ldcs(b + i))));
}

// out[i] = scale times the whole number of place seed + i; `scale` is a power of two.
extern "C" __global__ void fill_whole_fp32(float* out, unsigned long long count,
                                           unsigned long long seed, float scale) {
  for (unsigned long long i = FirstPlace(); i < count; i += Stride()) {
    out[i] = scale * RandomWhole(seed + i);
  }
}

// Compares an array with added + of_a a[i] + of_b b[i], where a and b are whole numbers of places
// from seed_a and seed_b on. Exact while all values stay below 2^24.
extern "C" __global__ void check_memory_pass(Report* report, const float* c,
                                             unsigned long long count, unsigned long long seed_a,
                                             unsigned long long seed_b, float added, float of_a,
                                             float of_b) {
  for (unsigned long long i = FirstPlace(); i < count; i += Stride()) {
    const float expected = added + of_a * RandomWhole(seed_a + i) + of_b * RandomWhole(seed_b + i);
    if (!(c[i] == expected)) Tell(report, i);
  }
}

// Checks the sums that memory_pass_read, with equally many threads, computes for an array of whole
// numbers of places from `seed` on. The reported place is the thread's.
extern "C" __global__ void check_memory_pass_read(Report* report, const unsigned* sums,
                                                  unsigned long long count,
                                                  unsigned long long seed) {
  unsigned sum = 0;
  for (unsigned long long i = FirstPlace(); i < count; i += Stride()) {
    for (int j = 0; j < 4; ++j) {
      union {
        float value;
        unsigned bits;
      } word;
      word.value = RandomWhole(seed + 4 * i + j);
      sum += word.bits;
    }
  }
  if (sums[FirstPlace()] != sum) Tell(report, FirstPlace());
}

// out[i] = the random bits of place seed + i: data for copies between the GPU and its host.
extern "C" __global__ void fill_bits(unsigned long long* out, unsigned long long count,
                                     unsigned long long seed) {
  for (unsigned long long i = FirstPlace(); i < count; i += Stride()) out[i] = RandomBits(seed + i);
}

extern "C" __global__ void check_bits(Report* report, const unsigned long long* in,
                                      unsigned long long count, unsigned long long seed) {
  for (unsigned long long i = FirstPlace(); i < count; i += Stride()) {
    if (in[i] != RandomBits(seed + i)) Tell(report, i);
  }
}
