// The textbook's answers, each asked of the engine: of runs here, of smaller things in
// *_questions.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "engine/hardware/catalogue.h"
#include "engine/memory/model_state.h"
#include "engine/model/count_model.h"
#include "engine/run/plan.h"
#include "engine/search/allocate_compute.h"
#include "tests/engine/run/plan_parts.h"
#include "tests/golden/golden_files.h"
#include "tests/golden/textbook_questions.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using nlohmann::json;

constexpr double kGib = 1024.0 * 1024 * 1024;

RunSpec RunOf(double parameters, double tokens) {
  RunSpec run;
  run.model.parameter_count = static_cast<int64_t>(parameters);
  run.training.token_count = static_cast<int64_t>(tokens);
  run.cluster.device.accelerator = "h100-sxm";
  run.cluster.device_count = 1;
  return run;
}

Plan PlanOf(const RunSpec& run) {
  auto plan = PlanRun(run);
  EXPECT_THAT(plan, IsOk());
  return plan.value_or(Plan());
}

double SixNd(const json& in) { return PlanOf(RunOf(in["N"], in["D"])).flops.counts[0].run.value(); }

double Days(const json& in) {
  RunSpec run = RunOf(in["N"], in["D"]);
  run.cluster.device_count = in["gpus"];
  run.cluster.peak_flops_per_second = in["peak_flops"];
  run.options.assumed_mfu = in["mfu"];
  return DaysOf(At(PlanOf(run), EstimateKind::kTextbook));
}

double LargestModel(const json& in) {
  RunSpec run = RunOf(1e9, 1);  // mixed AdamW keeps the 16 bytes a parameter asked about
  run.cluster.device_count = in["gpus"];
  run.cluster.device_memory_bytes = in["bytes_per_gpu"];
  return static_cast<double>(PlanOf(run).fit.largest_parameter_count);
}

double FlopsOfAWeek(const json& in) {
  AllocationSpec spec = {.devices_given = true, .duration_seconds = 7 * kSecondsPerDay};
  spec.run.cluster.device.accelerator = "h100-sxm";
  spec.run.cluster.device_count = in["gpus"];
  spec.run.cluster.peak_flops_per_second = in["peak_flops"];
  spec.run.options.assumed_mfu = in["mfu"];
  const auto answer = AllocateCompute(spec, {});
  EXPECT_THAT(answer, IsOk());
  return answer.value_or(ComputeAllocation()).budget.value();
}

double StateBytes(const json& in, DataType compute) {
  RunSpec run = RunOf(in["N"], 1);
  run.training.precision.compute_data_type = compute;
  return static_cast<double>(PlanOf(run).state.total.value());
}

double TermGib(const json& in, absl::string_view term) {
  for (const StateTerm& t : PlanOf(RunOf(in["N"], 1)).state.terms) {
    if (t.name == term) return static_cast<double>(t.size.value()) / kGib;
  }
  return std::nan("");
}

RunSpec SevenBillionWithActivations(double activations_gib) {
  RunSpec run = RunOf(7e9, 1);
  run.training.activation_bytes = static_cast<int64_t>(activations_gib * kGib);
  return run;
}

double BudgetTotal(const json& in) {
  const RunSpec run = SevenBillionWithActivations(in["activations_gib"]);
  return static_cast<double>(PlanOf(run).fit.total.value()) / kGib;
}

double BudgetDevices(const json& in) {
  RunSpec run = SevenBillionWithActivations(8);
  run.cluster.device_memory_bytes = static_cast<int64_t>(in["gpu_gib"].get<double>() * kGib);
  return static_cast<double>(PlanOf(run).fit.minimum_device_count);
}

double Peak(absl::string_view name, DataType type) {
  return PeakFlopsPerSecond(**FindAccelerator(name), type).value;
}

WeightTensor Matrix(int64_t rows, int64_t columns) {
  return {.module = "feed_forward",
          .name = "up",
          .role = WeightRole::kWeight,
          .component = WeightComponent::kDenseFeedForward,
          .rows = rows,
          .columns = columns};
}

// Numbers an optimizer keeps for each parameter of a hidden matrix.
double BuffersPerParameter(const json& in) {
  static const std::map<std::string, OptimizerKind> kinds = {
      {"sgd", OptimizerKind::kSgd},         {"sgd_momentum", OptimizerKind::kSgdMomentum},
      {"adagrad", OptimizerKind::kAdagrad}, {"rmsprop", OptimizerKind::kRmsprop},
      {"adam", OptimizerKind::kAdam},       {"adamw", OptimizerKind::kAdamw},
      {"lion", OptimizerKind::kLion},       {"muon", OptimizerKind::kMuon}};
  const WeightTensors matrix = {Matrix(16, 8)};
  int64_t elements = 0;
  for (const BufferRule& b : BufferRulesOf({.kind = kinds.at(in["optimizer"])})) {
    elements += BufferElements(b.shape, b.scope, 16 * 8, matrix);
  }
  return static_cast<double>(elements) / (16 * 8);
}

