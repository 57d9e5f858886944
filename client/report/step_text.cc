#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/flags/plan_flags.h"
#include "client/flags/words.h"
#include "client/report/lines.h"
#include "client/report/plan_text.h"
#include "client/report/rates_text.h"
#include "client/text/amounts.h"
#include "client/text/sources.h"
#include "client/text/step_words.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

constexpr double kLongestBar = 30;  // columns

// "1,048,576 tokens at 63,527 tokens/s, 64 micro-batches a rank, software megatron_bridge".
std::string StepWords(const v1::StepTime& step) {
  const auto tokens = static_cast<double>(step.token_count());
  const int64_t count = step.micro_batch_count();
  std::string out = absl::StrCat(Grouped(step.token_count()), " tokens at ",
                                 TokensPerSecond(tokens / step.seconds().expected()), ", ",
                                 Grouped(count), count == 1 ? " micro-batch" : " micro-batches",
                                 " a rank, software ", step.software_stack());
  if (!HasPipeline(step)) return out;
  return absl::StrCat(out, "; stage ", step.slowest_stage(), " is the slowest, bubble ",
                      ShareText(step.bubble_ratio()), " %");
}

std::string PartTable(const v1::StepTime& step) {
  const std::vector<v1::StepPart> parts = PartsByTime(step);
  if (parts.empty()) return "";
  const double longest = parts.front().seconds();
  Table table = Titled({"cause", ">time", ">%", ""});
  for (const v1::StepPart& part : parts) {
    std::string bar;
    const auto columns =
        longest > 0 ? std::lround(kLongestBar * part.seconds() / longest) : int64_t{0};
    for (int64_t i = 0; i < columns; ++i) bar += "─";
    table.AddRow({CauseWords(part.cause()), TimeToThreeDigits(part.seconds()),
                  ShareText(part.share()), bar});
  }
  return table.Text();
}

// "A tenth more arithmetic rate: 7.2 % less time; memory bandwidth: 0.4 %".
std::string SavingsLine(const v1::StepTime& step) {
  std::vector<std::string> savings;
  for (const v1::StepSensitivity& each : ShownSensitivities(step)) {
    savings.push_back(absl::StrCat(RateWords(each.rate()), ": ", ShareText(each.saved_share()),
                                   " %", savings.empty() ? " less time" : ""));
  }
  if (savings.empty()) return "";
  return Wrap("  ", absl::StrCat("A tenth more ", absl::StrJoin(savings, "; ")), 4);
}

// "Kernels' times, 97.3 %: reference, a table; measured 2026-01-31 12:00:00 UTC": a line a source.
std::string KernelSourceLines(const v1::Plan& plan) {
  std::string out;
  for (const v1::KernelTimeSource& each : plan.step_time().kernel_sources()) {
    std::string text = SourceText(each.source(), plan.sources(), each.source_number());
    if (each.has_measured_time()) {
      absl::StrAppend(&text, "; measured ", InstantText(each.measured_time()));
    }
    out += Wrap(absl::StrCat("  Kernels' times, ", ShareText(each.share()), " %: "), text, 4);
  }
  return out;
}

std::string ConstantText(const v1::StepAssumption& assumption) {
  const auto* const field = FindField(*v1::SoftwareStack::descriptor(), assumption.field());
  if (field != nullptr && FormOf(*field) == FieldForm::kBoolean) {
    return assumption.value() != 0 ? "true" : "false";
  }
  return Plain(assumption.value());
}

constexpr double kShownShare = 0.01;  // of a micro-batch: shorter operations are one line

// "612", "61.2" of 6.12e14 and 6.12e13 FLOP/s; without a time there is no rate.
std::string TeraflopsNumber(double flops, double seconds) {
  if (!(flops > 0) || !(seconds > 0)) return kNoValue;
  const double rate = flops / seconds / 1e12;
  return rate < 999.5 ? absl::StrFormat("%.3g", rate) : Grouped(rate, 0);
}

// Rows are a mean: few of them need not be whole.
std::string RowsNumber(double rows) { return absl::StrFormat(rows < 99.5 ? "%.3g" : "%.0f", rows); }

