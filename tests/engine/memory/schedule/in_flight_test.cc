// Micro-batches in flight: published counts, faults of others, and the points that are derived
// against all points of a simulated step.
#include "engine/memory/schedule/in_flight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/engine/memory/schedule/simulation.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;

struct Total {
  int64_t held = 0;
  int64_t with_awaiting = 0;
};

// The most of any point, over all chunks.
Total MostOf(const PipelineSpec& pipeline, const ParallelLayout& layout, int64_t stage) {
  const InFlight in_flight = InFlight::Of(pipeline, layout).value();
  Total most;
  in_flight.ForEachPoint(stage, [&](const InFlightPoint& point) {
    int64_t held = 0;
    int64_t awaiting = 0;
    for (int64_t chunk = 0; chunk < in_flight.chunk_count(); ++chunk) {
      held += point.Held(chunk);
      awaiting += point.AwaitingWeightGradient(chunk);
    }
    most.held = std::max(most.held, held);
    most.with_awaiting = std::max(most.with_awaiting, held + awaiting);
  });
  return most;
}

// As in the optimizer step, of a stage of any number of chunks.
TEST(InFlight, PointWithoutCountsHoldsNothing) {
  for (int64_t chunk = 0; chunk < 64; ++chunk) {
    EXPECT_EQ(InFlightPoint().Held(chunk), 0) << chunk;
    EXPECT_EQ(InFlightPoint().AwaitingWeightGradient(chunk), 0) << chunk;
  }
}

TEST(InFlight, OfOneForwardOneBackwardIsStagesLeft) {
  const ParallelLayout layout = {.pipeline_parallel_size = 8};
  for (int64_t stage = 0; stage < 8; ++stage) {
    EXPECT_EQ(MostOf({.micro_batch_count = 64}, layout, stage).held, 8 - stage);
    EXPECT_EQ(MostOf({.micro_batch_count = 3}, layout, stage).held,
              std::min<int64_t>(3, 8 - stage));
    EXPECT_EQ(
        MostOf({.schedule = PipelineSchedule::kGPipe, .micro_batch_count = 64}, layout, stage).held,
        64);
  }
}

// arXiv 2205.05198, section 4.2.3: 1 + (p - 1) / (p v) times as much as 1F1B's p micro-batches.
TEST(InFlight, OfInterleavedStagesIsThePublishedFactor) {
  for (const int64_t p : {2, 4, 8, 16}) {
    for (const int64_t v : {2, 3, 6}) {
      const ParallelLayout layout = {.pipeline_parallel_size = p, .virtual_stage_count = v};
      EXPECT_EQ(MostOf({.micro_batch_count = 8 * p}, layout, 0).held, p * v + p - 1);
      EXPECT_EQ(MostOf({.micro_batch_count = 8 * p}, layout, p - 1).held, p * v - p + 1);
    }
  }
}

// Case A of docs/memory.md interleaved: 4 layers a chunk of 34 s b h / t bytes. 12.35 GiB are
// published in arXiv 2205.05198's terms.
TEST(InFlight, OfCaseAInterleavedIsThePublishedSize) {
  const InFlight in_flight(PipelineSpec{.micro_batch_count = 64},
                           {.pipeline_parallel_size = 8, .virtual_stage_count = 3});
  const std::vector<ChunkBytes> chunks(3, {.held = Bytes(4 * 106'954'752)});
  const double gib = static_cast<double>(in_flight.Peak(0, chunks)->size.value()) / (1 << 30);
  EXPECT_NEAR(gib, 12.35, 0.005);
}

// A fault of a peer: its factor for interleaved stages forgets that no more micro-batches are in
// flight than a step has. Of 8 on 8 stages with 3 chunks it says 31 passes, where there are 24.
TEST(InFlight, PeerFaultOfInterleavedStagesWithFewMicroBatches) {
  const ParallelLayout layout = {.pipeline_parallel_size = 8, .virtual_stage_count = 3};
  EXPECT_EQ(MostOf({.micro_batch_count = 8}, layout, 0).held, 24);
  EXPECT_EQ(MostOf({.micro_batch_count = 16}, layout, 0).held, 31);
}

// arXiv 2401.10241, section 2: H1 has no more than 1F1B's first stage on any stage, H2 up to
// 2 p - 1, all of them with their weight gradients.
TEST(InFlight, OfZeroBubbleSchedules) {
  const ParallelLayout layout = {.pipeline_parallel_size = 8};
  for (int64_t stage = 0; stage < 8; ++stage) {
    const Total h1 = MostOf({.schedule = PipelineSchedule::kZeroBubbleH1, .micro_batch_count = 64},
                            layout, stage);
    EXPECT_EQ(h1.held, 8 - stage);
    EXPECT_EQ(h1.with_awaiting, 8);
    const Total h2 = MostOf({.schedule = PipelineSchedule::kZeroBubbleH2, .micro_batch_count = 64},
                            layout, stage);
    EXPECT_EQ(h2.held, 2 * (8 - stage) - 1);
    EXPECT_EQ(h2.with_awaiting, 15);
    EXPECT_LE(
        MostOf({.schedule = PipelineSchedule::kZeroBubbleH2, .micro_batch_count = 5}, layout, stage)
            .with_awaiting,
        5);
  }
}

