// The tables of docs/transformer.md, line by line, from the engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/model/architecture/model_weights.h"
#include "engine/model/flops/count_flops.h"
#include "engine/model/flops/flops_by_convention.h"
#include "tests/golden/reference_models.h"
#include "tests/support/source_folder.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;

const std::string& Document() {
  static const std::string* const text = [] {
    std::ifstream in(SourceFolder() + "/docs/transformer.md");
    std::stringstream out;
    out << in.rdbuf();
    return new std::string(out.str());
  }();
  return *text;
}

struct DocCase {
  std::string name;
  int64_t length;
};

const std::vector<DocCase>& DocCases() {
  static const auto* const cases =
      new std::vector<DocCase>{{"A", 2048}, {"B", 4096}, {"C", 8192}, {"D", 4096}};
  return *cases;
}

// A reference case, counted.
struct CountedCase {
  explicit CountedCase(const DocCase& c)
      : spec(ReferenceModel(c.name)),
        tensors(WeightsOf(spec)),
        step(OneSequence(c.length)),
        flops(CountFlops(spec, tensors, step, FlopsDetail::kComponents)) {}

  ConventionInput input() const { return {spec, tensors, step, flops}; }

  ArchitectureSpec spec;
  WeightTensors tensors;
  TrainingStepSpec step;
  StepFlops flops;
};

// "| `six_n_total` | 1047.695 (0.9866) | ..." in GFLOP a token and as a ratio to exact_causal.
TEST(TransformerDoc, ConventionsOfTheReferenceCases) {
  std::vector<std::vector<ConventionFlops>> columns;
  for (const DocCase& c : DocCases()) columns.push_back(FlopsByConvention(CountedCase(c).input()));
  for (int i = 0; i < kFlopsConventionCount; ++i) {
    std::string line = absl::StrCat("| `", FactsOf(static_cast<FlopsConvention>(i)).name, "` |");
    for (const std::vector<ConventionFlops>& column : columns) {
      const ConventionFlops& row = column[static_cast<size_t>(i)];
      if (row.not_applicable.empty()) {
        absl::StrAppendFormat(&line, " %.3f (%.4f) |", row.per_token.value() / 1e9,
                              row.ratio_to_exact);
      } else {
        line += " - |";
      }
    }
    EXPECT_THAT(Document(), HasSubstr(line));
  }
}

// "| A | -1.365 % | ..." of exact_causal: what 6 N leaves out and has too much.
TEST(TransformerDoc, TermsOfSixN) {
  for (const DocCase& c : DocCases()) {
    const CountedCase counted(c);
    const ConventionFlops row = FlopsByConvention(counted.input())[0];
    const double exact = counted.flops.PerToken(MaskConvention::kCausal).Model().value();
    std::string line = absl::StrCat("| ", c.name, " |");
    size_t terms = 0;
    for (const FlopsTerm term : {FlopsTerm::kCoreAttention, FlopsTerm::kEmbeddingLookup,
                                 FlopsTerm::kOutputHead, FlopsTerm::kNormsAndBiases}) {
      const auto found = std::find_if(row.differences.begin(), row.differences.end(),
                                      [term](const TermDifference& d) { return d.term == term; });
      if (found == row.differences.end()) {
        line += " - |";
        continue;
      }
      ++terms;
      absl::StrAppendFormat(&line, " %+.3f %% |", 100 * found->per_token.value() / exact);
    }
    EXPECT_EQ(terms, row.differences.size()) << "a column is missing";
    EXPECT_THAT(Document(), HasSubstr(line));
  }
}

// Table 1 of Kaplan et al. for GPT-3 175B, in MFLOP a token, forward.
TEST(TransformerDoc, KaplanTable) {
  const CountedCase counted(DocCases()[0]);
  const auto table = KaplanTable(counted.input());
  ASSERT_TRUE(table.ok());
  for (const KaplanRow& row : *table) {
    EXPECT_THAT(Document(),
                HasSubstr(absl::StrFormat("| %s | %s | %.3f | %.3f |", row.operation, row.formula,
                                          row.per_token.value() / 1e6, row.exact.value() / 1e6)));
    EXPECT_THAT(Document(),
                HasSubstr(absl::StrCat("- ", row.operation, ": ", row.difference, ".\n")));
  }
}

// Every convention's sentence.
TEST(TransformerDoc, DefinesEveryConvention) {
  for (int i = 0; i < kFlopsConventionCount; ++i) {
    const ConventionFacts& facts = FactsOf(static_cast<FlopsConvention>(i));
    EXPECT_THAT(Document(), HasSubstr(absl::StrCat("**`", facts.name, "`**")));
  }
}

}  // namespace
}  // namespace sextant
