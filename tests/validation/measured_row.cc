#include "tests/validation/measured_row.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tests/validation/bloom_row.h"
#include "tests/validation/cells.h"
#include "tests/validation/simumax_row.h"

namespace sextant {
namespace {

struct SourceRule {
  absl::string_view repository;
  absl::string_view name;
  absl::StatusOr<MeasuredCase> (*translate)(const CsvRow&);  // null: `reason` for all rows
  absl::string_view reason;
};

constexpr SourceRule kSources[] = {
    {"MooreThreads/SimuMax", "SimuMax B200", SimumaxCase, ""},
    {"bigscience-workshop/bigscience", "BLOOM trials", BloomCase, ""},
    {"InternLM/InternEvo", "InternEvo", nullptr, "sequence length not published"},
    {"huggingface/nanotron", "nanotron", nullptr, "shape of the layers not published"},
    {"AMD-AGI/Primus", "Primus", nullptr, "sequence length and batch not published"},
};

// The fields that the table says its source doesn't print.
void AddAssumptions(const CsvRow& row, MeasuredCase& out) {
  const std::string inferred = Cell(row, "inferred_fields");
  if (!inferred.empty()) out.assumptions.push_back(inferred);
}

}  // namespace

bool SaysMemory(const CsvRow& row) {
  return !Cell(row, "peak_mem_as_published").empty() || !Cell(row, "peak_mem_gib").empty() ||
         Cell(row, "oom") == "True";
}

Translated TranslateMeasuredRow(const CsvRow& row) {
  for (const SourceRule& rule : kSources) {
    if (Cell(row, "source_repo") != rule.repository) continue;
    if (rule.translate == nullptr) return LeftOut{std::string(rule.reason)};
    absl::StatusOr<MeasuredCase> out = rule.translate(row);
    if (!out.ok()) return LeftOut{std::string(out.status().message())};
    out->source = std::string(rule.name);
    out->id = Cell(row, "id");
    AddAssumptions(row, *out);
    return *std::move(out);
  }
  return LeftOut{"no rule for its source"};
}

}  // namespace sextant