std::string AttentionWords(const v1::AttentionExtent& work) {
  std::string out = absl::StrCat("attention ", work.batch_count(), "x", work.query_count());
  if (work.key_count() != work.query_count()) absl::StrAppend(&out, "x", work.key_count());
  absl::StrAppend(&out, " ", work.head_count());
  if (work.key_value_head_count() != work.head_count()) {
    absl::StrAppend(&out, "/", work.key_value_head_count());
  }
  absl::StrAppend(&out, " heads of ", work.query_key_head_size());
  if (work.value_head_size() != work.query_key_head_size()) {
    absl::StrAppend(&out, "/", work.value_head_size());
  }
  if (work.causal()) out += " causal";
  if (work.window_size() > 0) absl::StrAppend(&out, " window ", work.window_size());
  return out;
}

// "all-gather 128.0 MB by tensor ranks".
std::string CollectiveWords(const v1::CollectiveExtent& work) {
  return absl::StrCat(EnumName(work.kind()), " ", ScaledToFourDigits(work.size_bytes(), "B"),
                      " by ", EnumName(work.group()), " ranks");
}

// "matmul 8192x7168x4096", with a * where it is narrow.
std::string KernelWords(const v1::TimedOperation& op) {
  const char* const star = op.narrow() ? "* " : " ";
  if (op.has_matmul()) {
    const v1::MatmulExtent& work = op.matmul();
    const std::string batch =
        work.batch_count() == 1 ? "" : absl::StrCat(work.batch_count(), " x ");
    return absl::StrCat("matmul", star, batch, work.m(), "x", work.n(), "x", work.k());
  }
  if (op.has_grouped_matmul()) {
    const v1::GroupedMatmulExtent& work = op.grouped_matmul();
    return absl::StrCat("grouped", star, work.expert_count(), " x ",
                        RowsNumber(work.rows_per_expert()), "x", work.n(), "x", work.k());
  }
  if (op.has_attention()) return AttentionWords(op.attention());
  if (op.has_memory_pass()) {
    const double bytes = op.memory_pass().read_bytes() + op.memory_pass().written_bytes();
    return absl::StrCat("pass ", ScaledToFourDigits(bytes, "B"));
  }
  return op.has_collective() ? CollectiveWords(op.collective()) : "";
}

// The column is narrow; the legend says what each means.
std::string PassWord(v1::OperationPass pass) {
  static constexpr Worded<v1::OperationPass> kWords[] = {
      {v1::OPERATION_PASS_FORWARD, "forward"},
      {v1::OPERATION_PASS_RECOMPUTE, "again"},
      {v1::OPERATION_PASS_INPUT_GRADIENT, "input"},
      {v1::OPERATION_PASS_WEIGHT_GRADIENT, "weight"}};
  return WordsOf(kWords, pass, EnumName(pass));
}

// Operations of several kinds of layers that are the same.
struct MergedOperation {
  const v1::TimedOperation* op = nullptr;  // one of them
  int64_t launches = 0;
  double flops = 0;
  double seconds = 0;
  double share = 0;

  void Add(const v1::TimedOperation& other) {
    launches += other.launches();
    flops += other.flops();
    seconds += other.seconds().expected();
    share += other.share();
  }
  std::string name() const { return absl::StrCat(op->module(), " ", op->name()); }
};

// The parts in which operations that are merged agree.
std::string IdentityOf(const v1::TimedOperation& op) {
  v1::TimedOperation identity = op;
  identity.clear_part();
  identity.clear_layer_kind();
  identity.clear_layer_count();
  identity.clear_launches();
  identity.clear_flops();
  identity.clear_seconds();
  identity.clear_share();
  return identity.SerializeAsString();
}

