// Times of pipelines against published bubbles, hand calculations, and a pipeline that runs all
// passes of the step one by one.
#include "engine/time/pipeline_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/time/pipeline_simulation.h"
#include "tests/engine/memory/schedule/simulation.h"

namespace sextant {
namespace {

using ::testing::DoubleNear;

constexpr PipelineSchedule kSchedules[] = {
    PipelineSchedule::kOneForwardOneBackward, PipelineSchedule::kGPipe,
    PipelineSchedule::kZeroBubbleH1, PipelineSchedule::kZeroBubbleH2, PipelineSchedule::kDualPipe};

ChunkTime Times(double forward, double input, double weight) {
  return {Seconds(forward), Seconds(input), Seconds(weight)};
}

struct PipelineJob {
  PipelineSpec pipeline = {};
  ParallelLayout layout = {};
  std::vector<ChunkTime> chunks = {};
  double send = 0;

  int64_t ChunksOfStage() const {
    const bool two = pipeline.schedule == PipelineSchedule::kDualPipe;
    return two ? 2 : layout.virtual_stage_count;
  }
  PipelineInput Input() const {
    return {.pipeline = pipeline, .layout = layout, .chunks = chunks, .send = Seconds(send)};
  }
  PipelineTime Time() const { return TimeOfPipeline(Input()); }
};

std::string Text(const PipelineJob& job) {
  std::string text = absl::StrCat(
      PipelineScheduleName(job.pipeline.schedule), " p ", job.layout.pipeline_parallel_size, " v ",
      job.layout.virtual_stage_count, " m ", job.pipeline.micro_batch_count, " send ", job.send);
  for (const ChunkTime& time : job.chunks) {
    absl::StrAppend(&text, " (", time.forward.value(), " ", time.input_gradient.value(), " ",
                    time.weight_gradient.value(), ")");
  }
  return text;
}

PipelineJob EvenJob(PipelineSchedule schedule, int64_t stages, int64_t count, ChunkTime time) {
  PipelineJob job = {.pipeline = {.schedule = schedule, .micro_batch_count = count},
                     .layout = {.pipeline_parallel_size = stages}};
  job.chunks.assign(static_cast<size_t>(stages * job.ChunksOfStage()), time);
  return job;
}

class RandomJobs {
 public:
  explicit RandomJobs(unsigned seed) : random_(seed) {}