double AdafactorElements(const json& in) {
  const int64_t rows = in["rows"];
  const int64_t columns = in["columns"];
  const WeightTensors matrix = {Matrix(rows, columns)};
  const BufferRule& factors = BufferRulesOf({.kind = OptimizerKind::kAdafactor})[0];
  return static_cast<double>(BufferElements(factors.shape, factors.scope, rows * columns, matrix));
}

double EightBitAdamBytes(const json& in) {
  RunSpec run = RunOf(in["N"], 1);
  run.training.optimizer = {.kind = OptimizerKind::kAdam8bit,
                            .quantization_block_size = in["block"].get<int64_t>()};
  double bytes = 0;
  for (const StateTerm& term : PlanOf(run).state.terms) {
    if (term.data_type == DataType::kInt8) bytes += static_cast<double>(term.size.value());
  }
  return bytes;
}

// Kaplan's N leaves out biases and norms, which GPT-3 has.
double Gpt3Parameters(std::initializer_list<WeightComponent> components) {
  RunSpec run = RunOf(1, 1);
  run.model = {};
  run.model.preset = "gpt3-175b";
  const Plan plan = PlanOf(run);
  int64_t sum = 0;
  for (const WeightComponent c : components) sum += plan.parameters.of(c).total;
  return static_cast<double>(sum);
}

// The first row of Kaplan's table, of GPT-3: his convention, which no operation does.
double Gpt3EmbedFlops(const json&) {
  CountSpec spec;
  spec.model.preset = "gpt3-175b";
  spec.step = TrainingStepSpec{.sequences = {{.count = 1, .length = 2048}}};
  spec.detail = FlopsDetail::kComponents;
  spec.conventions = true;
  const auto counted = CountModel(spec);
  EXPECT_THAT(counted, IsOk());
  if (!counted.ok() || counted->kaplan_table.empty()) return std::nan("");
  EXPECT_EQ(counted->kaplan_table[0].operation, "embed");
  return counted->kaplan_table[0].per_token.value();
}

CheckpointPlan Checkpoint(const json& parameters) {
  return PlanOf(RunOf(parameters, 1)).whole_run.checkpoint;
}

double CheckpointBytes(const json& in) {
  return static_cast<double>(Checkpoint(in["N"]).size.value());
}

double CheckpointWeightBytes(const json& in) {
  for (const CheckpointTerm& term : Checkpoint(in["N"]).terms) {
    if (term.name == "weight") return static_cast<double>(term.size.value());
  }
  return std::nan("");
}

// 14 bytes a parameter.
double CheckpointWriteSeconds(const json& in) {
  RunSpec run = RunOf(in["bytes"].get<double>() / 14, 1);
  run.interruptions.checkpoint_write_bytes_per_second = in["bytes_per_second"];
  return PlanOf(run).whole_run.checkpoint.write->value();
}

double CheckpointInterval(const json& in) {
  return YoungInterval(Seconds(in["write_seconds"]), Seconds(in["mtbf_seconds"])).value();
}

