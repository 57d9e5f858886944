#include "client/report/allocation_text.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/report/lines.h"
#include "client/text/amounts.h"
#include "client/text/sources.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

constexpr char kExtrapolated[] = "*";

std::string FlopsText(double flops) { return absl::StrFormat("%.5g FLOP", flops); }

// The mark keeps its place where it is absent: columns are aligned to the right.
std::string Marked(const std::string& text, const v1::SizedModel& model) {
  return absl::StrCat(text, model.extrapolated() ? kExtrapolated : " ");
}

std::string RatioCell(const v1::SizedModel& model) {
  const double ratio = model.tokens_per_parameter();
  return ratio < 9.95 ? absl::StrFormat("%.2f", ratio) : absl::StrFormat("%.1f", ratio);
}

std::string LossCell(const v1::SizedModel& model) {
  return model.has_loss() ? absl::StrFormat("%.4f", model.loss()) : kNoValue;
}

std::string IncreaseCell(double loss_increase) { return absl::StrFormat("%+.4f", loss_increase); }

// The loss at `ratio` times the optimum's parameters, over its own.
std::string OffCell(const v1::RuleAllocation& answer, double ratio) {
  for (const v1::OffOptimum& other : answer.off_optimum()) {
    if (other.parameter_ratio() == ratio) return IncreaseCell(other.loss_increase());
  }
  return kNoValue;
}

// Rows are indented by their first cell: the header stands at the margin and parts the tables.
std::string RuleCell(const v1::RuleAllocation& answer) {
  return absl::StrCat(" ", EnumName(answer.rule()));
}

std::string RateLine(const v1::AllocateComputeResponse& response) {
  const v1::DeviceTime& devices = response.budget().devices();
  const bool measured = devices.basis() == v1::ESTIMATE_KIND_MEASURED_BOUND;
  const std::string mfu = devices.has_mfu() ? absl::StrCat(Percent(devices.mfu()), " MFU") : "";
  std::string source;
  const char* const quantity = measured ? "matmul_flops_per_second" : "peak_flops_per_second";
  for (const v1::RateUsed& rate : response.rates()) {
    if (rate.quantity() != quantity) continue;
    source = absl::StrCat(" (", EnumName(rate.source()), ", ", DataTypeName(rate.data_type()), ")");
  }
  const std::string rate = Scaled(devices.flops_per_second(), "FLOP/s");
  if (measured) {
    return absl::StrCat("  each at ", rate, " as measured", source, mfu.empty() ? "" : ", ", mfu,
                        "\n");
  }
  const bool assumed = devices.mfu_basis() == v1::MFU_BASIS_ASSUMED;
  return absl::StrCat("  each at ", mfu, assumed ? ", assumed, of " : " of ", rate, source, "\n");
}

std::string Headline(const v1::AllocateComputeResponse& response) {
  const v1::ComputeBudget& budget = response.budget();
  std::string out = absl::StrCat(FlopsText(budget.flops()), " of training");
  if (budget.flops_per_parameter_token() != 6) {
    absl::StrAppend(&out, ", ", Plain(budget.flops_per_parameter_token()),
                    " a parameter and token");
  }
  if (!budget.has_devices()) return absl::StrCat(out, "\n");
  const v1::DeviceTime& devices = budget.devices();
  absl::StrAppend(&out, ": ", Grouped(devices.device_count()), " x ", devices.device(), " for ",
                  Duration(devices.duration_seconds()));
  if (devices.has_cost_usd()) absl::StrAppend(&out, ", ", Grouped(devices.cost_usd(), 2), " USD");
  return absl::StrCat(out, "\n", RateLine(response));
}

std::string OptimumTable(const v1::AllocateComputeResponse& response) {
  Table table =
      Titled({"rule", ">parameters ", ">tokens", ">tokens/N", ">loss", ">at N/2", ">at 2N"}, 0);
  for (const v1::RuleAllocation& answer : response.allocations()) {
    const v1::SizedModel& model = answer.optimum();
    table.AddRow({RuleCell(answer), Marked(ShortCount(model.parameter_count()), model),
                  ShortCount(model.token_count()), RatioCell(model), LossCell(model),
                  OffCell(answer, 0.5), OffCell(answer, 2)});
  }
  return table.Text();
}

