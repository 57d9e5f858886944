// The changes of a run that are tried and make it fit, and the search among them. It leaves stages
// out that need not be looked at, and answers what one that looks at all stages of all choices
// does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/memory/ledger/memory_model.h"
#include "engine/model/presets/presets.h"
#include "engine/run/memory_estimate.h"
#include "engine/run/plan.h"
#include "tests/engine/memory/ledger/random_job.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/engine/run/plan_parts.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// The process memory of the stage with the highest high end; absent where the choice contradicts
// itself.
absl::optional<BytesInterval> ProcessOf(const JobContext& context, const JobChoice& choice) {
  FieldViolations violations;
  const MemoryJob job = JobOf(context, choice, violations);
  if (!violations.empty()) return absl::nullopt;
  const auto model = MemoryModel::Of(context.spec, job);
  if (!model.ok()) return absl::nullopt;
  BytesInterval most;
  for (int64_t stage = 0; stage < model->stage_count(); ++stage) {
    const auto memory = model->Stage(stage);
    if (!memory.ok()) return absl::nullopt;
    if (memory->process.high > most.high) most = memory->process;
  }
  return most;
}

// Changes of one setting, or of two.
using Changes = std::vector<RunChange>;

bool TryAll(const JobContext& context, const JobChoice& choice, Bytes usable,
            const Changes& changes, FittingChanges& out) {
  JobChoice changed = choice;
  FittingChange found;
  for (const RunChange& change : changes) {
    for (const ChangedSetting& setting : Apply(change, changed)) found.settings.push_back(setting);
    const SettingCost cost = CostOf(change);
    found.cost = std::max(found.cost, cost.kind);
    absl::StrAppend(&found.cost_text, found.cost_text.empty() ? "" : "; ", cost.text);
  }
  ++out.considered;
  const auto process = ProcessOf(context, changed);
  if (!process.has_value() || process->high > usable) return false;
  found.process = *process;
  out.changes.push_back(found);
  return true;
}

// In the order in which they are tried.
std::vector<Changes> PairsOf(const Changes& changes) {
  std::vector<Changes> out;
  for (const RunChange& first : changes) {
    for (const RunChange& second : changes) {
      if (first.setting < second.setting) out.push_back({first, second});
    }
  }
  const auto places = [](const Changes& pair) {
    return static_cast<int>(pair[0].setting) + static_cast<int>(pair[1].setting);
  };
  std::stable_sort(out.begin(), out.end(),
                   [&places](const Changes& a, const Changes& b) { return places(a) < places(b); });
  return out;
}

struct PlainSearch {
  FittingChanges all;
  bool pair = false;  // the first of them is one
};

PlainSearch SearchPlainly(const JobContext& context, const JobChoice& choice, Bytes usable) {
  const auto cheap = [](const RunChange& change) {
    return change.setting < RunSetting::kDeviceCount;
  };
  Changes all = ChangesOf(context, choice);
  PlainSearch search;
  FittingChanges& out = search.all;
  absl::optional<RunSetting> last;
  bool cheap_one = false;
  for (const RunChange& change : all) {
    if (last == change.setting || !TryAll(context, choice, usable, {change}, out)) continue;
    last = change.setting;
    cheap_one = cheap_one || cheap(change);
  }
  if (cheap_one) return search;
  if (!out.changes.empty()) {
    all.erase(std::remove_if(all.begin(), all.end(), [&](const auto& c) { return !cheap(c); }),
              all.end());
  }
  for (const Changes& pair : PairsOf(all)) {
    if (!TryAll(context, choice, usable, pair, out)) continue;
    std::rotate(out.changes.begin(), out.changes.end() - 1, out.changes.end());
    search.pair = true;
    break;
  }
  return search;
}

