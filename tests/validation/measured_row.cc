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
#include "tests/validation/nanotron_row.h"
#include "tests/validation/request.h"
#include "tests/validation/simumax_row.h"
#include "tests/validation/torchtitan_row.h"

namespace sextant {
namespace {

struct SourceRule {
  absl::string_view repository;
  absl::string_view name;
  // Null: `reason` for all rows.
  absl::StatusOr<MeasuredCase> (*translate)(const CsvRow&);
  // Rows that `translate` refuses for want of a field. Null: none.
  absl::StatusOr<OpenCase> (*translate_open)(const CsvRow&);
  absl::string_view reason = "";
  // Fields that the table marks as not printed in the row's place, but that the source prints
  // elsewhere, where the translator read them.
  absl::string_view read_elsewhere = "";
};

constexpr SourceRule kSources[] = {
    {"MooreThreads/SimuMax", "SimuMax B200", SimumaxCase, nullptr, "",
     "recompute; sequence_parallel; zero_stage; micro_batch; global_batch; seq_len"},
    {"bigscience-workshop/bigscience", "BLOOM trials", BloomCase, OpenBloomCase},
    {"calculon-ai/calculon", "Korthikanti 2022, figure 1", KorthikantiCase, nullptr, "",
     "vocab; zero_stage; dp_strategy"},
    {"pytorch/torchtitan", "torchtitan", TorchtitanCase, OpenTorchtitanCase},
    {"Lightning-AI/litgpt", "litgpt", LitgptCase, OpenLitgptCase},
    {"pytorch/ao", "torchao", nullptr, OpenTorchtitanCase, "no measured memory"},
    {"InternLM/InternEvo", "InternEvo", nullptr, OpenInternevoCase,
     "sequence length not published"},
    {"huggingface/nanotron", "nanotron", nullptr, OpenNanotronCase,
     "shape of the layers not published"},
    {"AMD-AGI/Primus", "Primus", nullptr, nullptr,
     "sequence length, batch and unit of the figures not published"},
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

// Adds what translators leave to their caller.
MeasuredCase Completed(const CsvRow& row, const SourceRule& rule, MeasuredCase out) {
  out.source = std::string(rule.name);
  out.id = Cell(row, "id");
  out.defaults = DefaultsOf(out.all_fields);
  AddAssumptions(row, rule, out);
  return out;
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
  std::string reason(rule->reason);
  if (rule->translate != nullptr) {
    absl::StatusOr<MeasuredCase> out = rule->translate(row);
    if (out.ok()) return Completed(row, *rule, *std::move(out));
    reason = std::string(out.status().message());
  }
  if (rule->translate_open == nullptr) return LeftOut{reason};
  absl::StatusOr<OpenCase> out = rule->translate_open(row);
  if (!out.ok()) return LeftOut{reason};
  out->source = std::string(rule->name);
  out->id = Cell(row, "id");
  return *std::move(out);
}

}  // namespace sextant