// The paper's sums for device i (from 0): (p - i) M_B + i M_W and (2 (p - i) - 1) M_B + 2 i M_W, W
// keeping less than B.
TEST(InFlight, OfZeroBubbleSchedulesWeighsAsPublished) {
  const ParallelLayout layout = {.pipeline_parallel_size = 8};
  const std::vector<ChunkBytes> chunk = {
      {.held = Bytes(34), .awaiting_weight_gradient = Bytes(32)}};
  const InFlight h1({.schedule = PipelineSchedule::kZeroBubbleH1, .micro_batch_count = 64}, layout);
  const InFlight h2({.schedule = PipelineSchedule::kZeroBubbleH2, .micro_batch_count = 64}, layout);
  for (int64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(h1.Peak(i, chunk)->size, Bytes((8 - i) * 34 + i * 32));
    EXPECT_EQ(h2.Peak(i, chunk)->size, Bytes((2 * (8 - i) - 1) * 34 + 2 * i * 32));
  }
}

// README.md of deepseek-ai/DualPipe: p + 1. Each stage's own layers have more the earlier it is.
TEST(InFlight, OfDualPipe) {
  const PipelineSpec pipeline = {.schedule = PipelineSchedule::kDualPipe, .micro_batch_count = 20};
  const ParallelLayout layout = {.pipeline_parallel_size = 8};
  const InFlight in_flight(pipeline, layout);
  for (int64_t stage = 0; stage < 8; ++stage) {
    const Total most = MostOf(pipeline, layout, stage);
    EXPECT_EQ(most.held, 9);
    EXPECT_EQ(most.with_awaiting, 9);
    const std::vector<ChunkBytes> own = {{.held = Bytes(1)}, {}};
    EXPECT_EQ(in_flight.Peak(stage, own)->size, Bytes(8 - stage));
    const std::vector<ChunkBytes> opposite = {{}, {.held = Bytes(1)}};
    EXPECT_EQ(in_flight.Peak(stage, opposite)->size, Bytes(stage + 1));
  }
}

// Seconds if a point cost a chunk each; forever if a micro-batch cost anything.
TEST(InFlight, CostsLittleAtTheLimits) {
  for (const int64_t p : {2, 4096}) {
    const int64_t v = kMaxChunks / p;
    const int64_t m = 1'000'000'000 / p * p;
    const InFlight in_flight = InFlight::Of({.micro_batch_count = m},
                                            {.pipeline_parallel_size = p, .virtual_stage_count = v})
                                   .value();
    std::vector<ChunkBytes> chunks(static_cast<size_t>(v), {.held = Bytes(1'000'000'000)});
    chunks[0].backward_work = Bytes(1);
    for (int64_t stage = 0; stage < p; ++stage) {
      const int64_t passes = 2 * (p - 1 - stage) + (v - 1) * p + 1;
      ASSERT_EQ(in_flight.Peak(stage, chunks)->size, Bytes(passes * 1'000'000'000 + 1));
    }
  }
  const InFlight gpipe({.schedule = PipelineSchedule::kGPipe, .micro_batch_count = 1'000'000'000},
                       {.pipeline_parallel_size = 4096});
  const std::vector<ChunkBytes> chunk = {{.held = Bytes(9'000'000'000)}};
  EXPECT_EQ(gpipe.Peak(4095, chunk)->size, Bytes(9'000'000'000'000'000'000));
}

TEST(InFlight, SumsThatOverflowAreRefused) {
  const Bytes most(std::numeric_limits<int64_t>::max());
  const std::vector<ChunkBytes> one = {{.held = most}};
  EXPECT_EQ(InFlight(PipelineSpec{}, {}).Peak(0, one)->size, most);
  const std::vector<ChunkBytes> more = {{.held = most, .backward_work = Bytes(1)}};
  EXPECT_THAT(InFlight(PipelineSpec{}, {}).Peak(0, more),
              NamesFields(ElementsAre("layout.global_batch_size")));
  const std::vector<ChunkBytes> many(64, {.held = most, .backward_work = most});
  EXPECT_THAT(InFlight({.micro_batch_count = 1'000'000'000},
                       {.pipeline_parallel_size = 8, .virtual_stage_count = 64})
                  .Peak(0, many),
              NamesFields(ElementsAre("layout.global_batch_size")));
}

// Chunks of all kinds, alike or not.
TEST(InFlight, FirstStagesHoldMostWhereItSaysSo) {
  for (int64_t p = 2; p <= 6; ++p) {
    for (const int64_t micro_batches : {p, 2 * p, 3 * p}) {
      const InFlight in_flight({.micro_batch_count = micro_batches},
                               {.pipeline_parallel_size = p, .virtual_stage_count = 3});
      ASSERT_TRUE(in_flight.FirstStagesHoldMost());
      for (int bits = 0; bits < 64; ++bits) {
        std::vector<ChunkBytes> chunks(3);
        for (size_t i = 0; i < 3; ++i) {
          chunks[i].held = Bytes((bits >> i & 1) != 0 ? 5 : 1);
          chunks[i].backward_work = Bytes((bits >> (3 + i) & 1) != 0 ? 40 : 0);
        }
        for (int64_t stage = 1; stage < p; ++stage) {
          EXPECT_LE(in_flight.Peak(stage, chunks)->size, in_flight.Peak(stage - 1, chunks)->size)
              << p << " " << micro_batches << " " << bits;
        }
      }
    }
  }
  // Zero-bubble H2 runs forward while weight gradients wait, the more the later the stage.
  const InFlight zero_bubble({.schedule = PipelineSchedule::kZeroBubbleH2, .micro_batch_count = 16},
                             {.pipeline_parallel_size = 4});
  EXPECT_FALSE(zero_bubble.FirstStagesHoldMost());
}

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
  const InFlight in_flight = InFlight::Of(pipeline, layout).value();
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
