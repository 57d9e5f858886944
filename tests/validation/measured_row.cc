#include "tests/validation/measured_row.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tests/validation/bloom_row.h"
#include "tests/validation/cells.h"
#include "tests/validation/korthikanti_row.h"
#include "tests/validation/litgpt_row.h"
#include "tests/validation/simumax_row.h"
#include "tests/validation/torchtitan_row.h"

namespace sextant {
namespace {

struct SourceRule {
  absl::string_view repository;
  absl::string_view name;
  absl::StatusOr<MeasuredCase> (*translate)(const CsvRow&);  // null: `reason` for all rows
  absl::string_view reason;
  // Fields that the table marks as not printed in the row's place, but that the source prints
  // elsewhere, where the translator read them.
  absl::string_view read_elsewhere = "";
};

constexpr SourceRule kSources[] = {
    {"MooreThreads/SimuMax", "SimuMax B200", SimumaxCase, "",
     "recompute; sequence_parallel; zero_stage; micro_batch; global_batch; seq_len"},
    {"bigscience-workshop/bigscience", "BLOOM trials", BloomCase, ""},
    {"calculon-ai/calculon", "Korthikanti 2022, figure 1", KorthikantiCase, "",
     "vocab; zero_stage; dp_strategy"},
    {"pytorch/torchtitan", "torchtitan", TorchtitanCase, ""},
    {"Lightning-AI/litgpt", "litgpt", LitgptCase, ""},
    {"pytorch/ao", "torchao", nullptr,
     "selective recomputation by operator is not described in the engine's terms, or model and "
     "batch not published"},
    {"InternLM/InternEvo", "InternEvo", nullptr, "sequence length not published"},
    {"huggingface/nanotron", "nanotron", nullptr, "shape of the layers not published"},
    {"AMD-AGI/Primus", "Primus", nullptr, "sequence length and batch not published"},
};

// The fields that the table says its source doesn't print.
void AddAssumptions(const CsvRow& row, const SourceRule& rule, MeasuredCase& out) {
  const std::vector<std::string> inferred =
      absl::StrSplit(Cell(row, "inferred_fields"), "; ", absl::SkipEmpty());
  const std::vector<std::string> read =
      absl::StrSplit(rule.read_elsewhere, "; ", absl::SkipEmpty());
  for (const std::string& field : inferred) {
    if (std::find(read.begin(), read.end(), field) == read.end()) out.assumptions.push_back(field);
  }
}

const SourceRule* RuleOf(const CsvRow& row) {
  for (const SourceRule& rule : kSources) {
    if (Cell(row, "source_repo") == rule.repository) return &rule;
  }
  return nullptr;
}

}  // namespace

std::string SourceOf(const CsvRow& row) {
  const SourceRule* rule = RuleOf(row);
  return rule == nullptr ? Cell(row, "source") : std::string(rule->name);
}

bool SaysMemory(const CsvRow& row) {
  return !Cell(row, "peak_mem_as_published").empty() || !Cell(row, "peak_mem_gib").empty() ||
         Cell(row, "oom") == "True";
}

Translated TranslateMeasuredRow(const CsvRow& row) {
  const SourceRule* rule = RuleOf(row);
  if (rule == nullptr) return LeftOut{"no rule for its source"};
  if (rule->translate == nullptr) return LeftOut{std::string(rule->reason)};
  absl::StatusOr<MeasuredCase> out = rule->translate(row);
  if (!out.ok()) return LeftOut{std::string(out.status().message())};
  out->source = std::string(rule->name);
  out->id = Cell(row, "id");
  AddAssumptions(row, *rule, *out);
  return *std::move(out);
}

}  // namespace sextant
