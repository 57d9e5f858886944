// The framework of a run: its defaults, what it refuses, and the changes that it allows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "engine/base/field_violation.h"
#include "engine/base/note.h"
#include "engine/run/plan.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/engine/run/plan_parts.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

RunSpec RunOn(Framework framework) {
  RunSpec run = Tp8Pp4();
  run.layout->framework.kind = framework;
  run.layout->framework.named = true;
  return run;
}

DataType TypeOf(const Plan& plan, absl::string_view term) {
  for (const StateTerm& each : plan.state.terms) {
    if (each.name == term) return each.data_type;
  }
  return DataType::kUnspecified;
}

TEST(FrameworkDefaults, AreTheTypesOfState) {
  const Plan megatron = Planned(RunOn(Framework::kMegatronLm));
  EXPECT_EQ(TypeOf(megatron, "weight"), DataType::kBf16);
  EXPECT_EQ(TypeOf(megatron, "gradient"), DataType::kFp32);
  const Plan deepspeed = Planned(RunOn(Framework::kDeepSpeed));
  EXPECT_EQ(TypeOf(deepspeed, "gradient"), DataType::kBf16);
  const Plan titan = Planned(RunOn(Framework::kTorchtitan));
  EXPECT_EQ(TypeOf(titan, "weight"), DataType::kFp32);
  EXPECT_EQ(TypeOf(titan, "master_weight"), DataType::kUnspecified);
}

// fp16 training adds gradients up in fp16 (Megatron-LM's arguments force fp32 under bf16 alone).
TEST(FrameworkDefaults, YieldToTheRequestAndToFp16) {
  RunSpec run = RunOn(Framework::kMegatronLm);
  run.training.precision.compute_data_type = DataType::kFp16;
  EXPECT_EQ(TypeOf(*PlanRun(run), "gradient"), DataType::kFp16);
  run = RunOn(Framework::kMegatronLm);
  run.training.precision.gradient_data_type = DataType::kBf16;
  EXPECT_EQ(TypeOf(*PlanRun(run), "gradient"), DataType::kBf16);
}

// Megatron-Bridge's recipes in fp8 reduce gradients in bf16, Megatron-LM adds them up in fp32.
TEST(FrameworkDefaults, OfGradientsDependOnWhatIsComputedIn) {
  for (const DataType type : {DataType::kFp8, DataType::kFp8E4m3}) {
    RunSpec run = RunOn(Framework::kMegatronBridge);
    EXPECT_EQ(TypeOf(Planned(run), "gradient"), DataType::kFp32);
    run.training.precision.compute_data_type = type;
    EXPECT_EQ(TypeOf(Planned(run), "gradient"), DataType::kBf16);
    EXPECT_EQ(TypeOf(Planned(run), "weight"), DataType::kBf16);
    run.layout->framework.kind = Framework::kMegatronLm;
    EXPECT_EQ(TypeOf(Planned(run), "gradient"), DataType::kFp32);
  }
}

RunSpec OlmoeOn(Framework framework, const char* preset = "olmoe-1b-7b") {
  RunSpec run = RunOn(framework);
  run.model = {};
  run.model.preset = preset;
  run.layout->parallel = {};
  run.cluster.device_count = 8;
  return run;
}

// The recipe's types, each unless the run gives it; of a whole model that Adam trains in bf16.
TEST(FrameworkDefaults, AreThoseOfTheModelsOwnRecipe) {
  const auto types = [](const RunSpec& run) {
    const Plan plan = Planned(run);
    return std::vector<DataType>{TypeOf(plan, "gradient"), TypeOf(plan, "first_moment")};
  };
  const DataType narrow = DataType::kBf16;
  const DataType wide = DataType::kFp32;
  RunSpec run = OlmoeOn(Framework::kMegatronBridge);
  EXPECT_THAT(types(run), ElementsAre(narrow, narrow));
  EXPECT_EQ(Planned(run).memory_estimate->recipe, "olmoe_7b");
  EXPECT_THAT(types(OlmoeOn(Framework::kMegatronLm)), ElementsAre(wide, wide));
  // Moonlight's layers, of other tokens.
  EXPECT_THAT(types(OlmoeOn(Framework::kMegatronBridge, "deepseek-v2-lite")),
              ElementsAre(wide, wide));
  run.training.precision.gradient_data_type = wide;
  EXPECT_THAT(types(run), ElementsAre(wide, narrow));
  run.training.precision.optimizer_data_type = wide;
  EXPECT_EQ(Planned(run).memory_estimate->recipe, "");
  run = OlmoeOn(Framework::kMegatronBridge);
  run.training.optimizer.kind = OptimizerKind::kSgd;
  EXPECT_EQ(Planned(run).memory_estimate->recipe, "");
}

