// Answers of the service for published runs, and their evaluation: contradictions, neighbours,
// causes of errors, tables.
#include "tests/validation/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/str_split.h"
#include "tests/support/status_matchers.h"
#include "tests/validation/causes.h"
#include "tests/validation/contradictions.h"
#include "tests/validation/figures_file.h"
#include "tests/validation/neighbours.h"
#include "tests/validation/report_tables.h"
#include "tests/validation/request.h"
#include "tests/validation/traits.h"

namespace sextant {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

void Set(double expected, v1::Interval& out) {
  out.set_low(expected - 10);
  out.set_expected(expected);
  out.set_high(expected + 10);
}

Answer AnswerWith(const std::string& id, int64_t measured, double predicted) {
  Answer out;
  out.run.source = "a source";
  out.run.id = id;
  out.run.hardware = "h100";
  out.run.all_fields = RequestOn("h100-sxm");
  if (measured > 0) out.run.measured = {{MemoryDefinition::kAllocated, Bytes(measured)}};
  Set(predicted, *out.all_fields.memory.mutable_allocated_bytes());
  Set(predicted + 1, *out.all_fields.memory.mutable_reserved_bytes());
  Set(predicted + 2, *out.all_fields.memory.mutable_process_bytes());
  return out;
}

TEST(Answer, ComparesInTheFiguresOwnDefinition) {
  Answer answer = AnswerWith("a", 100, 110);
  Prediction& prediction = answer.all_fields;
  prediction.calculated = Bytes(7);
  EXPECT_EQ(prediction.Of(MemoryDefinition::kAllocated).expected(), 110);
  EXPECT_EQ(prediction.Of(MemoryDefinition::kReserved).low(), 101);
  EXPECT_EQ(prediction.Of(MemoryDefinition::kProcess).high(), 122);
  EXPECT_EQ(prediction.Of(MemoryDefinition::kCalculated).expected(), 7);
  EXPECT_NEAR(prediction.ErrorOf({MemoryDefinition::kAllocated, Bytes(100)}), 0.1, 1e-12);
  EXPECT_DOUBLE_EQ(prediction.ErrorOf({MemoryDefinition::kProcess, Bytes(224)}), -0.5);
  EXPECT_EQ(answer.Of(RequestKind::kDefaults), nullptr);
  EXPECT_EQ(answer.Of(RequestKind::kAllFields), &answer.all_fields);
}

TEST(Contradictions, AreOfEqualQuestionsOnEqualHardware) {
  // 111 is more than 10 % above 100, 110 is not; the prediction plays no part beyond being equal.
  std::vector<Answer> answers = {AnswerWith("a", 100, 50), AnswerWith("b", 111, 50),
                                 AnswerWith("c", 100, 60), AnswerWith("d", 110, 60),
                                 AnswerWith("e", 300, 50), AnswerWith("f", 400, 50)};
  answers[4].run.hardware = "a100";
  answers[5].run.all_fields.mutable_training()->set_sequence_length(9);
  MarkContradicted(answers);
  EXPECT_THAT(answers[0].run.traits, Contains(kContradicted));
  EXPECT_FALSE(answers[0].run.fully_known());
  EXPECT_THAT(answers[1].run.traits, Contains(kContradicted));
  for (size_t i = 2; i < answers.size(); ++i) {
    EXPECT_THAT(answers[i].run.traits, Not(Contains(kContradicted))) << i;
    EXPECT_TRUE(answers[i].run.fully_known()) << i;
  }
}

TEST(Contradictions, AreListedByName) {
  Answers answers;
  answers.answered = {AnswerWith("a", 100, 50), AnswerWith("b", 111, 50), AnswerWith("c", 70, 60),
                      AnswerWith("d", 70, 40)};
  MarkContradicted(answers.answered);
  const auto shard = [&](size_t i, v1::ZeroStage stage) {
    answers.answered[i].run.all_fields.mutable_layout()->mutable_sharding()->set_zero_stage(stage);
  };
  shard(2, v1::ZERO_STAGE_PARAMETERS);
  shard(3, v1::ZERO_STAGE_NONE);
  answers.left_out = {{"a source", "e", kSelfContradicting}, {"a source", "f", "another reason"}};
  EXPECT_EQ(ContradictionList(answers),
            "- a source, equal questions with figures more than 10 % apart: a; b\n"
            "- a source, the same figure with and without shards: c; d\n"
            "- a source, two of its columns contradict each other: e\n");
}

TEST(Neighbours, DifferInTheFewestSettings) {
  std::vector<Answer> answers = {
      AnswerWith("ran out", 0, 90),       AnswerWith("two off", 50, 89),
      AnswerWith("one off", 50, 10),      AnswerWith("other source", 50, 90),
      AnswerWith("other device", 50, 90), AnswerWith("ran out too", 0, 90)};
  answers[0].run.ran_out = answers[5].run.ran_out = true;
  v1::ParallelLayout& cut = *answers[1].run.all_fields.mutable_layout()->mutable_parallel();
  cut.set_tensor_parallel_size(2);
  cut.set_pipeline_parallel_size(2);
  answers[2].run.all_fields.mutable_layout()->set_micro_batch_size(2);
  answers[3].run.source = "another";
  answers[4].run.all_fields = RequestOn("a100-sxm-80");
  const Answer* nearest = NearestThatFits(answers[0], answers);
  ASSERT_NE(nearest, nullptr);
  EXPECT_EQ(nearest->run.id, "one off");
  EXPECT_EQ(NearestThatFits(answers[0], {answers[5]}), nullptr);
}

TEST(Causes, TheGraverComesFirst) {
  Answer answer = AnswerWith("a", 100, 100);
  EXPECT_EQ(CauseOf(answer, MemoryDefinition::kAllocated), nullptr);
  ASSERT_NE(CauseOf(answer, MemoryDefinition::kProcess), nullptr);
  answer.run.traits = {kTraitShorterSamples, kContradicted};
  ASSERT_NE(CauseOf(answer, MemoryDefinition::kAllocated), nullptr);
  EXPECT_EQ(CauseOf(answer, MemoryDefinition::kAllocated)->name, "contradicted");
  for (const Cause& cause : Causes()) EXPECT_THAT(std::string(cause.why), Not(IsEmpty()));
}

TEST(Coverage, CountsFiguresOnEachSideOfTheirIntervals) {
  const std::vector<Answer> answers = {AnswerWith("a", 100, 105), AnswerWith("b", 94, 105),
                                       AnswerWith("c", 95, 105), AnswerWith("d", 116, 105)};
  EXPECT_THAT(CoverageTable(FigureLinesOf(answers)),
              HasSubstr("| all fields given | 4 | 50 % | 25 % | 25 % | | unproven |\n"));
}

TEST(FiguresFile, HasALineForEachFigureThatWasMeasured) {
  std::vector<Answer> answers = {AnswerWith("a \"b\"", 100, 105), AnswerWith("ran out", 0, 90)};
  answers[0].run.series = "a";
  answers[0].run.measured.push_back({MemoryDefinition::kCalculated, Bytes(9)});
  answers[0].defaults = answers[0].all_fields;
  answers[0].run.all_fields.mutable_layout()->mutable_framework()->set_kind(
      v1::FrameworkMemory::KIND_DEEPSPEED);
  const std::vector<std::string> lines = absl::StrSplit(FiguresCsv(FigureLinesOf(answers)), '\n');
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[1],
            "\"a source\",deepspeed,\"a\",\"a \"\"b\"\"\",all fields given,allocated,1,100,105,95,"
            "115");
  EXPECT_THAT(lines[2], HasSubstr("defaults of the framework"));
  EXPECT_THAT(lines[3], IsEmpty());
}

