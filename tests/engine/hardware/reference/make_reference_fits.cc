// Writes a file of engine/hardware/reference, the fits of published tables:
//
//   make_reference_fits h100-sxm > h100_sxm_matmul_fits.cc
//   make_reference_fits attention > attention_fits.cc
//   make_reference_fits grouped_matmul > grouped_matmul_fits.cc
#include <charconv>
#include <iostream>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "engine/hardware/reference/reference_kernels.h"
#include "engine/hardware/reference/reference_matmuls.h"

namespace sextant {
namespace {

constexpr size_t kColumns = 100;

// The shortest decimal that reads back as `value`.
std::string Text(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

std::string Text(absl::Span<const double> values) {
  const auto append = [](std::string* out, double value) { *out += Text(value); };
  return absl::StrCat("{", absl::StrJoin(values, ", ", append), "}");
}

std::string Text(const PredictionError& error) {
  return absl::StrCat("{", Text(error.p10), ", ", Text(error.median), ", ", Text(error.p90), ", ",
                      Text(error.median_absolute), ", ", Text(error.p90_absolute), ", ",
                      error.shape_count, "}");
}

std::string Text(const MatmulFormTrial& trial) {
  return absl::StrCat(
      "MatmulFormTrial{MatmulForm::", trial.form == MatmulForm::kTiles ? "kTiles" : "kGrid", ", ",
      Text(trial.error), ", ", Text(trial.mean_log_error), "}");
}

std::string Text(const MatmulModelFit& fit) {
  return absl::StrCat("{", Text(fit.chosen), ", ",
                      fit.other.has_value() ? Text(*fit.other) : "absl::nullopt", ", ",
                      Text(fit.error), ", ", Text(fit.tile_costs), ", ", Text(fit.grid), "}");
}

std::string Text(const AttentionClassFit& fit) {
  return absl::StrCat("{{", fit.form.query_tile, ", WindowForm::",
                      fit.form.window == WindowForm::kSliding ? "kSliding" : "kChunked", "}, ",
                      Text(fit.costs), ", ", Text(fit.error), "}");
}

std::string Text(const GroupedMatmulModelFit& fit) {
  return absl::StrCat("{{", fit.form.row_tile, ", ", fit.form.balance_rows, "}, ", Text(fit.costs),
                      ", ", Text(fit.error), "}");
}

// `text` and a comma in lines of four blanks, broken at its blanks.
std::string Element(const std::string& text) {
  std::string out;
  std::string line = "    ";
  for (const absl::string_view word : absl::StrSplit(absl::StrCat(text, ","), ' ')) {
    if (line.size() + word.size() > kColumns) {
      absl::StrAppend(&out, absl::StripTrailingAsciiWhitespace(line), "\n");
      line = "     ";
    }
    absl::StrAppend(&line, word, " ");
  }
  return absl::StrCat(out, absl::StripTrailingAsciiWhitespace(line), "\n");
}

std::string Array(const std::string& type, const std::string& name, const std::string& elements) {
  return absl::StrCat("constexpr ", type, " ", name, "[] = {\n", elements, "};\n");
}

struct FitsFile {
  std::string about;
  std::string header;
  std::string space;     // the namespace of the arrays
  std::string arrays;    // the last of them is kFits
  std::string type;      // of its elements
  std::string function;  // that returns it
};

std::string Text(const FitsFile& file) {
  const std::string head =
      absl::StrCat("absl::Span<const ", file.type, "> ", file.function, "() {");
  const std::string body = absl::StrCat("return ", file.space, "::kFits;");
  const bool is_long = head.size() + body.size() + 3 > kColumns;
  return absl::StrCat("// Fits of ", file.about,
                      ": made by make_reference_fits, not by hand.\n"
                      "#include \"engine/hardware/reference/",
                      file.header, "\"\n\nnamespace sextant {\nnamespace ", file.space,
                      " {\n\n// clang-format off\n", file.arrays,
                      "// clang-format on\n\n}  // namespace ", file.space, "\n\n", head,
                      is_long ? "\n  " : " ", body, is_long ? "\n" : " ",
                      "}\n\n}  // namespace sextant\n");
}

// "H100Sxm" of "h100-sxm".
std::string Identifier(const std::string& accelerator) {
  std::string out;
  for (const absl::string_view part : absl::StrSplit(accelerator, '-')) {
    absl::StrAppend(&out, absl::AsciiStrToUpper(part.substr(0, 1)), part.substr(1));
  }
  return out;
}

std::string MatmulFile(const std::string& accelerator) {
  std::string fits;
  for (const ReferenceMatmulKey& key : ReferenceMatmulKeys()) {
    if (key.accelerator != accelerator) continue;
    const auto model = MatmulModel::Of(*ReferenceMatmulCalibration(key.accelerator, key.type));
    fits += Element(Text(model.value().found()));
  }
  return Text(FitsFile{
      .about = absl::StrCat("the multiplications of ", accelerator),
      .header = "reference_matmuls.h",
      .space = absl::StrCat(absl::StrReplaceAll(accelerator, {{"-", "_"}}), "_matmul_fits"),
      .arrays = Array("MatmulModelFit", "kFits", fits),
      .type = "MatmulModelFit",
      .function = absl::StrCat(Identifier(accelerator), "MatmulFits")});
}

std::string AttentionFile() {
  std::string arrays;
  std::string fits;
  int count = 0;
  for (const absl::Span<const AttentionReference> of_device : AttentionReferences()) {
    for (const AttentionReference& reference : of_device) {
      const std::vector<AttentionPoint> points = PointsOf(reference);
      const auto model = AttentionModel::Of(CalibrationOf(reference, points)).value();
      std::string classes;
      for (const AttentionClassFit& each : model.found()) classes += Element(Text(each));
      const std::string name = absl::StrCat("kClasses", count++);
      arrays += Array("AttentionClassFit", name, classes);
      fits += Element(absl::StrCat("{", name, ", ", Text(model.error()), "}"));
    }
  }
  return Text(FitsFile{.about = "attention",
                       .header = "reference_kernels.h",
                       .space = "attention_fits",
                       .arrays = arrays + Array("AttentionReferenceFit", "kFits", fits),
                       .type = "AttentionReferenceFit",
                       .function = "AttentionReferenceFits"});
}

std::string GroupedMatmulFile() {
  std::string fits;
  for (const absl::Span<const GroupedMatmulReference> of_device : GroupedMatmulReferences()) {
    for (const GroupedMatmulReference& reference : of_device) {
      const auto model = GroupedMatmulModel::Of({.points = PointsOf(reference)});
      fits += Element(Text(model.value().found()));
    }
  }
  return Text(FitsFile{.about = "layers of experts",
                       .header = "reference_kernels.h",
                       .space = "grouped_matmul_fits",
                       .arrays = Array("GroupedMatmulModelFit", "kFits", fits),
                       .type = "GroupedMatmulModelFit",
                       .function = "GroupedMatmulReferenceFits"});
}

}  // namespace
}  // namespace sextant

int main(int argc, char** argv) {
  const std::string of = argc == 2 ? argv[1] : "";
  if (of.empty()) {
    std::cerr << "usage: make_reference_fits ACCELERATOR|attention|grouped_matmul\n";
    return 2;
  }
  std::cout << (of == "attention"        ? sextant::AttentionFile()
                : of == "grouped_matmul" ? sextant::GroupedMatmulFile()
                                         : sextant::MatmulFile(of));
  return 0;
}
