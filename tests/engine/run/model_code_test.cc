// The code that computes a run's model: its defaults, what frameworks train, and what is open where
// a run does not say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/base/field_violation.h"
#include "engine/hardware/accelerator.h"
#include "engine/run/plan.h"
#include "tests/engine/run/plan_parts.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// `preset` on eight `device`s, all state divided, one sequence of 2,048 tokens each.
RunSpec RunOf(Framework framework, absl::string_view preset,
              absl::string_view device = "a100-sxm-80") {
  RunSpec run;
  run.model.preset = preset;
  run.training.token_count = 1'000'000;
  run.training.sequence_length = 2048;
  run.cluster.device.accelerator = device;
  run.cluster.device_count = 8;
  run.options.full = true;
  RunLayout& layout = run.layout.emplace();
  layout.micro_batch_size = 1;
  layout.zero_stage = ZeroStage::kParameters;
  layout.framework.kind = framework;
  layout.framework.named = true;
  AssumeCode(layout.parallel, layout.framework);
  return run;
}

RunSpec With(RunSpec run, ModelCode code) {
  run.layout->framework.code = code;
  run.layout->framework.code_assumed = false;
  return run;
}

std::string ViolationOf(const RunSpec& run) {
  const auto violations = FieldViolationsOf(PlanRun(run).status());
  return violations.empty() ? "" : violations[0].field + ": " + violations[0].description;
}

double ExpectedGib(const RunSpec& run) {
  return static_cast<double>(EstimateOf(run).peak().process.expected.value()) / (1 << 30);
}

TEST(ModelCode, IsOfTheFrameworksThatTrainIt) {
  EXPECT_EQ(ViolationOf(With(RunOf(Framework::kDeepSpeed, "llama-2-7b"), ModelCode::kMegatron)),
            "");
  EXPECT_THAT(
      ViolationOf(With(RunOf(Framework::kMegatronLm, "llama-2-7b"), ModelCode::kTransformers)),
      HasSubstr("layout.framework.model_code: is not trained by Megatron-LM: write megatron"));
  RunSpec unnamed = With(RunOf(Framework::kDeepSpeed, "llama-2-7b"), ModelCode::kPlain);
  unnamed.layout->framework.named = false;
  EXPECT_THAT(ViolationOf(unnamed), HasSubstr("needs layout.framework.kind"));
}

// DeepSpeed has two codes: whole layers are those of transformers, whose logits of 152,064 entries
// have 14 bytes each while the loss is computed (2 + 4 kept, 4 + 4 in it), Megatron's 4 + 2.
TEST(ModelCode, OfDeepSpeedFollowsTheLayout) {
  RunSpec open = RunOf(Framework::kDeepSpeed, "qwen2.5-32b");
  open.training.recompute = RecomputePolicy::kFull;
  open.layout->micro_batch_size = 8;
  const RunSpec given = With(open, ModelCode::kTransformers);
  const RunSpec megatron = With(open, ModelCode::kMegatron);
  EXPECT_EQ(ExpectedGib(open), ExpectedGib(given));
  EXPECT_GT(ExpectedGib(given), ExpectedGib(megatron) + 8 * 2048.0 * 152064 * 6 / (1 << 30));
  RunSpec divided = RunOf(Framework::kDeepSpeed, "qwen2.5-32b");
  divided.layout->zero_stage = ZeroStage::kOptimizer;
  divided.layout->framework.code.reset();
  divided.layout->parallel.tensor_parallel_size = 2;
  AssumeCode(divided.layout->parallel, divided.layout->framework);
  EXPECT_EQ(divided.layout->framework.code, ModelCode::kMegatron);
}

// An assumed code leaves the loss open: the interval holds both.
TEST(ModelCode, AssumedOneOpensTheLoss) {
  const RunSpec open = RunOf(Framework::kDeepSpeed, "qwen2.5-32b");
  const MemoryEstimate both = EstimateOf(open);
  ASSERT_EQ(both.open_choices.size(), 2u);  // the loss, and attention as of all of transformers
  const OpenChoice& loss = both.open_choices[0];
  EXPECT_EQ(loss.setting.field, "layout.kernels.loss");
  EXPECT_TRUE(loss.spanned);
  EXPECT_LE(both.peak().process.low, loss.process.low);
  RunSpec given = open;
  given.layout->loss = LossKind::kPlain;
  given.layout->attention = AttentionKernel::kFlash;
  EXPECT_THAT(EstimateOf(given).open_choices, IsEmpty());
}