// Exchanges, or all others, the longest first.
std::vector<MergedOperation> Merged(const v1::StageCompute& stage, bool collectives) {
  std::vector<MergedOperation> out;
  std::map<std::string, size_t> places;
  for (const v1::TimedOperation& op : stage.operations()) {
    if (op.has_collective() != collectives) continue;
    const auto [place, added] = places.emplace(IdentityOf(op), out.size());
    if (added) out.push_back({.op = &op});
    out[place->second].Add(op);
  }
  std::stable_sort(out.begin(), out.end(), [](const MergedOperation& a, const MergedOperation& b) {
    return a.seconds > b.seconds;
  });
  return out;
}

std::string ShareNumber(double share) { return absl::StrFormat("%.1f", 100 * share); }

std::string OperationTable(const v1::StageCompute& stage) {
  Table table =
      Titled({"operation", "pass", ">runs", ">time", ">%", ">TFLOP/s", "kernel [source]"});
  MergedOperation others;
  int64_t other_count = 0;
  for (const MergedOperation& each : Merged(stage, /*collectives=*/false)) {
    if (each.share < kShownShare) {
      ++other_count;
      others.launches += each.launches;
      others.seconds += each.seconds;
      others.share += each.share;
      continue;
    }
    const int32_t source = each.op->source_number();
    table.AddRow(
        {each.name(), PassWord(each.op->training_pass()), Grouped(each.launches),
         TimeToThreeDigits(each.seconds), ShareNumber(each.share),
         TeraflopsNumber(each.flops, each.seconds),
         absl::StrCat(KernelWords(*each.op), source > 0 ? absl::StrCat(" [", source, "]") : "")});
  }
  if (other_count > 0) {
    table.AddRow({absl::StrCat(other_count, other_count == 1 ? " other" : " others"), "",
                  Grouped(others.launches), TimeToThreeDigits(others.seconds),
                  ShareNumber(others.share), kNoValue, "below 1 % each"});
  }
  return table.Text();
}

std::string ExchangeTable(const v1::StageCompute& stage) {
  const std::vector<MergedOperation> exchanges = Merged(stage, /*collectives=*/true);
  if (exchanges.empty()) return "";
  Table table = Titled({"exchange", "pass", ">runs", ">alone", "what"});
  for (const MergedOperation& each : exchanges) {
    table.AddRow({each.name(), PassWord(each.op->training_pass()), Grouped(each.launches),
                  each.seconds > 0 ? TimeToThreeDigits(each.seconds) : kNoValue,
                  CollectiveWords(each.op->collective())});
  }
  return table.Text();
}

// "stage 0 (of 4)", "stages 1-2 (of 4)".
std::string StagesText(const v1::StageCompute& stage, int64_t stage_count) {
  const int64_t last = stage.first_stage() + stage.stage_count() - 1;
  const std::string which = last == stage.first_stage()
                                ? absl::StrCat("stage ", last)
                                : absl::StrCat("stages ", stage.first_stage(), "-", last);
  return absl::StrCat(which, " (of ", stage_count, ")");
}

std::string StageTimesText(const v1::StageCompute& stage) {
  const v1::Interval& both = stage.micro_batch_seconds();
  std::string out =
      absl::StrCat("forward ", TimeToThreeDigits(stage.forward_seconds().expected()), ", backward ",
                   TimeToThreeDigits(stage.backward_seconds().expected()), ", together ",
                   TimeIntervalText(both));
  if (const std::string rate = TeraflopsNumber(stage.flops(), both.expected()); rate != kNoValue) {
    absl::StrAppend(&out, ", ", rate, " TFLOP/s a GPU");
  }
  if (stage.step_operations().empty()) return out;
  return absl::StrCat(out, "; once a step: ",
                      absl::StrJoin(stage.step_operations(), ", ",
                                    [](std::string* to, const v1::TimedOperation& op) {
                                      absl::StrAppend(to, Words(op.name()), " ",
                                                      TimeToThreeDigits(op.seconds().expected()));
                                    }));
}

std::string HostText(const v1::HostWork& host) {
  if (host.launches() == 0) return "The host starts all kernels at once, as captured graphs.";
  const std::string time = TimeIntervalText(host.seconds());
  const std::string count = Grouped(host.launches());
  if (!host.bound()) return absl::StrCat("The host starts ", count, " kernels in ", time, ".");
  return absl::StrCat("The host takes ", time, " to start ", count,
                      " kernels, longer than they compute: a micro-batch takes as long.");
}

