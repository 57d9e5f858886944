#include "engine/memory/fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "engine/memory/host_memory.h"

namespace sextant {
namespace {

// 1,600 bytes of state of 100 parameters on devices of 450 bytes.
constexpr FitInput kInput = {.model_state = Bytes(1600),
                             .activations = Bytes(0),
                             .usable_per_device = Bytes(450),
                             .device_count = 4,
                             .parameter_count = 100};

TEST(Fit, DividesEvenlyAndRoundsUp) {
  const Fit fit = FitOf(kInput);
  EXPECT_EQ(fit.per_device, Bytes(400));
  EXPECT_EQ(fit.headroom, Bytes(50));
  EXPECT_TRUE(fit.fits());
  EXPECT_EQ(fit.minimum_device_count, 4);       // 3 x 450 < 1600
  EXPECT_EQ(fit.largest_parameter_count, 112);  // 1800 / 16 = 112.5

  FitInput three = kInput;
  three.device_count = 3;
  EXPECT_EQ(FitOf(three).per_device, Bytes(534));  // 533.33
  EXPECT_EQ(FitOf(three).headroom, Bytes(-84));
  EXPECT_FALSE(FitOf(three).fits());
}

TEST(Fit, ExactlyFullFits) {
  FitInput input = kInput;
  input.usable_per_device = Bytes(400);
  EXPECT_TRUE(FitOf(input).fits());
  EXPECT_EQ(FitOf(input).headroom, Bytes(0));
  input.usable_per_device = Bytes(399);
  EXPECT_FALSE(FitOf(input).fits());
}

TEST(Fit, CountsActivations) {
  FitInput input = kInput;
  input.activations = Bytes(200);
  const Fit fit = FitOf(input);
  EXPECT_EQ(fit.total, Bytes(1800));
  EXPECT_EQ(fit.per_device, Bytes(450));
  EXPECT_EQ(fit.largest_parameter_count, 100);  // (1800 - 200) / 16
  input.activations = Bytes(1800);
  EXPECT_EQ(FitOf(input).largest_parameter_count, 0);
}

// The widest inputs that CheckRun() lets through.
TEST(Fit, SurvivesTheLargestInputs) {
  const Fit fit = FitOf({.model_state = Bytes(2),
                         .activations = Bytes(0),
                         .usable_per_device = Bytes(10'000'000'000'000),
                         .device_count = 1'000'000,
                         .parameter_count = 1});
  EXPECT_EQ(fit.largest_parameter_count, 5'000'000'000'000'000'000);
}

// The fewest devices is where the verdict turns.
TEST(Fit, MinimumDeviceCountIsWhereItStartsToFit) {
  for (int64_t state = 1; state < 3000; state += 7) {
    FitInput input = kInput;
    input.model_state = Bytes(state);
    input.device_count = FitOf(input).minimum_device_count;
    EXPECT_TRUE(FitOf(input).fits()) << state;
    if (input.device_count == 1) continue;
    --input.device_count;
    EXPECT_FALSE(FitOf(input).fits()) << state;
  }
}

// Stages of `devices` each, whose devices hold as many bytes as listed.
int64_t NeedOf(int64_t a_server, int64_t devices, const std::vector<int64_t>& stages) {
  FullestServer fullest(a_server);
  for (const int64_t each : stages) fullest.Add(devices, Bytes(each));
  return fullest.need().value();
}

TEST(FullestServer, HoldsAllOfWhatFitsOnOneServer) {
  EXPECT_EQ(NeedOf(8, 3, {5}), 15);
  EXPECT_EQ(NeedOf(8, 8, {5}), 40);
  EXPECT_EQ(NeedOf(8, 4, {10, 7}), 68);  // 4 x 10 + 4 x 7
  EXPECT_EQ(NeedOf(8, 1, {1, 2, 3, 4, 5}), 15);
}

TEST(FullestServer, IsOneWithinAStageOrAcrossSeveral) {
  EXPECT_EQ(NeedOf(8, 16, {10, 30, 20}), 240);   // whole servers: 8 x 30
  EXPECT_EQ(NeedOf(8, 12, {10, 20}), 160);       // the third: 8 of the second stage
  EXPECT_EQ(NeedOf(8, 12, {20, 10}), 160);       // the first
  EXPECT_EQ(NeedOf(8, 4, {1, 2, 10, 10}), 80);   // two stages a server
  EXPECT_EQ(NeedOf(8, 6, {0, 10, 10, 0}), 80);   // the second of three: 4 of each inner stage
  EXPECT_EQ(NeedOf(8, 2, {1, 1, 1, 1, 9}), 18);  // the last, with 2 devices: 2 x 9
}

TEST(FullestServer, AgreesWithAnEnumerationOfRanks) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    const auto a_server = static_cast<int64_t>(1 + random() % 9);
    const auto devices = static_cast<int64_t>(1 + random() % 20);
    std::vector<int64_t> stages(1 + random() % 6);
    for (int64_t& each : stages) each = static_cast<int64_t>(random() % 100);
    std::vector<int64_t> servers;
    for (int64_t rank = 0; rank < devices * static_cast<int64_t>(stages.size()); ++rank) {
      servers.resize(static_cast<size_t>(rank / a_server + 1));
      servers.back() += stages[static_cast<size_t>(rank / devices)];
    }
    EXPECT_EQ(NeedOf(a_server, devices, stages), *std::max_element(servers.begin(), servers.end()));
  }
}

TEST(FullestServer, EndsAtTheLargestNumber) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(NeedOf(8, 8, {kMax / 4}), kMax);
  EXPECT_EQ(NeedOf(8, 4, {kMax / 5, kMax / 5}), kMax);
}

TEST(HostVerdict, LeavesAFifthToTheSystem) {
  const HostServer server = {.device_count = 8, .memory = Bytes(1000)};
  for (const int64_t devices : {8, 16}) {
    EXPECT_EQ(HostVerdictOf(Bytes(0), server, devices), Verdict::kFits);
    EXPECT_EQ(HostVerdictOf(Bytes(800), server, devices), Verdict::kFits);
    EXPECT_EQ(HostVerdictOf(Bytes(801), server, devices), Verdict::kTight);
    EXPECT_EQ(HostVerdictOf(Bytes(1000), server, devices), Verdict::kTight);
    EXPECT_EQ(HostVerdictOf(Bytes(1001), server, devices), Verdict::kDoesNotFit);
  }
}

// 2 of 8 devices have 250 of 1000 bytes, 200 of them for state; the rest may be others'.
TEST(HostVerdict, LeavesOtherDevicesTheirPart) {
  HostServer server = {.device_count = 8, .memory = Bytes(1000)};
  EXPECT_EQ(server.ShareOf(2), Bytes(250));
  EXPECT_EQ(HostVerdictOf(Bytes(200), server, 2), Verdict::kFits);
  EXPECT_EQ(HostVerdictOf(Bytes(201), server, 2), Verdict::kTight);
  EXPECT_EQ(HostVerdictOf(Bytes(1000), server, 2), Verdict::kTight);
  EXPECT_EQ(HostVerdictOf(Bytes(1001), server, 2), Verdict::kDoesNotFit);
  server.whole = true;
  EXPECT_EQ(HostVerdictOf(Bytes(800), server, 2), Verdict::kFits);
}

TEST(HostVerdict, IsTightAtBestWhereTheMemoryIsNotKnown) {
  EXPECT_EQ(HostVerdictOf(Bytes(1), {}, 8), Verdict::kTight);
  EXPECT_EQ(HostVerdictOf(Bytes(0), {}, 8), Verdict::kFits);
}

}  // namespace
}  // namespace sextant
