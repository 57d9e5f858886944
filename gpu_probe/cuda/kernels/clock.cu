// Kernels that count a multiprocessor's clock, hold a stream, or do nothing.
#include "gpu_probe/cuda/kernels/counters.cuh"

// As in sm_clock.h.
struct ClockReading {
  long long cycles;
  unsigned long long start_ns;
  unsigned long long end_ns;
};

// As in sm_clock.h.
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