AttentionEvidence EvidenceOf(Framework framework, absl::string_view model) {
  FrameworkSpec spec;
  spec.kind = framework;
  return ClassHabitsOf(spec, model, DeviceGeneration::kHopper).evidence;
}

TEST(ClassHabits, FollowsTheCodeAndTheClass) {
  using enum AttentionEvidence;
  EXPECT_EQ(EvidenceOf(Framework::kMegatronLm, "opt-30b"), kKnown);
  EXPECT_EQ(EvidenceOf(Framework::kTorchtitan, "llama-3-8b"), kKnown);
  EXPECT_EQ(EvidenceOf(Framework::kPytorchFsdp, "llama-3-8b"), kAssumed);
  EXPECT_EQ(EvidenceOf(Framework::kHuggingFaceTrainer, "llama-3-8b"), kAssumed);
  EXPECT_EQ(EvidenceOf(Framework::kHuggingFaceTrainer, "opt-30b"), kOpen);
  FrameworkSpec trainer;
  trainer.kind = Framework::kHuggingFaceTrainer;
  EXPECT_EQ(EvidenceOf(Framework::kHuggingFaceTrainer, "gemma-2-9b"), kOpen);
  EXPECT_EQ(EvidenceOf(Framework::kHuggingFaceTrainer, "gemma-2b"), kAssumed);
  for (const char* const model : {"bloom-560m", "mpt-7b", "t5-3b", "flan-t5-xl"}) {
    const ClassHabits usual = ClassHabitsOf(trainer, model, DeviceGeneration::kHopper);
    EXPECT_EQ(usual.attention, AttentionKernel::kUnfused) << model;
    EXPECT_EQ(usual.evidence, kKnown) << model;
  }
}

// Classes got fused attention in 4.36, 4.42 and 4.46; before 4.46 the output is the loss's fp32
// copy, and from 4.50 on labels are shifted. Granite's class widens its output in all of 4.
TEST(ClassHabits, FollowsTheRelease) {
  const auto habits = [](absl::string_view model, absl::string_view release) {
    FrameworkSpec spec;
    spec.kind = Framework::kHuggingFaceTrainer;
    spec.code_release = CodeReleaseOf(release);
    return ClassHabitsOf(spec, model, DeviceGeneration::kHopper);
  };
  using enum AttentionEvidence;
  const struct {
    const char* model;
    const char* release;
    AttentionKernel attention;
    AttentionEvidence evidence;
  } classes[] = {{"llama-2-7b", "4.35.2", AttentionKernel::kUnfused, kKnown},
                 {"llama-2-7b", "4.36", AttentionKernel::kFlash, kKnown},
                 {"pythia-1b", "4.41", AttentionKernel::kUnfused, kKnown},
                 {"pythia-1b", "4.42", AttentionKernel::kFlash, kKnown},
                 {"opt-30b", "4.45", AttentionKernel::kUnfused, kKnown},
                 {"opt-30b", "5.0", AttentionKernel::kFlash, kKnown},
                 {"gpt-j-6b", "5.0", AttentionKernel::kFlash, kOpen},
                 {"bloom-560m", "5.0", AttentionKernel::kUnfused, kKnown}};
  for (const auto& each : classes) {
    const ClassHabits found = habits(each.model, each.release);
    EXPECT_EQ(found.attention, each.attention) << each.model << each.release;
    EXPECT_EQ(found.evidence, each.evidence) << each.model << each.release;
  }
  EXPECT_EQ(habits("llama-2-7b", "4.45.2").logit_copies, LogitCopies::kOutput);
  EXPECT_EQ(habits("llama-2-7b", "4.46.0.dev0").logit_copies, LogitCopies::kShifted);
  EXPECT_EQ(habits("llama-2-7b", "4.50").logit_copies, LogitCopies::kOne);
  EXPECT_EQ(habits("granite-3.1-2b", "4.57").logit_copies, LogitCopies::kOutput);
  EXPECT_EQ(habits("powerlm-3b", "4.48.1").logit_copies, LogitCopies::kOutput);
  EXPECT_EQ(habits("granite-3.1-2b", "5.0").logit_copies, LogitCopies::kOne);
  FrameworkSpec any;
  any.kind = Framework::kHuggingFaceTrainer;
  EXPECT_EQ(ClassHabitsOf(any, "llama-2-7b", DeviceGeneration::kHopper).logit_copies,
            LogitCopies::kShifted);
}