// Bytes of a stage's activations under fp8 with `inputs`, kUnspecified: by default.
int64_t ActivationsUnderFp8(RunSpec run, DataType inputs = DataType::kUnspecified) {
  run.training.precision.compute_data_type = DataType::kFp8;
  run.layout->kernels.matmul_input_data_type = inputs;
  return EstimateOf(run).stages[0].memory.of(LedgerKind::kActivation).value();
}

// Transformer Engine keeps the inputs of matrices as it multiplies them; torchao does not.
TEST(FrameworkDefaults, OfInputsAreTransformerEngines) {
  RunSpec run = RunOn(Framework::kMegatronLm);
  EXPECT_EQ(ActivationsUnderFp8(run), ActivationsUnderFp8(run, DataType::kFp8E4m3));
  EXPECT_LT(ActivationsUnderFp8(run), ActivationsUnderFp8(run, DataType::kBf16));
  run.layout->framework.transformer_engine = false;
  EXPECT_EQ(ActivationsUnderFp8(run), ActivationsUnderFp8(run, DataType::kBf16));
  const RunSpec titan = RunOn(Framework::kTorchtitan);
  EXPECT_EQ(ActivationsUnderFp8(titan), ActivationsUnderFp8(titan, DataType::kBf16));
}

// Without a layout no framework has a part: 16 bytes a parameter.
TEST(FrameworkDefaults, AreOfLayoutsAlone) {
  RunSpec run = Tp8Pp4();
  run.layout = absl::nullopt;
  const Plan plan = Planned(run);
  EXPECT_EQ(TypeOf(plan, "gradient"), DataType::kBf16);
}

// 128,256 entries among 8 ranks: to a multiple of 1,024.
TEST(FrameworkDefaults, PadTheVocabulary) {
  const Plan padded = Planned(RunOn(Framework::kMegatronLm));
  EXPECT_THAT(KindsOf(padded.notes), Contains(NoteKind::kVocabularyPadded));
  const Plan plain = Planned(RunOn(Framework::kMegatronBridge));
  EXPECT_THAT(KindsOf(plain.notes), Not(Contains(NoteKind::kVocabularyPadded)));
  const int64_t entries = 129'024 - 128'256;
  EXPECT_EQ(padded.memory_estimate->stages[0].parameter_count,
            plain.memory_estimate->stages[0].parameter_count + entries / 8 * 8192);
  // The model that is trained is the same.
  EXPECT_EQ(padded.parameters.all.total, plain.parameters.all.total);
}

// PyTorch's pipelines defer reduction at either stage, and FSDP divides weights in both.
TEST(FrameworkDefaults, FsdpsStagesAreOneUnderAPipeline) {
  RunSpec run = RunOn(Framework::kPytorchFsdp);
  run.layout->zero_stage = ZeroStage::kGradients;
  const MemoryEstimate second = EstimateOf(run);
  run.layout->zero_stage = ZeroStage::kParameters;
  const MemoryEstimate third = EstimateOf(run);
  EXPECT_EQ(second.peak().total(), third.peak().total());
  EXPECT_EQ(second.zero_stage, ZeroStage::kParameters);
  EXPECT_EQ(third.framework, Framework::kPytorchFsdp);
}

