#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
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

}  // namespace sextant::client