TEST(CodeRelease, IsOfTwoNumbersAtLeast) {
  EXPECT_EQ(CodeReleaseOf("4.45"), (CodeRelease{4, 45}));
  EXPECT_EQ(CodeReleaseOf("4.45.0.dev0"), (CodeRelease{4, 45}));
  for (const char* const bad : {"", "4", "4.", "v4.45", "4.x", "-4.5", "4.5.6.7.8.9", "4.99999"}) {
    EXPECT_EQ(CodeReleaseOf(bad), absl::nullopt) << bad;
  }
}

// FlashAttention 2 and cuDNN's attention need an Ampere GPU; PyTorch's has a kernel for all.
TEST(ClassHabits, FollowsTheDevice) {
  const auto kernel = [](Framework framework, DeviceGeneration generation) {
    FrameworkSpec spec;
    spec.kind = framework;
    return ClassHabitsOf(spec, "llama-2-7b", generation).attention;
  };
  EXPECT_EQ(kernel(Framework::kMegatronLm, DeviceGeneration::kBeforeAmpere),
            AttentionKernel::kUnfused);
  EXPECT_EQ(kernel(Framework::kMegatronLm, DeviceGeneration::kBeforeHopper),
            AttentionKernel::kFlash);
  EXPECT_EQ(kernel(Framework::kHuggingFaceTrainer, DeviceGeneration::kBeforeAmpere),
            AttentionKernel::kFlash);
}

// A class whose releases differ: 64 heads x 2,048^2 scores a sequence and layer, of which the
// interval knows. Where they decide whether it fits, the verdict is neither FITS nor DOES NOT FIT.
TEST(ClassHabits, OpenOnesWidenTheInterval) {
  RunSpec run = RunOf(Framework::kDeepSpeed, "opt-30b");
  run.cluster.device_count = 16;
  run.layout->micro_batch_size = 2;
  run.training.precision.compute_data_type = DataType::kFp16;
  run.layout->sharding.offload_optimizer = true;
  run.layout->sharding.offload_parameters = true;
  run.cluster.node_type = "dgx-a100";
  const MemoryEstimate estimate = EstimateOf(run);
  EXPECT_EQ(estimate.verdict, Verdict::kTight);
  const OpenChoice& attention = estimate.open_choices.back();
  EXPECT_TRUE(attention.decides);
  EXPECT_GE(estimate.peak().process.high, attention.process.high);
  run.layout->attention = AttentionKernel::kUnfused;
  EXPECT_EQ(EstimateOf(run).verdict, Verdict::kDoesNotFit);
  EXPECT_EQ(EstimateOf(run).peak().process.expected, attention.process.expected);
  run.layout->attention = AttentionKernel::kFlash;
  EXPECT_EQ(EstimateOf(run).verdict, Verdict::kFits);
}

// torch.optim makes moments in the type of the weights, of which torchtune and a run without an
// fp32 copy have 16 bits. Megatron's are fp32.
TEST(ModelCode, MomentsAreAsTheWeightsWithoutAnFp32Copy) {
  const auto moment = [](RunSpec run) {
    for (const StateTerm& term : Planned(run).state.terms) {
      if (term.name == "first_moment") return term.data_type;
    }
    return DataType::kUnspecified;
  };
  EXPECT_EQ(moment(RunOf(Framework::kTorchtune, "llama-2-7b")), DataType::kBf16);
  EXPECT_EQ(moment(RunOf(Framework::kPytorchFsdp, "llama-2-7b")), DataType::kFp32);
  RunSpec alone = RunOf(Framework::kPytorchFsdp, "llama-2-7b");
  alone.training.precision.weight_data_type = DataType::kBf16;
  alone.training.precision.master_weights = false;
  EXPECT_EQ(moment(alone), DataType::kBf16);
  alone.training.precision.optimizer_data_type = DataType::kFp32;
  EXPECT_EQ(moment(alone), DataType::kFp32);
}

