// Arithmetic with the same result on every multiprocessor, and the number of the one that ran it,
// so that a faulty one is identified; and kernels that count a multiprocessor's clock, hold a
// stream, or do nothing.
#include "gpu_probe/cuda/kernels/narrow.cuh"
#include "gpu_probe/cuda/kernels/places.cuh"

// A multiprocessor's number and the GPU's clock. The tests on a processor have their own.
#ifdef __CUDACC__

// Nanoseconds, equal on all multiprocessors (PTX ISA, "Special Registers: %globaltimer"); may tick
// only once a microsecond.
static __device__ unsigned long long GlobalNanoseconds() {
  unsigned long long out;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(out));
  return out;
}

// The multiprocessor that this thread runs on (PTX ISA, "%smid").
static __device__ unsigned Multiprocessor() {
  unsigned out;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(out));
  return out;
}

#endif

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

// As in memory/multiprocessors.
struct ClockReading {
  long long cycles;
  unsigned long long start_ns;
  unsigned long long end_ns;
};

// As in memory/multiprocessors.
struct ClockStamp {
  long long cycles;
  unsigned long long ns;
};

// Spins in one thread for `cycle_count` cycles and reports how long that took.
extern "C" __global__ void measure_clock(ClockReading* out, long long cycle_count) {
  const unsigned long long start_ns = GlobalNanoseconds();
  const long long start = clock64();
  long long cycles = 0;
  while (cycles < cycle_count) cycles = clock64() - start;
  out->end_ns = GlobalNanoseconds();
  out->start_ns = start_ns;
  out->cycles = cycles;
}

// Spins in one thread until `*released`, in the host's memory, reaches `hold`, for at most
// `most_ns` nanoseconds.
extern "C" __global__ void hold_stream(const volatile unsigned* released, unsigned hold,
                                       unsigned long long most_ns) {
  const unsigned long long start_ns = GlobalNanoseconds();
  while ((int)(hold - *released) > 0 && GlobalNanoseconds() - start_ns < most_ns) {
  }
}

// The clock of one multiprocessor at one instant. Only the blocks on multiprocessor 0 write, so
// that two launches report the same one.
extern "C" __global__ void stamp_clock(ClockStamp* out) {
  if (Multiprocessor() != 0) return;
  out->cycles = clock64();
  out->ns = GlobalNanoseconds();
}

extern "C" __global__ void do_nothing() {}
