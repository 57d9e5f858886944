// What a multiprocessor's clock really does, and a kernel that does nothing.
#include "gpu_probe/cuda/kernels/counters.cuh"

// As sm_clock.h has it.
struct ClockReading {
  long long cycles;
  unsigned long long start_ns;
  unsigned long long end_ns;
};

// One thread turns for `cycle_count` cycles and tells how long that took.
extern "C" __global__ void measure_clock(ClockReading* out, long long cycle_count) {
  const unsigned long long start_ns = GlobalNanoseconds();
  const long long start = clock64();
  long long cycles = 0;
  while (cycles < cycle_count) cycles = clock64() - start;
  out->end_ns = GlobalNanoseconds();
  out->start_ns = start_ns;
  out->cycles = cycles;
}

extern "C" __global__ void do_nothing() {}