std::string StageSection(const v1::StageCompute& stage, int64_t stage_count) {
  std::string out =
      absl::StrCat("\n",
                   Wrap("",
                        absl::StrCat("One micro-batch of ", StagesText(stage, stage_count), ": ",
                                     StageTimesText(stage)),
                        2),
                   Wrap("  ", HostText(stage.host()), 2), OperationTable(stage));
  const std::string exchanges = ExchangeTable(stage);
  return absl::StrCat(out, exchanges.empty() ? "" : "\n", exchanges);
}

// The meaning of the tables' words; and the sources, by their numbers in the answer.
std::string ComputeNotes(const v1::Compute& compute, const SourceList& sources) {
  bool narrow = false;
  std::set<int32_t> numbers;
  for (const v1::StageCompute& stage : compute.stages()) {
    for (const v1::TimedOperation& op : stage.operations()) {
      narrow = narrow || op.narrow();
      numbers.insert(op.source_number());
    }
  }
  std::string out = "\nOperations\n";
  out += Wrap("  ",
              absl::StrCat("runs: kernels in all layers; %: of the micro-batch; again: of the "
                           "forward pass, repeated in the backward pass; input, weight: their "
                           "gradients",
                           narrow ? "; *: in the narrower type of matrix inputs" : ""),
              2);
  for (const int32_t number : numbers) out += NumberedSource(number, sources);
  return out;
}

}  // namespace

std::string StepSection(const v1::Plan& plan) {
  const v1::StepTime& step = plan.step_time();
  if (!(step.seconds().expected() > 0)) return "";
  return absl::StrCat("\nOne step: ", TimeIntervalText(step.seconds()), "\n",
                      Wrap("  ", StepWords(step), 2), PartTable(step), SavingsLine(step),
                      LongestOperationsTable(step), KernelSourceLines(plan));
}

std::string SoftwareSection(const v1::Plan& plan) {
  const v1::StepTime& step = plan.step_time();
  if (step.assumptions().empty()) return "";
  Table table = Titled({"", ">", ""});
  std::set<int32_t> numbers;
  for (const v1::StepAssumption& each : step.assumptions()) {
    const int32_t number = each.source_number();
    const bool known = !SourceText(plan.sources(), number).empty();
    if (known) numbers.insert(number);
    table.AddRow({PlanFieldWords(absl::StrCat("layout.software.", each.field())),
                  ConstantText(each),
                  each.from_request() ? "given" : (known ? absl::StrCat("[", number, "]") : "")});
  }
  std::string out =
      absl::StrCat("\n",
                   Wrap("",
                        absl::StrCat("Software ", step.software_stack(),
                                     ", as the time of a step assumes (docs/step_time.md)"),
                        2),
                   table.Text());
  for (const int32_t number : numbers) out += NumberedSource(number, plan.sources());
  return out;
}

std::string ComputeSections(const v1::Compute& compute, const SourceList& sources) {
  if (compute.stages().empty()) return "";
  int64_t stage_count = 0;
  for (const v1::StageCompute& stage : compute.stages()) stage_count += stage.stage_count();
  std::string out;
  for (const v1::StageCompute& stage : compute.stages()) out += StageSection(stage, stage_count);
  return out + ComputeNotes(compute, sources);
}

std::string LongestOperationsTable(const v1::StepTime& step) {
  if (step.longest_operations().empty()) return "";
  Table table = Titled({"longest operations", "pass", ">time", ">%", ">TFLOP/s", "bound by"});
  for (const v1::StepOperation& each : step.longest_operations()) {
    table.AddRow({absl::StrCat(each.module(), " ", each.name()), PassWord(each.training_pass()),
                  TimeToThreeDigits(each.seconds()), ShareNumber(each.share()),
                  TeraflopsNumber(each.flops_per_second(), 1), EnumName(each.bound())});
  }
  return absl::StrCat("\n", table.Text());
}

}  // namespace sextant::client