// GPT-2 on two ranks; a figure below what any run takes.
v1::PlanRunRequest SmallRequest() {
  v1::PlanRunRequest out = RequestOn("h100-sxm");
  out.mutable_model()->set_preset("gpt2");
  out.mutable_training()->set_sequence_length(1024);
  out.mutable_layout()->set_micro_batch_size(1);
  SetMixedPrecision(v1::DATA_TYPE_BF16, v1::DATA_TYPE_FP32, out);
  SetSizes({.data_parallel_size = 2}, out);
  return out;
}

TEST(Answers, ComeFromTheService) {
  MeasuredCase run;
  run.all_fields = SmallRequest();
  run.defaults = DefaultsOf(run.all_fields);
  run.measured = {{MemoryDefinition::kAllocated, Bytes(1)}};
  const auto answer = AnswerOf(run);
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->all_fields.verdict, v1::VERDICT_FITS);
  EXPECT_GT(answer->all_fields.fit_chance, 0.9);
  EXPECT_EQ(answer->all_fields.calculated, Bytes(0));  // nobody asked
  // 124,439,808 parameters.
  const auto gradients = [](const Prediction& of) {
    for (const v1::LedgerSum& sum : of.memory.sums()) {
      if (sum.kind() == v1::LEDGER_KIND_GRADIENT) return sum.size_bytes();
    }
    return int64_t{0};
  };
  // And 47 rows of padding, Megatron-LM's default for 50,257 entries.
  EXPECT_EQ(gradients(answer->all_fields), 4 * (124'439'808 + 47 * 768));
  ASSERT_TRUE(answer->defaults.has_value());
}