// The choice of a random job on as many devices as it has ranks. Small models hold less than any
// driver, so the driver's memory is left out.
JobChoice ChoiceOf(const RandomJob& random, uint32_t seed) {
  const MemoryJob& job = random.job;
  JobChoice out;
  out.layout.parallel = AsGiven(job.layout);
  out.layout.context_parallel_size = job.batch.context_parallel_size;
  out.layout.context_parallel_kind = ContextParallelKind::kRing;  // heads are any number
  out.layout.sequence_parallel = job.batch.sequence_parallel;
  out.layout.micro_batch_size = 2 * job.batch.sequence_count;
  out.layout.schedule = job.pipeline.schedule;
  out.layout.zero_stage = job.state.sharding.zero_stage;
  out.layout.sharding = job.state.sharding;
  out.layout.kernels = job.batch;
  out.layout.framework = {.kind = static_cast<Framework>(seed % 3),
                          .workspace_bytes = 0,
                          .context_bytes = 0,
                          .communicator_bytes = 0};
  out.recompute = job.batch.recomputation.policy;
  out.sequence_length = 256 * job.batch.sequence_length;
  out.encoder_sequence_length = 256 * job.batch.encoder_sequence_length;
  const int64_t data = job.state.sharding.data_parallel_size;
  out.device_count = job.layout.tensor_parallel_size * job.layout.pipeline_parallel_size *
                     job.batch.context_parallel_size * data;
  if (job.pipeline.schedule == PipelineSchedule::kGPipe || seed % 2 == 0) {
    out.layout.global_batch_size =
        *out.layout.micro_batch_size * data * job.pipeline.micro_batch_count;
  }
  return out;
}

void ExpectSame(const FittingChanges& found, const FittingChanges& plain) {
  EXPECT_EQ(found.considered, plain.considered);
  ASSERT_EQ(found.changes.size(), plain.changes.size());
  for (size_t i = 0; i < plain.changes.size(); ++i) {
    const FittingChange& a = found.changes[i];
    const FittingChange& b = plain.changes[i];
    EXPECT_EQ(a.cost, b.cost);
    EXPECT_EQ(a.process.low, b.process.low);
    EXPECT_EQ(a.process.expected, b.process.expected);
    EXPECT_EQ(a.process.high, b.process.high);
    ASSERT_EQ(a.settings.size(), b.settings.size());
    for (size_t k = 0; k < b.settings.size(); ++k) {
      EXPECT_EQ(a.settings[k].field, b.settings[k].field);
      EXPECT_EQ(a.settings[k].from, b.settings[k].from);
      EXPECT_EQ(a.settings[k].to, b.settings[k].to);
    }
  }
}

// The values that changes of `setting` would give it, in order.
std::vector<int64_t> ValuesOf(RunSetting setting, const JobChoice& choice) {
  const ArchitectureSpec& mixture = FindModelPreset("mixtral-8x7b").value()->architecture;
  const PrecisionPolicy precision = WithDefaults(PrecisionPolicy());
  const OptimizerSpec optimizer;
  std::vector<int64_t> out;
  for (const RunChange& change : ChangesOf({mixture, precision, optimizer}, choice)) {
    if (change.setting == setting) out.push_back(change.value);
  }
  return out;
}

TEST(RunChanges, RanksDoubleUpToAllDevices) {
  for (const RunSetting setting :
       {RunSetting::kTensorParallelSize, RunSetting::kContextParallelSize,
        RunSetting::kPipelineParallelSize, RunSetting::kExpertParallelSize}) {
    EXPECT_THAT(ValuesOf(setting, {.device_count = 8}), ElementsAre(2, 4, 8));
    EXPECT_THAT(ValuesOf(setting, {.device_count = 7}), ElementsAre(2, 4));
  }
  // Tensor parallelism stays within a fast domain.
  EXPECT_THAT(ValuesOf(RunSetting::kTensorParallelSize, {.device_count = 256}),
              ElementsAre(2, 4, 8, 16, 32, 64));
}