std::string ServingTable(int64_t served, const v1::AllocateComputeResponse& response) {
  Table table = Titled({"", ">", ">", ">", ">", ">"}, 0);
  table.AddRow({absl::StrCat("serving ", GivenCount(served)), "parameters ", "tokens", "tokens/N",
                "training FLOP", "saved"});
  for (const v1::RuleAllocation& answer : response.allocations()) {
    if (!answer.has_serving()) continue;
    const v1::ServingAllocation& serving = answer.serving();
    const v1::SizedModel& model = serving.model();
    table.AddRow({RuleCell(answer), Marked(ShortCount(model.parameter_count()), model),
                  ShortCount(model.token_count()), RatioCell(model),
                  absl::StrFormat("%.4g", model.training_flops()), Percent(serving.saved_ratio())});
  }
  return table.Text();
}

std::string RatioTable(double ratio, const v1::AllocateComputeResponse& response) {
  Table table = Titled({"", ">", ">", ">", ">", ">"}, 0);
  table.AddRow({absl::StrFormat("at %g tokens/N", ratio), "parameters ", "tokens", "loss",
                "increase", "optimum needs"});
  for (const v1::RuleAllocation& answer : response.allocations()) {
    const v1::RatioAllocation& at = answer.at_ratio();
    // Without a law of loss all rules would have the same row.
    if (!at.has_loss_increase() && response.allocations_size() > 1) continue;
    table.AddRow({RuleCell(answer), Marked(ShortCount(at.model().parameter_count()), at.model()),
                  ShortCount(at.model().token_count()), LossCell(at.model()),
                  at.has_loss_increase() ? IncreaseCell(at.loss_increase()) : kNoValue,
                  at.has_equal_loss_flops()
                      ? Percent(at.equal_loss_flops() / response.budget().flops())
                      : kNoValue});
  }
  return table.Text();
}

bool IsExtrapolated(const v1::RuleAllocation& answer) {
  return answer.optimum().extrapolated() || answer.serving().model().extrapolated() ||
         answer.at_ratio().model().extrapolated();
}

std::string Footnotes(const v1::AllocateComputeResponse& response) {
  std::string out;
  if (absl::c_any_of(response.allocations(), IsExtrapolated)) {
    out += "* extrapolated: outside the range that the rule was fitted on (--sources)\n";
  }
  for (const v1::RuleAllocation& answer : response.allocations()) {
    if (!answer.excludes_embeddings()) continue;
    absl::StrAppend(&out, EnumName(answer.rule()), " counts parameters without embeddings\n");
  }
  return out;
}

}  // namespace

std::string AllocationText(const v1::AllocateComputeRequest& request,
                           const v1::AllocateComputeResponse& response, FieldWords words) {
  std::string out = absl::StrCat(Headline(response), OptimumTable(response));
  if (request.has_served_token_count()) {
    out += ServingTable(request.served_token_count(), response);
  }
  if (request.has_tokens_per_parameter()) {
    out += RatioTable(request.tokens_per_parameter(), response);
  }
  return absl::StrCat(out, Footnotes(response), NotesText("Warnings", response.warnings(), words));
}

std::string AllocationSources(const v1::AllocateComputeResponse& response, FieldWords words) {
  std::string out = "\nSources\n";
  for (const v1::RuleAllocation& answer : response.allocations()) {
    out += Wrap(
        absl::StrCat("  ", EnumName(answer.rule()), ": "),
        absl::StrCat(SourceText(response.sources(), answer.source_number()), ". ", answer.remark()),
        4);
  }
  for (const v1::RateUsed& rate : response.rates()) {
    out += Wrap("  rate: ",
                absl::StrCat(WithUnit(rate.value(), rate.unit()), ", ",
                             SourceText(rate.source(), response.sources(), rate.source_number())),
                4);
  }
  return absl::StrCat(out, NotesText("Assumptions", response.assumptions(), words));
}

}  // namespace sextant::client
