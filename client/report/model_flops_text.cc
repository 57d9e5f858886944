#include <google/protobuf/util/message_differencer.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/report/count_text.h"
#include "client/report/lines.h"
#include "client/text/amounts.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using v1::ModelFlops;

double ModelFlopsOf(const v1::PassFlops& passes) {
  return passes.forward() + passes.input_gradient() + passes.weight_gradient();
}

// The passes under the causal mask, or the only ones where all masks count the same.
v1::PassFlops CausalOf(const ModelFlops::Component& component) {
  if (component.passes().empty()) return {};
  return component.passes(component.passes_size() > 1 ? v1::MASK_CONVENTION_CAUSAL - 1 : 0);
}

// True for a model that attends in both directions only: no mask hides anything.
bool MasksAreAlike(const ModelFlops& flops) {
  return absl::c_all_of(flops.masks(), [&flops](const ModelFlops::Masked& masked) {
    return MessageDifferencer::Equals(masked.passes(), flops.masks(0).passes());
  });
}

// A component's FLOPs, summed over all parts and kinds of layers.
struct ComponentSum {
  std::string name;
  v1::PassFlops passes;
};

std::vector<ComponentSum> SumsOf(const ModelFlops& flops) {
  std::vector<ComponentSum> sums;
  for (const ModelFlops::Component& component : flops.components()) {
    auto sum =
        absl::c_find_if(sums, [&](const ComponentSum& s) { return s.name == component.name(); });
    if (sum == sums.end()) sum = sums.insert(sums.end(), {component.name(), {}});
    const v1::PassFlops passes = CausalOf(component);
    sum->passes.set_forward(sum->passes.forward() + passes.forward());
    sum->passes.set_input_gradient(sum->passes.input_gradient() + passes.input_gradient());
    sum->passes.set_weight_gradient(sum->passes.weight_gradient() + passes.weight_gradient());
  }
  return sums;
}

void AddComponent(const std::string& name, const v1::PassFlops& passes, double all, Table* table) {
  const double sum = ModelFlopsOf(passes);
  table->AddRow({name, ShortFlops(passes.forward()), ShortFlops(passes.input_gradient()),
                 ShortFlops(passes.weight_gradient()), ShortFlops(sum),
                 all == 0 ? "" : Percent(sum / all)});
}

std::string ComponentsTable(const ModelFlops& flops) {
  const std::vector<ComponentSum> sums = SumsOf(flops);
  if (sums.empty()) return "";
  v1::PassFlops all;
  for (const ModelFlops::Masked& masked : flops.masks()) {
    if (masked.mask() == v1::MASK_CONVENTION_CAUSAL) all = masked.passes();
  }
  Table table = Titled({"", ">", ">", ">", ">", ">"});
  table.AddRow({MasksAreAlike(flops) ? "full mask" : "causal mask", "forward", "input gradient",
                "weight gradient", "sum", "share"});
  for (const ComponentSum& sum : sums) {
    AddComponent(Words(sum.name), sum.passes, ModelFlopsOf(all), &table);
  }
  AddComponent("all", all, ModelFlopsOf(all), &table);
  return absl::StrCat(table.Text(), "\n");
}

// A line of the ledger: a figure under each mask.
struct LedgerRow {
  const char* name;
  double (*figure)(const ModelFlops::Masked& m);
};

constexpr LedgerRow kLedger[] = {
    {"forward", [](const ModelFlops::Masked& m) { return m.passes().forward(); }},
    {"+ gradients of inputs",
     [](const ModelFlops::Masked& m) { return m.passes().input_gradient(); }},
    {"+ gradients of weights",
     [](const ModelFlops::Masked& m) { return m.passes().weight_gradient(); }},
    {"= model FLOPs", [](const ModelFlops::Masked& m) { return m.model_flops_per_token(); }},
    {"+ recomputed", [](const ModelFlops::Masked& m) { return m.passes().recompute(); }},
    {"+ capacity of experts", [](const ModelFlops::Masked& m) { return m.passes().capacity(); }},
    {"= hardware FLOPs", [](const ModelFlops::Masked& m) { return m.hardware_flops_per_token(); }},
    {"+ recomputed by fused attention",
     [](const ModelFlops::Masked& m) { return m.passes().flash_recompute(); }},
    {"= hardware FLOPs, that included",
     [](const ModelFlops::Masked& m) { return m.hardware_flops_per_token_with_flash_recompute(); }},
};

bool IsThere(const LedgerRow& row, const ModelFlops& flops) {
  return absl::c_any_of(flops.masks(),
                        [&](const ModelFlops::Masked& m) { return row.figure(m) != 0; });
}

bool IsSum(const LedgerRow& row) { return row.name[0] == '='; }

// Adds a figure under each mask. A step's figures have too many digits to show in full.
void AddFigures(const LedgerRow& row, const ModelFlops& flops, bool step, Table* table) {
  std::vector<std::string> cells = {row.name};
  for (const ModelFlops::Masked& masked : flops.masks()) {
    const double value = row.figure(masked);
    cells.push_back(step ? absl::StrFormat("%.4e", value) : Plain(value));
  }
  table->AddRow(std::move(cells));
}