TEST(RunChanges, DevicesDoubleUpToThoseThatARunMayHave) {
  EXPECT_THAT(ValuesOf(RunSetting::kDeviceCount, {.device_count = 3}),
              ElementsAre(6, 12, 24, 48, 96, 192));
  EXPECT_THAT(ValuesOf(RunSetting::kDeviceCount, {.device_count = 500'000}),
              ElementsAre(1'000'000));
}

TEST(RunChanges, LengthsAndMicroBatchesAreHalved) {
  EXPECT_THAT(ValuesOf(RunSetting::kSequenceLength, {.sequence_length = 4096}),
              ElementsAre(2048, 1024, 512));
  EXPECT_THAT(ValuesOf(RunSetting::kMicroBatchSize, {.layout = {.micro_batch_size = 4}}),
              ElementsAre(2, 1));
}

TEST(FittingChangesSearch, FindsWhatAPlainSearchDoes) {
  int64_t none = 0;
  int64_t singles = 0;
  int64_t pairs = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const RandomJob random = DrawJob(seed);
    const JobContext context = {random.spec, random.job.state.precision,
                                random.job.state.optimizer};
    const JobChoice choice = ChoiceOf(random, seed);
    const auto process = ProcessOf(context, choice);
    ASSERT_TRUE(process.has_value());
    FieldViolations violations;
    const auto model = MemoryModel::Of(context.spec, JobOf(context, choice, violations));
    ASSERT_THAT(model, IsOk());
    for (const double share : {0.02, 0.2, 0.5, 0.9}) {
      const Bytes usable(static_cast<int64_t>(share * static_cast<double>(process->high.value())));
      CallWork work;
      const auto found = FindFittingChanges(
          {.context = context,
           .choice = choice,
           .model = *model,
           .limits = {.usable = usable, .server = {.memory = Bytes(1'000'000'000'000'000)}},
           .work = work});
      ASSERT_THAT(found, IsOk());
      const PlainSearch plain = SearchPlainly(context, choice, usable);
      ExpectSame(*found, plain.all);
      ++(plain.all.changes.empty() ? none : plain.pair ? pairs : singles);
    }
  }
  // All three cases occur.
  EXPECT_GT(none, 10);
  EXPECT_GT(singles, 10);
  EXPECT_GT(pairs, 10);
}

TEST(FittingChanges, EachMakesItFit) {
  RunSpec run = Tp8Pp4();
  run.layout->micro_batch_size = 2;
  run.cluster.device_memory_bytes = 60'000'000'000;
  const Plan plan = Planned(run);
  const MemoryEstimate& memory = *plan.memory_estimate;
  EXPECT_EQ(plan.verdict(), Verdict::kDoesNotFit);
  ASSERT_THAT(memory.changes, Not(IsEmpty()));
  for (const FittingChange& change : memory.changes) {
    EXPECT_THAT(change.settings, Not(IsEmpty()));
    EXPECT_LE(change.process.high, memory.usable) << change.settings[0].field;
    EXPECT_FALSE(change.cost_text.empty());
  }
}

// A verdict stays where settings that are not modelled can only confirm it.
TEST(UnmodelledSettings, LeaveTheVerdictOpen) {
  RunSpec run = Tp8Pp4();
  run.layout->micro_batch_size = 2;
  run.cluster.device_memory_bytes = 60'000'000'000;
  const MemoryEstimate known = EstimateOf(run);
  ASSERT_EQ(known.verdict, Verdict::kDoesNotFit);
  run.layout->unmodelled_settings = {"checkpointing = some"};
  const MemoryEstimate open = EstimateOf(run);
  EXPECT_EQ(open.verdict, Verdict::kTight);
  EXPECT_EQ(open.peak().process.expected, known.peak().process.expected);
  EXPECT_THAT(open.unmodelled_settings, ElementsAre("checkpointing = some"));
  EXPECT_EQ(open.changes.size(), known.changes.size());
  const auto verdict = [&run](MemoryEffect effect, int64_t bytes) {
    run.layout->unmodelled_effect = effect;
    run.cluster.device_memory_bytes = bytes;
    return EstimateOf(run).verdict;
  };
  EXPECT_EQ(verdict(MemoryEffect::kLowers, 60'000'000'000), Verdict::kTight);
  EXPECT_EQ(verdict(MemoryEffect::kRaises, 60'000'000'000), Verdict::kDoesNotFit);
  EXPECT_EQ(verdict(MemoryEffect::kEither, 160'000'000'000), Verdict::kTight);
  EXPECT_EQ(verdict(MemoryEffect::kLowers, 160'000'000'000), Verdict::kFits);
  EXPECT_EQ(verdict(MemoryEffect::kRaises, 160'000'000'000), Verdict::kTight);
}

TEST(UnmodelledSettings, HaveBounds) {
  RunSpec run = Tp8Pp4();
  const auto fields_of = [&run] {
    std::vector<std::string> out;
    for (const auto& each : FieldViolationsOf(PlanRun(run).status())) out.push_back(each.field);
    return out;
  };
  run.layout->unmodelled_settings = {std::string(256, 'x'), "", std::string(257, 'x')};
  EXPECT_THAT(fields_of(),
              ElementsAre("layout.unmodelled_settings[1]", "layout.unmodelled_settings[2]"));
  run.layout->unmodelled_settings.assign(64, "x");
  EXPECT_THAT(fields_of(), IsEmpty());
  run.layout->unmodelled_settings.emplace_back("x");
  EXPECT_THAT(fields_of(), ElementsAre("layout.unmodelled_settings"));
}

// A change's figures are those of a request with the change.
TEST(FittingChanges, AreWhatTheChangedRunHolds) {
  RunSpec run = Tp8Pp4();
  run.layout->micro_batch_size = 2;
  run.cluster.device_memory_bytes = 60'000'000'000;
  const MemoryEstimate memory = EstimateOf(run);
  const auto full =
      std::find_if(memory.changes.begin(), memory.changes.end(), [](const FittingChange& change) {
        return change.settings[0].field == "training.recompute" &&
               change.settings[0].to == SettingValue(RecomputePolicy::kFull);
      });
  ASSERT_NE(full, memory.changes.end());
  run.training.recompute = RecomputePolicy::kFull;
  const MemoryEstimate changed = EstimateOf(run);
  EXPECT_EQ(changed.verdict, Verdict::kFits);
  EXPECT_EQ(changed.peak().process.high, full->process.high);
  EXPECT_EQ(changed.peak().process.expected, full->process.expected);
}

// 70.6e9 parameters at 16 bytes over TP 8 are 141 GB a device of 40: one more of anything that
// takes no host memory won't do.
TEST(FittingChanges, APairWhereNoSingleOneWillDo) {
  RunSpec run = Tp8Pp4();
  run.cluster.device.accelerator = "a100-sxm-40";
  run.cluster.device_count = 8;
  run.layout->parallel.pipeline_parallel_size = 1;
  run.layout->global_batch_size = 8;
  run.cluster.device_memory_bytes = 40'000'000'000;
  const MemoryEstimate memory = EstimateOf(run);
  EXPECT_EQ(memory.verdict, Verdict::kDoesNotFit);
  ASSERT_THAT(memory.changes, Not(IsEmpty()));
  EXPECT_GE(memory.changes[0].settings.size(), 2u);
  for (const FittingChange& change : memory.changes) {
    EXPECT_LE(change.process.high, memory.usable);
  }
  EXPECT_GT(memory.changes_considered, 10);
}

// Case D on devices of 38 GB: sixteen times the devices would do; two settings are cheaper.
TEST(FittingChanges, APairIsCheaperThanMoreDevices) {
  RunSpec run;
  run.model.preset = "mixtral-8x7b";
  run.training.token_count = 1;
  run.training.sequence_length = 4096;
  run.training.precision.gradient_data_type = DataType::kFp32;
  run.cluster.device.accelerator = "a100-sxm-40";
  run.cluster.device_memory_bytes = 38'000'000'000;
  run.cluster.device_count = 32;
  run.layout = RunLayout();
  run.layout->parallel = {.pipeline_parallel_size = 4, .expert_parallel_size = 8};
  run.layout->global_batch_size = 256;
  run.layout->zero_stage = ZeroStage::kOptimizer;
  const MemoryEstimate memory = EstimateOf(run);
  ASSERT_THAT(memory.changes, SizeIs(2));
  EXPECT_GE(memory.changes[0].settings.size(), 2u);
  for (const ChangedSetting& setting : memory.changes[0].settings) {
    EXPECT_NE(setting.field, "cluster.device_count");
  }
  ASSERT_THAT(memory.changes[1].settings, SizeIs(1));
  EXPECT_EQ(memory.changes[1].settings[0].field, "cluster.device_count");
}

// A change that a request refuses is none.
TEST(FittingChanges, StayWithinTheLimitsOfRequests) {
  RunSpec run = Tp8Pp4();
  run.cluster.device_count = 600'000 / 32 * 32;
  run.layout->global_batch_size = absl::nullopt;
  run.cluster.device_memory_bytes = 20'000'000'000;
  for (const FittingChange& change : EstimateOf(run).changes) {
    for (const ChangedSetting& setting : change.settings) {
      EXPECT_NE(setting.field, "cluster.device_count");
    }
  }
}

TEST(FittingChanges, NoneWhereItFits) {
  RunSpec run = Tp8Pp4();
  run.cluster.device_memory_bytes = 1'000'000'000'000;
  const MemoryEstimate memory = EstimateOf(run);
  EXPECT_EQ(memory.verdict, Verdict::kFits);
  EXPECT_THAT(memory.changes, IsEmpty());
  EXPECT_EQ(memory.changes_considered, 0);
}

}  // namespace
}  // namespace sextant