  double Number() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  int64_t Whole(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  PipelineJob Next(int64_t most_micro_batches) {
    PipelineJob job;
    int64_t stages = Whole(1, 8);
    int64_t count = Whole(1, most_micro_batches);
    job.pipeline.schedule = kSchedules[Whole(0, 4)];
    if (job.pipeline.schedule == PipelineSchedule::kOneForwardOneBackward && Whole(0, 1) == 0) {
      job.layout.virtual_stage_count = Whole(2, 4);
      count = (count / stages + 1) * stages;
    }
    if (job.pipeline.schedule == PipelineSchedule::kDualPipe) {
      stages = (stages + 1) / 2 * 2;
      count = std::max(2 * stages, count / 2 * 2);
    }
    job.pipeline.micro_batch_count = count;
    job.layout.pipeline_parallel_size = stages;
    if (Whole(0, 1) == 0) job.send = Number() * (Whole(0, 1) == 0 ? 0.03 : 0.5);
    SetTimes(static_cast<size_t>(stages * job.ChunksOfStage()), job.chunks);
    return job;
  }

 private:
  // Even; slower first and last; nearly even; of any length.
  void SetTimes(size_t count, std::vector<ChunkTime>& chunks) {
    const ChunkTime time = Times(Number(), Number(), Number());
    chunks.assign(count, time);
    const int64_t kind = Whole(0, 3);
    const auto scaled = [&](double by) {
      return ChunkTime{time.forward * by, time.input_gradient * by, time.weight_gradient * by};
    };
    if (kind == 1) {
      chunks.front() = scaled(1 + 0.3 * Number());
      chunks.back() = scaled(1 + 0.3 * Number());
    }
    for (ChunkTime& chunk : chunks) {
      if (kind == 2) chunk = scaled(1 + 1e-3 * Number());
      if (kind == 3) chunk = Times(Number(), Number(), Number());
    }
  }

  std::mt19937 random_;
};

double SecondsOfPass(const ChunkTime& time, ScheduleWork work) {
  if (work == ScheduleWork::kForward) return time.forward.value();
  const double input = time.input_gradient.value();
  const double weight = time.weight_gradient.value();
  if (work == ScheduleWork::kBackward) return input + weight;
  return work == ScheduleWork::kInputGradient ? input : weight;
}

void ExpectAsRun(const PipelineJob& job) {
  const auto seconds = [&job](const WorkItem& item, int64_t stage) {
    const int64_t chunk = stage * job.ChunksOfStage() + item.chunk;
    return SecondsOfPass(job.chunks[static_cast<size_t>(chunk)], item.work);
  };
  const Simulation run =
      Simulator(job.pipeline, job.layout, {.of = seconds, .send = job.send}).Run();
  double total = 0;
  double longest = 0;
  for (const SimulatedStage& stage : run.stages) {
    total = std::max(total, stage.end);
    longest = std::max(longest, stage.end - stage.start);
  }
  const PipelineTime time = job.Time();
  ASSERT_FALSE(run.deadlock);
  ASSERT_NE(time.method, PipelineMethod::kApproximation) << Text(job);
  ASSERT_THAT(time.total.value(), DoubleNear(total, 1e-9 * total)) << Text(job);
  ASSERT_THAT(time.longest_stage.value(), DoubleNear(longest, 1e-9 * total)) << Text(job);
}

TEST(PipelineTime, IsThatOfAllPassesRunOneByOne) {
  RandomJobs jobs(1);
  for (int i = 0; i < 3000; ++i) ASSERT_NO_FATAL_FAILURE(ExpectAsRun(jobs.Next(40)));
}

// Long enough that most micro-batches are left out.
TEST(PipelineTime, IsThatOfAllPassesOfLongSteps) {
  RandomJobs jobs(2);
  for (int i = 0; i < 300; ++i) ASSERT_NO_FATAL_FAILURE(ExpectAsRun(jobs.Next(600)));
}

// Interleaved stages, tick by tick: to the last digit what the simulation of the orders gives,
// which leaves nothing out of so few micro-batches.
TEST(PipelineTime, TicksOfInterleavedStagesAreTheSimulations) {
  RandomJobs jobs(7);
  for (int i = 0; i < 2000;) {
    const PipelineJob job = jobs.Next(12);
    if (job.layout.virtual_stage_count == 1 || job.layout.pipeline_parallel_size == 1) continue;
    ++i;
    const InterleavedTimes sends = {job.send, 0};
    const auto ticks = InterleavedSeconds(job.Input(), sends);
    for (size_t each = 0; each < sends.size(); ++each) {
      PipelineOrders orders;
      const auto simulated = SimulatePipeline(job.Input(), sends[each], orders);
      ASSERT_TRUE(simulated.has_value() && ticks.has_value()) << Text(job);
      ASSERT_EQ((*ticks)[each], simulated->total) << Text(job);
      ASSERT_EQ((*ticks)[each], simulated->longest_stage) << Text(job);
    }
  }
}

// With 100 and 101 micro-batches alike, uneven stages, each schedule.
TEST(PipelineTime, IsThatOfAllPassesForEachCount) {
  RandomJobs jobs(3);
  for (const PipelineSchedule schedule : kSchedules) {
    PipelineJob job = EvenJob(schedule, 4, 0, {});
    for (ChunkTime& time : job.chunks) time = Times(jobs.Number(), jobs.Number(), jobs.Number());
    const int64_t unit = schedule == PipelineSchedule::kDualPipe ? 2 : 1;
    for (int64_t count = 8; count <= 140; count += unit) {
      job.pipeline.micro_batch_count = count;
      ASSERT_NO_FATAL_FAILURE(ExpectAsRun(job));
    }
  }
}

// An embedding and a head: what the first chunk takes beyond the others is at most what the last
// one does, or of interleaved stages more by what two passes hide over all micro-batches. A
// formula, equal to the passes run one by one.
TEST(PipelineTime, OfEndsThatTakeLongerIsAFormula) {
  RandomJobs jobs(6);
  for (int i = 0; i < 4000; ++i) {
    const int64_t stages = jobs.Whole(2, 8);
    const ChunkTime body = Times(0.1 + jobs.Number(), 0.1 + jobs.Number(), jobs.Number());
    PipelineJob job =
        EvenJob(PipelineSchedule::kOneForwardOneBackward, stages, jobs.Whole(1, 40), body);
    if (i % 2 == 0) {
      job.layout.virtual_stage_count = jobs.Whole(2, 5);
      job.pipeline.micro_batch_count = stages * jobs.Whole(1, 6);
      job.chunks.assign(static_cast<size_t>(stages * job.layout.virtual_stage_count), body);
    }
    const double head = jobs.Number();
    const double share = jobs.Number();
    const double other_share = jobs.Number();
    const auto longer = [&body](double more, double forward) {
      return Times(body.forward.value() + more * forward,
                   body.input_gradient.value() + more * (1 - forward),
                   body.weight_gradient.value());
    };
    job.send = i % 3 == 0 ? 0 : 0.1 * jobs.Number();
    double embedding = head * jobs.Number();
    if (i % 4 == 0) {
      const double pass =
          std::min(body.forward, body.input_gradient + body.weight_gradient).value();
      embedding = head + jobs.Number() * 2 * (pass - job.send) /
                             static_cast<double>(job.pipeline.micro_batch_count);
    }
    job.chunks.front() = longer(embedding, share);
    job.chunks.back() = longer(head, other_share);
    EXPECT_EQ(job.Time().method, PipelineMethod::kFormula) << Text(job);
    ASSERT_NO_FATAL_FAILURE(ExpectAsRun(job));
  }
}

// By hand. The first stage is slower than the last by a 10,000th, and never waits: four forward
// passes of 1.5 seconds are longer than a micro-batch's way. The last one waits for its first
// input, and decides until it has caught up after 10,000 micro-batches.
TEST(PipelineTime, ASlightlySlowerFirstStageDecidesLate) {
  PipelineJob job = EvenJob(PipelineSchedule::kOneForwardOneBackward, 4, 1000, Times(0, 0, 0));
  job.chunks[0] = Times(1.50015, 0.75, 0.75015);
  job.chunks[3] = Times(1.5, 0.75, 0.75);
  EXPECT_NEAR(job.Time().total.value(), 3.0003 + 1000 * 3, 1e-9);
  job.pipeline.micro_batch_count = 100'000;
  EXPECT_NEAR(job.Time().total.value(), 3.0003e5, 1e-6);
  job.pipeline.micro_batch_count = 100'000'000;
  EXPECT_NEAR(job.Time().total.value(), 3.0003e8, 1e-3);
}

// A slow first stage hides the others' way while its own first forward passes run.
TEST(PipelineTime, ASlowFirstStageHasNoBubble) {
  PipelineJob job = EvenJob(PipelineSchedule::kOneForwardOneBackward, 4, 64, Times(1, 1, 1));
  job.chunks[0] = Times(10, 5, 5);
  EXPECT_DOUBLE_EQ(job.Time().total.value(), 64 * 20);
  EXPECT_DOUBLE_EQ(job.Time().bubble().value(), 0);
}

// Source: arXiv 1811.06965, section 2.3; arXiv 2104.04473, section 2.2.
TEST(PipelineTime, PublishedBubbles) {
  for (int64_t p = 1; p <= 16; ++p) {
    const double others = static_cast<double>(p - 1);
    for (const auto schedule : {PipelineSchedule::kGPipe, kSchedules[0]}) {
      const PipelineJob job = EvenJob(schedule, p, 3 * p, Times(0.25, 0.5, 0.125));
      EXPECT_DOUBLE_EQ(job.Time().bubble().value(), others * 0.875);
      EXPECT_DOUBLE_EQ(job.Time().work.value(), static_cast<double>(3 * p) * 0.875);
    }
    PipelineJob job = EvenJob(kSchedules[0], p, 3 * p, {});
    job.layout.virtual_stage_count = 4;
    job.chunks.assign(static_cast<size_t>(4 * p), Times(0.25, 0.5, 0.125));
    EXPECT_DOUBLE_EQ(job.Time().bubble().value(), others * 0.875);
  }
}

// Source: arXiv 2401.10241, section 2.3, F = B = W: no stage of ZB-H2 stands still, and the last
// begins and ends p - 1 passes after the first. arXiv 2412.19437, table 2.
TEST(PipelineTime, PublishedBubblesOfSplitBackwardPasses) {
  for (int64_t p = 2; p <= 16; p += 2) {
    const double others = static_cast<double>(p - 1);
    const ChunkTime time = Times(0.5, 0.5, 0.5);
    EXPECT_DOUBLE_EQ(
        EvenJob(PipelineSchedule::kZeroBubbleH1, p, 3 * p, time).Time().bubble().value(),
        others * 0.5);
    const PipelineTime h2 = EvenJob(PipelineSchedule::kZeroBubbleH2, p, 3 * p, time).Time();
    EXPECT_DOUBLE_EQ((h2.longest_stage - h2.work).value(), 0);
    EXPECT_DOUBLE_EQ(h2.bubble().value(), others * 0.5);
    EXPECT_NEAR(EvenJob(PipelineSchedule::kDualPipe, p, 4 * p, time).Time().bubble().value(),
                static_cast<double>(p / 2 - 1) * (1.5 + 1 - 3 * 0.5), 1e-9);
  }
}

// Even stages wait for what they sent: two stages of 1 second each way, half a second between.
//   stage 0  0-1 F0  1-2 F1            5-6 B0    6-7 F2 ...
// By hand for m = 1, and for 2 stages a round trip more each two micro-batches.
TEST(PipelineTime, SendsAddUpInSteadyState) {
  PipelineJob job = EvenJob(kSchedules[0], 2, 1, Times(1, 0.5, 0.5));
  job.send = 0.5;
  EXPECT_DOUBLE_EQ(job.Time().total.value(), 4 + 1);
  EXPECT_DOUBLE_EQ(job.Time().sends.value(), 1);
  job.pipeline.micro_batch_count = 1001;
  EXPECT_DOUBLE_EQ(job.Time().total.value(), 1002 * 2 + 501 * 1);
  EXPECT_DOUBLE_EQ(job.Time().bubble().value(), 2);
}

TEST(PipelineTime, BoundsOfAllJobs) {
  RandomJobs jobs(4);
  for (int i = 0; i < 2000; ++i) {
    const PipelineJob job = jobs.Next(200);
    const PipelineTime time = job.Time();
    const double near = 1e-9 * time.total.value();
    double way = job.send * 2 * static_cast<double>(job.layout.pipeline_parallel_size - 1);
    const int64_t chunks = job.ChunksOfStage();
    for (size_t c = 0; c < job.chunks.size(); c += job.pipeline.schedule == kSchedules[4] ? 2 : 1) {
      way += (job.chunks[c].forward + job.chunks[c].input_gradient).value();
    }
    ASSERT_GE(time.total.value(), way - near) << Text(job);
    ASSERT_GE(time.longest_stage.value(), time.work.value() - near) << Text(job);
    ASSERT_GE(time.total, time.longest_stage - Seconds(near)) << Text(job);
    ASSERT_GE(time.sends.value(), -near) << Text(job);
    double most = 0;
    for (size_t c = 0; c < job.chunks.size(); ++c) {
      const ChunkTime& chunk = job.chunks[c];
      most = std::max(most, (chunk.forward + chunk.input_gradient + chunk.weight_gradient).value());
    }
    const double passes = static_cast<double>(job.pipeline.micro_batch_count * chunks);
    ASSERT_LE(time.work.value(), most * passes + near) << Text(job);
  }
}

// Nothing gets faster by more micro-batches or a slower chunk, and units don't matter.
TEST(PipelineTime, GrowsWithCountAndTimes) {
  RandomJobs jobs(5);
  for (int i = 0; i < 1000; ++i) {
    const PipelineJob job = jobs.Next(200);
    const double total = job.Time().total.value();
    PipelineJob more = job;
    more.pipeline.micro_batch_count += 2 * job.layout.pipeline_parallel_size;
    ASSERT_GE(more.Time().total.value(), total * (1 - 1e-9)) << Text(job);
    PipelineJob slower = job;
    ChunkTime& chunk = slower.chunks[static_cast<size_t>(
        jobs.Whole(0, static_cast<int64_t>(job.chunks.size()) - 1))];
    Seconds* parts[] = {&chunk.forward, &chunk.input_gradient, &chunk.weight_gradient};
    Seconds& part = *parts[jobs.Whole(0, 2)];
    part = part + Seconds(jobs.Number());
    ASSERT_GE(slower.Time().total.value(), total * (1 - 1e-9)) << Text(job);
    PipelineJob scaled = job;
    for (ChunkTime& time : scaled.chunks) {
      time = {time.forward * 8, time.input_gradient * 8, time.weight_gradient * 8};
    }
    scaled.send *= 8;
    ASSERT_NEAR(scaled.Time().total.value(), 8 * total, 1e-8 * total) << Text(job);
  }
}

// Chunks of a stage that are a v-th each.
TEST(PipelineTime, InterleavingEvenStagesIsNeverSlower) {
  RandomJobs jobs(6);
  for (int i = 0; i < 1000; ++i) {
    const int64_t p = jobs.Whole(1, 8);
    const ChunkTime time = Times(jobs.Number(), jobs.Number(), jobs.Number());
    PipelineJob job = EvenJob(kSchedules[0], p, p * jobs.Whole(1, 10), time);
    const double plain = job.Time().total.value();
    const int64_t v = jobs.Whole(2, 6);
    const double share = 1 / static_cast<double>(v);
    job.layout.virtual_stage_count = v;
    job.chunks.assign(
        static_cast<size_t>(p * v),
        {time.forward * share, time.input_gradient * share, time.weight_gradient * share});
    ASSERT_LE(job.Time().total.value(), plain * (1 + 1e-9)) << Text(job);
  }
}

// Beyond kMaxPipelinePasses: as much work as the slowest stage has, and more with its bubble.
TEST(PipelineTime, HugeUnevenPipelinesAreApproximate) {
  for (const PipelineSchedule schedule : kSchedules) {
    if (schedule == PipelineSchedule::kGPipe) continue;
    PipelineJob job = EvenJob(schedule, 1024, 1'000'000, Times(1, 1, 1));
    const double even = static_cast<double>(job.pipeline.micro_batch_count) * 3;
    job.chunks[7].forward = Seconds(1.01);
    const PipelineTime time = job.Time();
    EXPECT_EQ(time.method, PipelineMethod::kApproximation);
    EXPECT_GT(time.total.value(), even);
    EXPECT_LT(time.total.value(), even * 1.02);
    EXPECT_GE(time.total.value(), time.work.value());
  }
}

}  // namespace
}  // namespace sextant