double RunAnswer(const std::string& id, const json& in) {
  using C = WeightComponent;
  using Asked = double (*)(const json&);
  static const std::map<std::string, Asked> questions = {
      {"6nd-7b-2t", SixNd},
      {"6nd-70b-15t", SixNd},
      {"gpt3-total-flops", SixNd},
      {"days-70b-15t-1024-h100", Days},
      {"largest-model-8xh100-adamw", LargestModel},
      {"week-8xh100-flops", FlopsOfAWeek},
      {"state-7b-fp32-adam", [](const json& i) { return StateBytes(i, DataType::kFp32); }},
      {"state-1b-fp32-adam", [](const json& i) { return StateBytes(i, DataType::kFp32); }},
      {"state-70b-mixed-adamw", [](const json& i) { return StateBytes(i, DataType::kBf16); }},
      {"budget-7b-weights-bf16", [](const json& i) { return TermGib(i, "weight"); }},
      {"budget-7b-gradients-bf16", [](const json& i) { return TermGib(i, "gradient"); }},
      {"budget-7b-master-fp32", [](const json& i) { return TermGib(i, "master_weight"); }},
      {"budget-7b-adam-m-fp32", [](const json& i) { return TermGib(i, "first_moment"); }},
      {"budget-7b-adam-v-fp32", [](const json& i) { return TermGib(i, "second_moment"); }},
      {"budget-7b-total-with-8gib-activations", BudgetTotal},
      {"budget-7b-gpus-80", BudgetDevices},
      {"a100-bf16-dense-peak", [](const json&) { return Peak("a100-sxm-80", DataType::kBf16); }},
      {"h100-bf16-dense-peak", [](const json&) { return Peak("h100-sxm", DataType::kBf16); }},
      {"h100-fp32-peak", [](const json&) { return Peak("h100-sxm", DataType::kFp32); }},
      {"optimizer-state-adafactor-matrix", AdafactorElements},
      {"optimizer-state-adam8bit", EightBitAdamBytes},
      {"checkpoint-70b-mixed-adamw", CheckpointBytes},
      {"checkpoint-70b-weights-only", CheckpointWeightBytes},
      {"checkpoint-70b-write", CheckpointWriteSeconds},
      {"checkpoint-interval-young", CheckpointInterval},
      {"kaplan-gpt3-nonembedding-params",
       [](const json&) {
         return Gpt3Parameters(
             {C::kAttentionQueryKeyValue, C::kAttentionOutput, C::kDenseFeedForward});
       }},
      {"kaplan-gpt3-embed-params",
       [](const json&) {
         return Gpt3Parameters({C::kTokenEmbedding, C::kPositionEmbedding});
       }},
      {"kaplan-gpt3-embed-flops", Gpt3EmbedFlops},
      {"kaplan-gpt3-qkv-params",
       [](const json&) { return Gpt3Parameters({C::kAttentionQueryKeyValue}); }},
      {"kaplan-gpt3-project-params",
       [](const json&) { return Gpt3Parameters({C::kAttentionOutput}); }},
      {"kaplan-gpt3-ffn-params",
       [](const json&) { return Gpt3Parameters({C::kDenseFeedForward}); }},
  };
  if (id.rfind("optimizer-buffers-", 0) == 0) return BuffersPerParameter(in);
  const auto found = questions.find(id);
  EXPECT_NE(found, questions.end()) << id << ": no question is known for this answer";
  return found == questions.end() ? std::nan("") : found->second(in);
}

// All questions but those of runs.
const TextbookQuestions& SmallQuestions() {
  static const TextbookQuestions questions = [] {
    TextbookQuestions all = NumberQuestions();
    all.merge(OperationQuestions());
    all.merge(GraphQuestions());
    all.merge(TensorQuestions());
    return all;
  }();
  return questions;
}

json Answer(const std::string& id, const json& in) {
  const auto found = SmallQuestions().find(id);
  return found == SmallQuestions().end() ? json(RunAnswer(id, in)) : found->second(in);
}

void ExpectAnswer(const json& answer, const json& expected, double tolerance,
                  const std::string& id) {
  if (!expected.is_number()) {
    EXPECT_EQ(answer, expected) << id;
    return;
  }
  ASSERT_TRUE(answer.is_number()) << id << ": " << answer;
  const double value = expected;
  EXPECT_NEAR(answer.get<double>(), value, std::abs(value) * tolerance) << id;
}

TEST(Textbook, AnswersAreReproduced) {
  const auto rows = GoldenLines("textbook_answers.jsonl");
  ASSERT_GE(rows.size(), 118u);
  for (const json& row : rows) {
    ExpectAnswer(Answer(row["id"], row["inputs"]), row["expected"], row["rel_tol"], row["id"]);
  }
}

// A question without its row would prove nothing.
TEST(Textbook, EveryQuestionHasItsRow) {
  std::set<std::string> rows;
  for (const json& row : GoldenLines("textbook_answers.jsonl")) rows.insert(row["id"]);
  for (const auto& [id, asked] : SmallQuestions()) EXPECT_TRUE(rows.count(id) == 1) << id;
}

// The copy in the tree may not drift from the source that it was taken from.
TEST(Textbook, RowsAreThoseOfTheSharedFile) {
  if (SharedDirectory().empty()) GTEST_SKIP() << "no shared tables: set SEXTANT_SHARED_DIR";
  std::set<std::string> shared;
  for (const json& row : SharedLines("golden/textbook_answers.jsonl")) shared.insert(row.dump());
  for (const json& row : GoldenLines("textbook_answers.jsonl")) {
    EXPECT_TRUE(shared.count(row.dump()) == 1) << row["id"];
  }
}

}  // namespace
}  // namespace sextant