void AddSteps(const ModelFlops& flops, Table* table) {
  AddFigures(
      {"model FLOPs of the step", [](const ModelFlops::Masked& m) { return m.model_flops(); }},
      flops, true, table);
  const bool more = absl::c_any_of(flops.masks(), [](const ModelFlops::Masked& m) {
    return m.hardware_flops() != m.model_flops();
  });
  if (!more) return;
  AddFigures({"hardware FLOPs of the step",
              [](const ModelFlops::Masked& m) { return m.hardware_flops(); }},
             flops, true, table);
}

// Adds a sum's line only after lines that it adds up.
std::string LedgerTable(const ModelFlops& flops) {
  std::vector<std::string> titles = {"FLOP a token, by mask"};
  for (const ModelFlops::Masked& masked : flops.masks()) {
    titles.push_back(absl::StrCat(">", EnumName(masked.mask())));
  }
  Table table = Titled(std::move(titles));
  bool added = false;  // something since the last sum
  for (const LedgerRow& row : kLedger) {
    const bool shown = IsSum(row) ? std::exchange(added, false) : IsThere(row, flops);
    if (!shown) continue;
    if (!IsSum(row)) added = true;
    AddFigures(row, flops, false, &table);
  }
  AddSteps(flops, &table);
  return table.Text();
}

// As --flops-convention has it.
std::string ConventionName(const v1::ModelFlops::Convention& convention) {
  return absl::StrReplaceAll(convention.name(), {{"_", "-"}});
}

// "attention -12.88 GFLOP".
std::string LargestDifference(const v1::ModelFlops::Convention& convention) {
  if (convention.differences().empty()) return "none";
  const v1::ModelFlops::Convention::Difference& largest = convention.differences(0);
  return absl::StrCat(Words(largest.name()), largest.flops_per_token() > 0 ? " +" : " ",
                      ShortFlops(largest.flops_per_token()));
}

// The conventions that don't define how to count this model, grouped by reason.
std::string OthersText(const v1::ModelFlops& flops) {
  std::vector<std::string> reasons;
  for (const v1::ModelFlops::Convention& convention : flops.conventions()) {
    const bool listed = absl::c_linear_search(reasons, convention.why_not());
    if (!convention.has_flops_per_token() && !listed) reasons.push_back(convention.why_not());
  }
  std::string out;
  for (const std::string& reason : reasons) {
    std::vector<std::string> names;
    for (const v1::ModelFlops::Convention& convention : flops.conventions()) {
      const bool counts = convention.has_flops_per_token();
      if (!counts && convention.why_not() == reason) names.push_back(ConventionName(convention));
    }
    out +=
        Wrap("  not for this model: ", absl::StrCat(absl::StrJoin(names, ", "), ": ", reason), 4);
  }
  return out;
}

}  // namespace

std::string ModelFlopsSection(const v1::ModelFlops& flops, bool two_stacks) {
  const int64_t tokens = flops.token_count();
  const std::string title = absl::StrCat("FLOPs a token", two_stacks ? " of the decoder" : "",
                                         ", of a step of ", Counted(tokens, "token"));
  return absl::StrCat("\n", Wrap("", title, 0), ComponentsTable(flops), LedgerTable(flops));
}

std::string ConventionsSection(const v1::ModelFlops& flops) {
  Table table =
      Titled({"convention", ">FLOP a token", ">to exact", "counts", "largest difference"});
  for (const v1::ModelFlops::Convention& convention : flops.conventions()) {
    if (!convention.has_flops_per_token()) continue;
    table.AddRow({ConventionName(convention), Plain(convention.flops_per_token()),
                  absl::StrFormat("%.4f x", convention.ratio_to_exact()),
                  convention.hardware() ? "hardware" : "model", LargestDifference(convention)});
  }
  return absl::StrCat("\nConventions (exact: causal mask)\n", table.Text(), OthersText(flops));
}

std::string KaplanSection(const v1::ModelFlops& flops) {
  std::string out = "\nKaplan et al. 2020, table 1 (forward, FLOP a token; counted: causal mask)\n";
  if (flops.kaplan_table().empty()) {
    const auto kaplan = absl::c_find_if(flops.conventions(), [](const auto& convention) {
      return convention.convention() == v1::FLOPS_CONVENTION_KAPLAN_2020;
    });
    return absl::StrCat(out, Wrap("  not for this model: ",
                                  kaplan == flops.conventions().end() ? "" : kaplan->why_not(), 4));
  }
  Table table =
      Titled({"row", ">by the table", ">counted", "formula; where a difference comes from"});
  for (const v1::ModelFlops::KaplanRow& row : flops.kaplan_table()) {
    table.AddRow({row.name(), Plain(row.flops_per_token()), Plain(row.exact_flops_per_token()),
                  absl::StrCat(row.formula(), row.difference() == "none" ? "" : "; ",
                               row.difference() == "none" ? "" : row.difference())});
  }
  return absl::StrCat(out, table.Text());
}

}  // namespace sextant::client
