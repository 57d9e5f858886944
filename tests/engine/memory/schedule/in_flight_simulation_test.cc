// The points that are derived against all points of a simulated step.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "tests/engine/memory/schedule/simulation.h"

namespace sextant {
namespace {

struct Fraction {  // bottom > 0
  int64_t top;
  int64_t bottom;
  friend bool operator<(const Fraction& a, const Fraction& b) {
    return a.top * b.bottom < b.top * a.bottom;
  }
};

// True where a point between `a` and `b`, or one of them, is at least `counts` everywhere.
bool Covers(const std::vector<int64_t>& a, const std::vector<int64_t>& b,
            const std::vector<int64_t>& counts) {
  Fraction low = {0, 1};
  Fraction high = {1, 1};
  for (size_t i = 0; i < counts.size(); ++i) {
    const int64_t slope = b[i] - a[i];
    const int64_t need = counts[i] - a[i];
    if (slope == 0 && need > 0) return false;
    if (slope > 0) low = std::max(low, {need, slope});
    if (slope < 0) high = std::min(high, {-need, -slope});
  }
  return !(high < low);
}

// A whole backward pass counts as its first half.
bool Comparable(const SimulatedPoint& a, const SimulatedPoint& b) {
  return a.chunk == b.chunk &&
         (a.begins == ScheduleWork::kWeightGradient) == (b.begins == ScheduleWork::kWeightGradient);
}

bool Covered(const SimulatedPoint& point, const std::vector<SimulatedPoint>& listed) {
  return std::any_of(listed.begin(), listed.end(), [&](const SimulatedPoint& a) {
    return Comparable(a, point) &&
           std::any_of(listed.begin(), listed.end(), [&](const SimulatedPoint& b) {
             return Comparable(b, point) && Covers(a.counts, b.counts, point.counts);
           });
  });
}

std::vector<ChunkBytes> RandomChunks(int64_t count, std::mt19937_64& random) {
  std::vector<ChunkBytes> out(static_cast<size_t>(count));
  const auto draw = [&] { return Bytes(static_cast<int64_t>(random() % 1000)); };
  for (ChunkBytes& chunk : out) {
    chunk = {.held = draw(),
             .awaiting_weight_gradient = draw(),
             .backward_work = draw(),
             .weight_gradient_work = draw()};
  }
  return out;
}

// The peak of `chunks` is that of all points.
void ExpectPeak(const InFlight& in_flight, int64_t stage, const std::vector<SimulatedPoint>& all,
                const std::vector<ChunkBytes>& chunks) {
  int64_t most = 0;
  for (const SimulatedPoint& point : all) most = std::max(most, BytesOf(point, chunks));
  const InFlightPeak peak = in_flight.Peak(stage, chunks).value();
  EXPECT_EQ(peak.size.value(), most) << "stage " << stage;
  EXPECT_EQ(BytesOf(Listed(peak.point, in_flight.chunk_count()), chunks), most);
}

// Each point listed occurs, each that occurs is covered, and the peak of random chunks is that of
// all points.
void ExpectAgreement(const PipelineSpec& pipeline, const ParallelLayout& layout) {
  const Simulation simulation = Simulate(pipeline, layout);
  ASSERT_FALSE(simulation.deadlock);
  ASSERT_FALSE(simulation.repeated);
  const InFlight in_flight = InFlight::Of(pipeline, layout, "job").value();
  const int64_t chunks = in_flight.chunk_count();
  std::mt19937_64 random(7);
  for (int64_t stage = 0; stage < in_flight.stage_count(); ++stage) {
    const std::vector<SimulatedPoint>& all = simulation.stages[static_cast<size_t>(stage)].points;
    std::vector<SimulatedPoint> listed;
    in_flight.ForEachPoint(stage, [&](const InFlightPoint& point) {
      listed.push_back(Listed(point, chunks));
      EXPECT_NE(point.when, "");
    });
    for (const SimulatedPoint& point : listed) {
      EXPECT_EQ(std::count(listed.begin(), listed.end(), point), 1) << "stage " << stage;
      EXPECT_NE(std::find(all.begin(), all.end(), point), all.end()) << "stage " << stage;
    }
    for (const SimulatedPoint& point : all) {
      ASSERT_TRUE(Covered(point, listed)) << "stage " << stage;
    }
    std::vector<ChunkBytes> bytes = RandomChunks(chunks, random);
    ExpectPeak(in_flight, stage, all, bytes);
    std::fill(bytes.begin(), bytes.end(), bytes[0]);
    ExpectPeak(in_flight, stage, all, bytes);
  }
}

void ExpectAgreementOf(PipelineSchedule schedule, int64_t stages, int64_t virtual_stages,
                       int64_t micro_batches) {
  SCOPED_TRACE(absl::StrCat(PipelineScheduleName(schedule), " p ", stages, " v ", virtual_stages,
                            " m ", micro_batches));
  ExpectAgreement({.schedule = schedule, .micro_batch_count = micro_batches},
                  {.pipeline_parallel_size = stages, .virtual_stage_count = virtual_stages});
}

TEST(InFlightSimulation, OneChunkAStage) {
  for (const auto schedule : {PipelineSchedule::kOneForwardOneBackward, PipelineSchedule::kGPipe,
                              PipelineSchedule::kZeroBubbleH1, PipelineSchedule::kZeroBubbleH2}) {
    for (int64_t stages = 1; stages <= 8; ++stages) {
      for (int64_t count = 1; count <= 24; ++count) ExpectAgreementOf(schedule, stages, 1, count);
    }
    ExpectAgreementOf(schedule, 17, 1, 70);
  }
}

TEST(InFlightSimulation, InterleavedStages) {
  for (int64_t stages = 2; stages <= 8; ++stages) {
    for (int64_t chunks = 2; chunks <= 4; ++chunks) {
      for (int64_t count = stages; count <= 24; count += stages) {
        ExpectAgreementOf(PipelineSchedule::kOneForwardOneBackward, stages, chunks, count);
      }
    }
  }
  for (const int64_t count : {13, 26, 39}) {
    ExpectAgreementOf(PipelineSchedule::kOneForwardOneBackward, 13, 7, count);
  }
  ExpectAgreementOf(PipelineSchedule::kOneForwardOneBackward, 2, 9, 6);
}

TEST(InFlightSimulation, DualPipe) {
  for (int64_t stages = 2; stages <= 8; stages += 2) {
    for (int64_t count = 2 * stages; count <= 24; count += 2) {
      ExpectAgreementOf(PipelineSchedule::kDualPipe, stages, 1, count);
    }
  }
  for (const int64_t stages : {10, 12, 14, 16, 18, 20, 32}) {
    ExpectAgreementOf(PipelineSchedule::kDualPipe, stages, 1, 2 * stages);
  }
}

}  // namespace
}  // namespace sextant