// All of a run in 16 bits, whose peak is the step: weights, gradients, two moments and the copy of
// one, 5 x 2 bytes a parameter. fms-acceleration measured 72,434,837,504 bytes of Mistral-7B with
// adamw_torch of torch 2.4.1, and 35,134,836,736 of PowerLM-3B.
TEST(OptimizerStep, CopiesAMomentWhereItGoesOverAllParametersAtOnce) {
  RunSpec run = RunOf(Framework::kHuggingFaceTrainer, "mistral-7b-v0.1");
  run.cluster.device_count = 1;
  run.layout->zero_stage = ZeroStage::kNone;
  run.training.sequence_length = 4096;
  run.layout->micro_batch_size = 4;
  run.training.recompute = RecomputePolicy::kFull;
  run.training.precision.weight_data_type = DataType::kBf16;
  run.training.precision.master_weights = false;
  run.training.optimizer.loop = OptimizerLoop::kForeach;
  const MemoryEstimate foreach = EstimateOf(run);
  const StageMemory& memory = foreach.peak();
  const int64_t parameters = Planned(run).parameters.all.total;
  EXPECT_EQ(memory.phase, PeakPhase::kOptimizerStep);
  const Bytes counted = memory.of(LedgerKind::kWeight) + memory.of(LedgerKind::kGradient) +
                        memory.of(LedgerKind::kOptimizerState) + memory.of(LedgerKind::kTransient);
  EXPECT_EQ(counted, Bytes(10 * parameters));
  EXPECT_NEAR(static_cast<double>(memory.allocated.expected.value()), 72'434'837'504, 2e7);
  run.training.optimizer.loop.reset();
  const MemoryEstimate open = EstimateOf(run);
  EXPECT_EQ(open.open_choices[0].setting.field, "training.optimizer.implementation");
  EXPECT_EQ(open.open_choices[0].process.expected, memory.process.expected);
  EXPECT_GE(open.peak().process.high, memory.process.high);
}

// A paged optimizer's state is in the host's memory, and nothing else of the run is.
TEST(OptimizerStep, PagesStateToTheHost) {
  RunSpec run = RunOf(Framework::kPytorchFsdp, "llama-2-70b");
  run.cluster.node_type = "dgx-a100";
  run.training.precision.weight_data_type = DataType::kBf16;
  run.training.precision.master_weights = false;
  run.training.recompute = RecomputePolicy::kFull;
  const MemoryEstimate resident = EstimateOf(run);
  run.training.optimizer.paged = true;
  const MemoryEstimate paged = EstimateOf(run);
  const auto on = [](const MemoryEstimate& e, LedgerKind kind) { return e.peak().of(kind); };
  EXPECT_EQ(on(paged, LedgerKind::kOptimizerState), Bytes(0));
  EXPECT_EQ(on(paged, LedgerKind::kGradient), on(resident, LedgerKind::kGradient));
  EXPECT_EQ(paged.host.need, Bytes(8 * on(resident, LedgerKind::kOptimizerState).value()));
  run.training.optimizer.kind = OptimizerKind::kMuon;
  EXPECT_THAT(ViolationOf(run), HasSubstr("training.optimizer.paged: is of ADAM"));
}

// Ranks outside Megatron hold all logits: the row has the whole vocabulary on each.
TEST(ModelCode, OfTransformersHasWholeLogits) {
  RunSpec run = RunOf(Framework::kHuggingFaceTrainer, "llama-3-8b");
  run.layout->zero_stage = ZeroStage::kParameters;
  run.options.include_ledger = true;
  run.layout->parallel.tensor_parallel_size = 2;
  int64_t elements = 0;
  const MemoryEstimate estimate = EstimateOf(run);
  for (const LedgerRow& row : estimate.stages[0].ledger) {
    if (row.name == "logits") elements = row.elements;
  }
  EXPECT_EQ(elements, 2048 * 128'256);
}

TEST(Formats, AreThoseOfTheDevice) {
  EXPECT_FALSE(Multiplies("Volta", DataType::kBf16));
  EXPECT_TRUE(Multiplies("Ampere", DataType::kBf16));
  EXPECT_FALSE(Multiplies("Ampere", DataType::kFp8));
  EXPECT_TRUE(Multiplies("Hopper", DataType::kFp8E4m3));
  EXPECT_FALSE(Multiplies("Hopper", DataType::kMxfp8));
  EXPECT_TRUE(Multiplies("Blackwell", DataType::kNvfp4));

  RunSpec run = RunOf(Framework::kHuggingFaceTrainer, "llama-2-7b", "v100-sxm-32");
  EXPECT_EQ(Planned(run).compute_data_type, DataType::kFp16);
  run.training.precision.compute_data_type = DataType::kBf16;
  EXPECT_THAT(ViolationOf(run), HasSubstr("bf16 is not multiplied by the matrix units of"));
  run = RunOf(Framework::kHuggingFaceTrainer, "llama-2-7b");
  run.training.precision.compute_data_type = DataType::kFp8;
  EXPECT_THAT(ViolationOf(run), HasSubstr("(Ampere): write BF16 or FP16"));
}

}  // namespace
}  // namespace sextant
