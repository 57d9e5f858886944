// The kernels of multiprocessor.cu, on a processor.
#include "tests/gpu_probe/cuda/kernels/emulation.h"
// After what it stands on.
#include <gtest/gtest.h>

#include <bitset>
#include <set>
#include <vector>

#include "gpu_probe/cuda/kernels.h"
#include "gpu_probe/cuda/kernels/multiprocessor.cu"

namespace sextant::probe {
namespace {

constexpr unsigned kBlocks = 200;
constexpr unsigned kThreads = 64;
constexpr unsigned kSteps = 100;

TEST(MultiprocessorKernelTest, EveryBlockHasTheHostsHashesAndItsMultiprocessor) {
  std::vector<unsigned> hashes(kBlocks * kThreads);
  std::vector<unsigned> multiprocessors(kBlocks, ~0u);
  Emulate(multiprocessor_hash, kBlocks, kThreads, hashes.data(), multiprocessors.data(), kSteps);
  for (size_t i = 0; i < hashes.size(); ++i) {
    ASSERT_EQ(hashes[i], MultiprocessorHash(static_cast<uint32_t>(i % kThreads), kSteps)) << i;
  }
  for (unsigned block = 0; block < kBlocks; ++block) {
    EXPECT_EQ(multiprocessors[block], block % 132);
  }
}

// The host's hash with one bit of the multiply-add's result changed in one step.
uint32_t HashWithFault(uint32_t thread, uint32_t faulty_step, uint32_t bit) {
  uint32_t hash = thread;
  FloatBits x = {.value = 0};
  for (uint32_t step = 0; step < kSteps; ++step) {
    FloatBits summand;
    summand.bits = 0x3F800000u | hash >> 9;
    x.value = std::fmaf(x.value, 0.618034f, summand.value);
    if (step == faulty_step) x.bits ^= 1u << bit;
    hash = (hash ^ x.bits) * 0x9E3779B1u;
    hash ^= hash >> 16;
  }
  return hash;
}

TEST(MultiprocessorHashTest, OneWrongBitInAnyStepChangesIt) {
  EXPECT_EQ(HashWithFault(5, kSteps, 0), MultiprocessorHash(5, kSteps)) << "no fault at all";
  for (uint32_t step = 0; step < kSteps; step += 9) {
    for (uint32_t bit = 0; bit < 32; ++bit) {
      EXPECT_NE(HashWithFault(5, step, bit), MultiprocessorHash(5, kSteps)) << step << " " << bit;
    }
  }
}

TEST(MultiprocessorHashTest, ThreadsDiffer) {
  std::set<uint32_t> hashes;
  uint64_t bit_count = 0;
  for (uint32_t thread = 0; thread < 256; ++thread) {
    hashes.insert(MultiprocessorHash(thread, 1024));
    bit_count += std::bitset<32>(MultiprocessorHash(thread, 1024)).count();
  }
  EXPECT_EQ(hashes.size(), 256);
  EXPECT_NEAR(static_cast<double>(bit_count) / (256 * 32), 0.5, 0.02);
}

TEST(ClockKernelTest, TellsCyclesAndTheirTime) {
  ClockReading reading = {};
  Emulate(measure_clock, 1, 1, &reading, 1'000'000LL);
  EXPECT_GE(reading.cycles, 1'000'000);
  EXPECT_LT(reading.cycles, 1'001'000);
  // 2 GHz.
  EXPECT_NEAR(static_cast<double>(reading.end_ns - reading.start_ns), reading.cycles / 2.0, 200);
}

TEST(ClockKernelTest, AnEmptyKernelCanBeLaunched) { Emulate(do_nothing, 1, 32); }

// The emulated clock goes on by 50 ns with every look at it.
TEST(ClockKernelTest, AHoldEndsWhereItIsReleasedOrItsTimeIsUp) {
  const auto held_ns = [](unsigned released, unsigned hold, unsigned long long most_ns) {
    const unsigned long long start_ns = GlobalNanoseconds();
    Emulate(hold_stream, 1, 1, &released, hold, most_ns);
    return GlobalNanoseconds() - start_ns;
  };
  EXPECT_LE(held_ns(7, 7, 10'000), 100u) << "released before it began";
  EXPECT_LE(held_ns(8, 7, 10'000), 100u) << "a later hold was released";
  EXPECT_LE(held_ns(2, ~0u, 10'000), 100u) << "numbers wrap around";
  EXPECT_GE(held_ns(6, 7, 10'000), 10'000u);
  EXPECT_GE(held_ns(~0u, 1, 10'000), 10'000u);
}

TEST(ClockKernelTest, TheStampIsMultiprocessorZeros) {
  ClockStamp stamp = {.cycles = 0, .ns = 0};
  Emulate(stamp_clock, 264, 1, &stamp);
  const ClockStamp first = stamp;
  EXPECT_GT(first.cycles, 0);
  Emulate(stamp_clock, 264, 1, &stamp);
  // 2 GHz: two cycles a nanosecond.
  EXPECT_EQ(static_cast<unsigned long long>(stamp.cycles - first.cycles),
            2 * (stamp.ns - first.ns));
  ClockStamp other = {.cycles = 0, .ns = 0};
  blockIdx.x = 131;
  stamp_clock(&other);
  EXPECT_EQ(other.cycles, 0);
}

}  // namespace
}  // namespace sextant::probe
