// Evaluation of answers: contradictions, neighbours, causes of errors.
#include "tests/validation/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/memory/ledger/memory_model.h"
#include "engine/model/presets/presets.h"
#include "tests/validation/causes.h"
#include "tests/validation/contradictions.h"
#include "tests/validation/neighbours.h"
#include "tests/validation/traits.h"

namespace sextant {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

Answer AnswerWith(const std::string& id, int64_t measured, int64_t predicted) {
  Answer out;
  out.run.source = "a source";
  out.run.id = id;
  out.run.hardware = "h100";
  if (measured > 0) out.run.measured = {{MemoryDefinition::kAllocated, Bytes(measured)}};
  out.memory.allocated.expected = Bytes(predicted);
  out.memory.reserved.expected = Bytes(predicted + 1);
  out.memory.process.expected = Bytes(predicted + 2);
  return out;
}

TEST(Answer, ComparesInTheFiguresOwnDefinition) {
  Answer answer = AnswerWith("a", 100, 110);
  answer.calculated = Bytes(7);
  EXPECT_EQ(answer.Predicted(MemoryDefinition::kAllocated), Bytes(110));
  EXPECT_EQ(answer.Predicted(MemoryDefinition::kReserved), Bytes(111));
  EXPECT_EQ(answer.Predicted(MemoryDefinition::kProcess), Bytes(112));
  EXPECT_EQ(answer.Predicted(MemoryDefinition::kCalculated), Bytes(7));
  EXPECT_NEAR(answer.ErrorOf({MemoryDefinition::kAllocated, Bytes(100)}), 0.1, 1e-12);
  EXPECT_DOUBLE_EQ(answer.ErrorOf({MemoryDefinition::kProcess, Bytes(224)}), -0.5);
}

TEST(Contradictions, AreOfEqualQuestionsOnEqualHardware) {
  // 111 is more than 10 % above 100, 110 is not; the prediction plays no part beyond being equal.
  std::vector<Answer> answers = {AnswerWith("a", 100, 50), AnswerWith("b", 111, 50),
                                 AnswerWith("c", 100, 60), AnswerWith("d", 110, 60),
                                 AnswerWith("e", 300, 50), AnswerWith("f", 400, 50)};
  answers[4].run.hardware = "a100";
  answers[5].run.job.batch.sequence_length = 9;
  MarkContradicted(answers);
  EXPECT_THAT(answers[0].run.traits, Contains(kContradicted));
  EXPECT_FALSE(answers[0].run.fully_known());
  EXPECT_THAT(answers[1].run.traits, Contains(kContradicted));
  for (size_t i = 2; i < answers.size(); ++i) {
    EXPECT_THAT(answers[i].run.traits, Not(Contains(kContradicted))) << i;
    EXPECT_TRUE(answers[i].run.fully_known()) << i;
  }
}

TEST(Neighbours, DifferInTheFewestSettings) {
  std::vector<Answer> answers = {
      AnswerWith("ran out", 0, 90),       AnswerWith("two off", 50, 89),
      AnswerWith("one off", 50, 10),      AnswerWith("other source", 50, 90),
      AnswerWith("other memory", 50, 90), AnswerWith("ran out too", 0, 90)};
  for (Answer& answer : answers) answer.run.device_memory = Bytes(100);
  answers[0].run.ran_out = answers[5].run.ran_out = true;
  answers[1].run.job.layout = {.tensor_parallel_size = 2, .pipeline_parallel_size = 2};
  answers[2].run.job.batch.sequence_count = 2;
  answers[3].run.source = "another";
  answers[4].run.device_memory = Bytes(200);
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

// GPT-2 of two ranks, with a buffer for the head's input in the workspace.
MeasuredCase CaseWithHeadBuffer(LossKind loss) {
  MeasuredCase out;
  out.model = FindModelPreset("gpt2").value()->architecture;
  out.model.embedding.padded_vocabulary_size = 50304;
  out.job.layout.tensor_parallel_size = 2;
  out.job.batch = {.sequence_length = 1024, .sequence_parallel = true, .loss = loss};
  out.job.state.precision = WithDefaults(PrecisionPolicy());
  out.job.buffers.fused_weight_gradient = false;
  out.head_buffer = Bytes(1024 * 768 * 2);
  out.job.reserve.workspace = Bytes(1'000'000) + out.head_buffer;
  return out;
}

// The ledger's row of what is gathered and the workspace, of which it is a part.
TEST(Answers, CountTheHeadsGatheredInputOnce) {
  const MeasuredCase fused = CaseWithHeadBuffer(LossKind::kFused);
  const auto model = MemoryModel::Of(fused.model, fused.job);
  ASSERT_TRUE(model.ok());
  LedgerRows rows;
  const auto twice = model->Stage(0, &rows);
  ASSERT_TRUE(twice.ok());
  ASSERT_EQ(twice->phase, PeakPhase::kHeadBackward);
  EXPECT_EQ(std::count_if(rows.begin(), rows.end(),
                          [&fused](const LedgerRow& row) {
                            return row.name == "gathered_input" && row.size == fused.head_buffer;
                          }),
            1);
  const auto once = AnswerOf(fused);
  ASSERT_TRUE(once.ok());
  EXPECT_EQ(once->memory.allocated.expected, twice->allocated.expected - fused.head_buffer);
}

// In other phases it is there although nothing is gathered.
TEST(Answers, CountTheHeadsBufferBesideTheLoss) {
  const MeasuredCase plain = CaseWithHeadBuffer(LossKind::kPlain);
  const auto model = MemoryModel::Of(plain.model, plain.job);
  ASSERT_TRUE(model.ok());
  const auto loss = model->Stage(0);
  ASSERT_TRUE(loss.ok());
  ASSERT_EQ(loss->phase, PeakPhase::kLoss);
  const auto answer = AnswerOf(plain);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->memory.allocated.expected, loss->allocated.expected);
}

TEST(Answers, WhatTheEngineRefusesIsLeftOutWithItsWords) {
  MeasuredCase run;
  run.job.layout.pipeline_parallel_size = -1;
  EXPECT_FALSE(AnswerOf(run).ok());
}

}  // namespace
}  // namespace sextant