// DeepSpeed's stage 3 keeps 1e9 elements whole, with and without offload: of Llama 3.2 1B, whose
// units in work have fewer.
TEST(FrameworkDefaults, DeepSpeedKeepsWeightsWhole) {
  RunSpec run = RunOn(Framework::kDeepSpeed);
  run.model.preset = "llama-3.2-1b";
  run.layout->parallel = {};
  run.layout->zero_stage = ZeroStage::kParameters;
  run.options.full = run.options.include_ledger = true;
  for (const bool offload : {false, true}) {
    run.layout->sharding.offload_optimizer = run.layout->sharding.offload_parameters = offload;
    const MemoryEstimate memory = EstimateOf(run);
    int64_t gathered = 0;
    for (const LedgerRow& row : memory.stages.at(0).ledger) {
      gathered += row.module == "gathered_weights" ? row.elements : 0;
    }
    EXPECT_EQ(gathered, 1'000'000'000) << offload;
  }
}

std::vector<std::string> RefusedFields(const RunSpec& run) {
  std::vector<std::string> out;
  for (const FieldViolation& violation : FieldViolationsOf(PlanRun(run).status())) {
    EXPECT_THAT(violation.description,
                AllOf(HasSubstr(run.layout->framework.traits().title), HasSubstr("write")));
    out.push_back(violation.field);
  }
  return out;
}

TEST(FrameworkRefusals, NameTheFieldAndTheSource) {
  RunSpec run = RunOn(Framework::kDeepSpeed);
  run.layout->zero_stage = ZeroStage::kGradients;
  EXPECT_THAT(RefusedFields(run), ElementsAre("layout.sharding.zero_stage"));
  EXPECT_THAT(PlanRun(run).status().message(), HasSubstr("pipe/engine.py"));
  run.layout->zero_stage = ZeroStage::kOptimizer;
  run.layout->schedule = PipelineSchedule::kGPipe;
  EXPECT_THAT(RefusedFields(run), ElementsAre("layout.schedule"));
  run.layout->schedule = PipelineSchedule::kOneForwardOneBackward;
  run.layout->parallel.virtual_stage_count = 2;
  EXPECT_THAT(RefusedFields(run), ElementsAre("layout.parallel.virtual_stage_count"));
  EXPECT_THAT(RefusedFields(RunOn(Framework::kLlmFoundry)),
              ElementsAre("layout.parallel.pipeline_parallel_size"));
  run = RunOn(Framework::kTorchtitan);
  run.layout->zero_stage = ZeroStage::kOptimizer;
  EXPECT_THAT(RefusedFields(run), ElementsAre("layout.sharding.zero_stage"));
  run = RunOn(Framework::kPytorchDdp);
  run.layout->zero_stage = ZeroStage::kParameters;
  EXPECT_THAT(RefusedFields(run), ElementsAre("layout.sharding.zero_stage"));
}

// A request that names no framework gets defaults, not refusals.
TEST(FrameworkRefusals, AreOfANamedFrameworkAlone) {
  RunSpec run = Tp8Pp4();
  run.layout->schedule = PipelineSchedule::kZeroBubbleH1;
  EXPECT_THAT(PlanRun(run), IsOk());
  run.layout->framework.named = true;
  EXPECT_THAT(PlanRun(run), Not(IsOk()));
}

// DeepSpeed divides no gradients under a pipeline, so no change says so.
TEST(FrameworkRefusals, NoChangeIsAmongThem) {
  RunSpec run = RunOn(Framework::kDeepSpeed);
  run.cluster.device_memory_bytes = 40'000'000'000;
  const MemoryEstimate memory = EstimateOf(run);
  ASSERT_FALSE(memory.changes.empty());
  for (const FittingChange& change : memory.changes) {
    for (const ChangedSetting& setting : change.settings) {
      if (setting.field == "layout.sharding.zero_stage") {
        EXPECT_EQ(setting.to, SettingValue(ZeroStage::kOptimizer));
      }
      EXPECT_NE(setting.field, "layout.kernels.loss");
    }
  }
}

}  // namespace
}  // namespace sextant