TEST(Answers, ARefusedRunIsLeftOutWithTheServicesWords) {
  MeasuredCase run;
  run.all_fields = SmallRequest();
  run.defaults = run.all_fields;
  run.defaults.mutable_cluster()->set_device_count(3);
  run.defaults.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(2);
  const auto answer = AnswerOf(run);
  ASSERT_THAT(answer, IsOk());
  EXPECT_FALSE(answer->defaults.has_value());
  EXPECT_THAT(answer->defaults_refused, HasSubstr("cluster.device_count"));
  std::swap(run.all_fields, run.defaults);
  EXPECT_FALSE(AnswerOf(run).ok());
  run.all_fields = SmallRequest();
  run.stage = 1;
  EXPECT_FALSE(AnswerOf(run).ok());
}

TEST(Answers, OfOpenCasesAreRanges) {
  OpenCase run;
  run.requests = {SmallRequest(), SmallRequest()};
  run.requests[1].mutable_layout()->set_micro_batch_size(2);
  SetSizes({.data_parallel_size = 2}, run.requests[1]);
  run.definitions = {MemoryDefinition::kAllocated, MemoryDefinition::kReserved};
  run.measured = Bytes(1);
  auto answer = OpenAnswerOf(run);
  ASSERT_THAT(answer, IsOk());
  EXPECT_LT(answer->low, answer->high);
  EXPECT_FALSE(answer->inside());
  answer->run.measured = answer->high;
  EXPECT_TRUE(answer->inside());
  answer->run.measured.reset();
  EXPECT_FALSE(answer->inside());  // all choices fit
  EXPECT_FALSE(OpenAnswerOf(OpenCase()).ok());
}

TEST(Request, DefaultsLeaveOutWhatAFrameworkDecides) {
  v1::PlanRunRequest request = SmallRequest();
  request.mutable_model()->mutable_architecture()->mutable_embedding()->set_padded_vocabulary_size(
      7);
  v1::RunLayout& layout = *request.mutable_layout();
  layout.mutable_sharding()->set_zero_stage(v1::ZERO_STAGE_OPTIMIZER);
  layout.mutable_sharding()->set_reshard_after_forward(true);
  layout.mutable_kernels()->set_loss(v1::KernelChoices::LOSS_FUSED);
  layout.mutable_kernels()->set_dropout(true);
  layout.mutable_kernels()->set_attention_output_copied(true);
  layout.mutable_kernels()->set_fused_expert_activation(true);
  layout.mutable_framework()->set_kind(v1::FrameworkMemory::KIND_TORCHTITAN);
  layout.mutable_framework()->set_deterministic(true);
  v1::PlanRunRequest want = RequestOn("h100-sxm");
  *want.mutable_model() = request.model();
  want.mutable_model()->mutable_architecture()->mutable_embedding()->Clear();
  want.mutable_cluster()->set_device_count(2);
  want.mutable_training()->set_sequence_length(1024);
  want.mutable_training()->mutable_precision()->set_compute_data_type(v1::DATA_TYPE_BF16);
  want.mutable_layout()->set_micro_batch_size(1);
  want.mutable_layout()->set_global_batch_size(2);
  want.mutable_layout()->mutable_sharding()->set_zero_stage(v1::ZERO_STAGE_OPTIMIZER);
  want.mutable_layout()->mutable_kernels()->set_dropout(true);
  want.mutable_layout()->mutable_framework()->set_kind(v1::FrameworkMemory::KIND_TORCHTITAN);
  want.mutable_layout()->mutable_framework()->set_deterministic(true);
  EXPECT_EQ(DefaultsOf(request).DebugString(), want.DebugString());
}

TEST(Request, SizesFollowFromOneAnother) {
  v1::PlanRunRequest request = SmallRequest();
  request.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(4);
  request.mutable_layout()->mutable_parallel()->set_pipeline_parallel_size(3);
  request.mutable_layout()->set_context_parallel_size(2);
  request.mutable_layout()->set_micro_batch_size(5);
  SetSizes({.data_parallel_size = 7, .micro_batch_count = 11}, request);
  EXPECT_EQ(request.cluster().device_count(), 4 * 3 * 2 * 7);
  EXPECT_EQ(request.layout().global_batch_size(), 5 * 7 * 11);
  EXPECT_EQ(DataParallelSize(request), 7);
}

}  // namespace
}  // namespace sextant
