#include "gpu_probe/host/memory_pass.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <memory>
#include <vector>

#include "gpu_probe/points/memory.h"
#include "tests/gpu_probe/host/test_host.h"

namespace sextant::probe {
namespace {

constexpr MemoryPassOperation kOperations[] = {
    v1::StreamMeasurement::OPERATION_READ, v1::StreamMeasurement::OPERATION_WRITE,
    v1::StreamMeasurement::OPERATION_COPY, v1::StreamMeasurement::OPERATION_SCALE,
    v1::StreamMeasurement::OPERATION_TRIAD};

double Wanted(MemoryPassOperation operation, double a, double b) {
  switch (operation) {
    case v1::StreamMeasurement::OPERATION_WRITE:
      return 3;
    case v1::StreamMeasurement::OPERATION_COPY:
      return a;
    case v1::StreamMeasurement::OPERATION_SCALE:
      return 3 * a;
    default:
      return a + 3 * b;
  }
}

TEST(MemoryPassKernels, AgreeWithAScalarLoopAtEverySize) {
  for (const SimdLevel level : LevelsHere()) {
    for (const int64_t count : {0, 1, 2, 7, 8, 17, 33, 64, 101, 1031}) {
      for (const MemoryPassOperation operation : kOperations) {
        for (const bool past_caches : {false, true}) {
          std::vector<double> a;
          std::vector<double> b;
          for (int64_t i = 0; i < count; ++i) {
            a.push_back(static_cast<double>(i * i % 97));
            b.push_back(static_cast<double>(i % 13));
          }
          std::vector<double> c(static_cast<size_t>(count) + 2, -1);  // two more as a guard
          const double sum = MemoryPassKernelOf(level)(operation, {.a = a.data(),
                                                                   .b = b.data(),
                                                                   .c = c.data(),
                                                                   .count = count,
                                                                   .scalar = 3,
                                                                   .past_caches = past_caches});
          double wanted_sum = 0;
          for (size_t i = 0; i < a.size(); ++i) {
            wanted_sum += a[i];
            if (operation == v1::StreamMeasurement::OPERATION_READ) continue;
            ASSERT_EQ(c[i], Wanted(operation, a[i], b[i])) << operation << " of " << count;
          }
          EXPECT_EQ(sum, operation == v1::StreamMeasurement::OPERATION_READ ? wanted_sum : 0);
          EXPECT_EQ(c[a.size()], -1);
          EXPECT_EQ(c[a.size() + 1], -1);
        }
      }
    }
  }
}

TEST(StreamBytes, CountWhatIsReadAndWritten) {
  EXPECT_EQ(StreamBytes(v1::StreamMeasurement::OPERATION_READ, 80), 80);
  EXPECT_EQ(StreamBytes(v1::StreamMeasurement::OPERATION_WRITE, 80), 80);
  EXPECT_EQ(StreamBytes(v1::StreamMeasurement::OPERATION_COPY, 80), 160);
  EXPECT_EQ(StreamBytes(v1::StreamMeasurement::OPERATION_SCALE, 80), 160);
  EXPECT_EQ(StreamBytes(v1::StreamMeasurement::OPERATION_TRIAD, 80), 240);
}

TEST(TimeOfPass, ScalesTimesAlone) {
  v1::TimeStatistics time;
  time.set_median_seconds(2);
  time.set_p10_seconds(1);
  time.set_p90_seconds(3);
  time.set_relative_spread(0.25);
  time.set_sample_count(9);
  time.set_repetition_count(4);
  time.set_stable(true);
  const v1::TimeStatistics pass = TimeOfPass(time, 16);
  EXPECT_EQ(pass.median_seconds(), 32);
  EXPECT_EQ(pass.p10_seconds(), 16);
  EXPECT_EQ(pass.p90_seconds(), 48);
  EXPECT_EQ(pass.relative_spread(), 0.25);
  EXPECT_EQ(pass.sample_count(), 9);
  EXPECT_TRUE(pass.stable());
}

class MemoryPassWorkloadTest : public ::testing::TestWithParam<MemoryPassOperation> {
 protected:
  void SetUp() override {
    context_ = SmallHost(/*thread_count=*/3);
    arrays_ = *MemoryPassArrays::Create(/*count=*/20'011, *context_);
    ASSERT_TRUE(arrays_->AddB(*context_).ok());
  }
  MemoryPassWorkload Make(int64_t segment_count) {
    return MemoryPassWorkload({.operation = GetParam(),
                               .kernel = MemoryPassKernelOf(WidestSimd(context_->features)),
                               .segment_count = segment_count,
                               .past_caches = true},
                              arrays_, context_);
  }

  SharedContext context_;
  std::shared_ptr<MemoryPassArrays> arrays_;
};

TEST_P(MemoryPassWorkloadTest, RunsAreRight) {
  for (const int64_t segment_count : {1, 4}) {
    MemoryPassWorkload workload = Make(segment_count);
    for (const int64_t repetition_count : {1, 2, 5, 9}) {
      EXPECT_EQ(RunAndCheck(workload, repetition_count), absl::OkStatus());
    }
  }
}

TEST_P(MemoryPassWorkloadTest, WhatWasNotRunIsFound) {
  MemoryPassWorkload workload = Make(/*segment_count=*/4);
  ASSERT_EQ(workload.Run(1), absl::OkStatus());
  workload.Poison();
  EXPECT_EQ(workload.Check().code(), absl::StatusCode::kDataLoss);
}

// The operations that write an array.
class MemoryPassOutputTest : public MemoryPassWorkloadTest {};

TEST_P(MemoryPassOutputTest, OneWrongElementIsFound) {
  MemoryPassWorkload workload = Make(/*segment_count=*/1);
  for (const int64_t i : {0, 10'000, 20'010}) {
    workload.Poison();
    ASSERT_EQ(workload.Run(1), absl::OkStatus());
    arrays_->c()[i] = std::nextafter(arrays_->c()[i], 1e300);
    EXPECT_EQ(workload.Check().code(), absl::StatusCode::kDataLoss) << i;
  }
}

TEST_P(MemoryPassOutputTest, EverySegmentIsWritten) {
  MemoryPassWorkload workload = Make(/*segment_count=*/4);
  for (int64_t i = 0; i < arrays_->count(); ++i) arrays_->c()[i] = NAN;
  ASSERT_EQ(workload.Run(4), absl::OkStatus());
  for (int64_t i = 0; i < arrays_->count(); ++i) ASSERT_FALSE(std::isnan(arrays_->c()[i])) << i;
}

INSTANTIATE_TEST_SUITE_P(AllOperations, MemoryPassWorkloadTest, ::testing::ValuesIn(kOperations));
INSTANTIATE_TEST_SUITE_P(AllButRead, MemoryPassOutputTest,
                         ::testing::ValuesIn(kOperations + 1, std::end(kOperations)));

TEST(SegmentPart, PiecesOfAPartMakeItUp) {
  const Part part = ThreadPart(100'000, 1, 3);
  int64_t end = part.begin;
  for (int64_t segment = 0; segment < 16; ++segment) {
    const Part piece = SegmentPart(part, segment, 16);
    EXPECT_EQ(piece.begin, end);
    end = piece.end;
  }
  EXPECT_EQ(end, part.end);
}

}  // namespace
}  // namespace sextant::probe
