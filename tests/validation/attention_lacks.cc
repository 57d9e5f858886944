#include "tests/validation/attention_lacks.h"

#include <algorithm>
#include <functional>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/kernels/attention_model.h"
#include "engine/hardware/kernels/prediction_error.h"
#include "tests/validation/attention_rows.h"
#include "tests/validation/grouped_matmul_accuracy.h"

namespace sextant {
namespace {

constexpr size_t kManyRows = 400;  // of a class, so that its middle alone makes a calibration

using Points = std::vector<AttentionPoint>;
struct Answers {
  std::vector<double> ratios;  // measured over expected
  int64_t inside = 0;          // of the interval
};
using Ratios = std::map<std::string, Answers>;

struct Band {
  const char* name;
  int64_t least;
  int64_t most;
};

constexpr Band kSequences[] = {{"sequence: 1 octave below", 1024, 1024},
                               {"sequence: up to 1 octave above", 6145, 12288},
                               {"sequence: 1.4 octaves above", 16384, 16384}};
constexpr Band kHeadCounts[] = {{"batch x heads: up to 1 octave below", 8, 15},
                                {"batch x heads: 2 octaves below", 4, 7},
                                {"batch x heads: up to 1 octave above", 257, 512},
                                {"batch x heads: up to 2 octaves above", 513, 1024},
                                {"batch x heads: 3 octaves above and more", 2049, 1 << 20}};

bool Within(int64_t value, int64_t least, int64_t most) { return least <= value && value <= most; }

int64_t HeadCount(const AttentionShape& shape) { return shape.batch * shape.heads; }

bool MiddleSequence(const AttentionShape& shape) { return Within(shape.sequence, 2048, 6144); }

bool MiddleHeads(const AttentionShape& shape) { return Within(HeadCount(shape), 16, 256); }

template <typename Keep>
Points Chosen(const Points& points, Keep keep) {
  Points out;
  for (const AttentionPoint& point : points) {
    if (keep(point.shape)) out.push_back(point);
  }
  return out;
}

absl::StatusOr<AttentionModel> ModelOf(int64_t units, const Points& points) {
  return AttentionModel::Of({.compute_units = units, .points = points});
}

template <typename Model, typename Point>
void Ask(const Model& model, const std::vector<Point>& points, Answers& out) {
  for (const Point& point : points) {
    const KernelTime time = model.Predict(point.shape);
    out.ratios.push_back(point.time.value() / time.expected.value());
    if (time.low <= point.time && point.time <= time.high) ++out.inside;
  }
}

absl::Status AskOutside(int64_t units, const Points& like, Ratios& out) {
  const Points middle = Chosen(like, [](const AttentionShape& shape) {
    return MiddleSequence(shape) && MiddleHeads(shape);
  });
  SEXTANT_ASSIGN_OR_RETURN(const AttentionModel model, ModelOf(units, AttentionPick(middle)));
  Ask(model, middle, out["nothing"]);
  for (const Band& band : kSequences) {
    Ask(model,
        Chosen(like,
               [&](const AttentionShape& shape) {
                 return MiddleHeads(shape) && Within(shape.sequence, band.least, band.most);
               }),
        out[band.name]);
  }
  for (const Band& band : kHeadCounts) {
    Ask(model,
        Chosen(like,
               [&](const AttentionShape& shape) {
                 return MiddleSequence(shape) && Within(HeadCount(shape), band.least, band.most);
               }),
        out[band.name]);
  }
  return absl::OkStatus();
}

// The name of the gap between a model `of` this class and a request for the class `for_it`; empty:
// not of interest.
std::string LackBetween(const AttentionShape& of, const AttentionShape& for_it) {
  if (of.window > 0) return "";
  const int64_t size = of.query_key_head_size;
  const int64_t asked = for_it.query_key_head_size;
  if (of.causal != for_it.causal) {
    return size == asked && for_it.window == 0
               ? absl::StrCat("mask: ", for_it.causal ? "none" : "causal", " measured")
               : "";
  }
  if (for_it.window > 0) return size == asked ? absl::StrCat("window ", for_it.window) : "";
  for (const int64_t octaves : {1, 2}) {
    if (asked == size << octaves) return absl::StrCat("head size ", octaves, " octaves larger");
    if (size == asked << octaves) return absl::StrCat("head size ", octaves, " octaves smaller");
  }
  return "";
}

Points Long(const Points& points) {
  return Chosen(points,
                [](const AttentionShape& shape) { return Within(shape.sequence, 2048, 16384); });
}

absl::Status AskOthers(int64_t units, const std::vector<Points>& classes, Ratios& out) {
  for (const Points& like : classes) {
    if (like[0].shape.window > 0) continue;
    SEXTANT_ASSIGN_OR_RETURN(const AttentionModel model, ModelOf(units, AttentionPick(like)));
    for (const Points& other : classes) {
      const std::string lack = LackBetween(like[0].shape, other[0].shape);
      if (!lack.empty()) Ask(model, Long(other), out[lack]);
    }
  }
  return absl::OkStatus();
}

// A model of the head sizes around that of classes[middle].
absl::Status AskBetween(int64_t units, const std::vector<Points>& classes, Ratios& out) {
  std::vector<const Points*> causal;
  for (const Points& like : classes) {
    if (like[0].shape.causal && like[0].shape.window == 0) causal.push_back(&like);
  }
  for (size_t middle = 1; middle + 1 < causal.size(); ++middle) {
    Points around = AttentionPick(*causal[middle - 1]);
    const Points above = AttentionPick(*causal[middle + 1]);
    around.insert(around.end(), above.begin(), above.end());
    SEXTANT_ASSIGN_OR_RETURN(const AttentionModel model, ModelOf(units, around));
    Ask(model, Long(*causal[middle]), out["head size between two"]);
  }
  return absl::OkStatus();
}

// A model of every head size without a window, and of this window with one head size, asked for the
// window with another: the head size is nearer without the window than with it.
absl::Status AskWindows(int64_t units, const std::vector<Points>& classes, Ratios& out) {
  Points without;
  for (const Points& like : classes) {
    if (like[0].shape.window > 0) continue;
    const Points picked = AttentionPick(like);
    without.insert(without.end(), picked.begin(), picked.end());
  }
  for (const Points& known : classes) {
    for (const Points& asked : classes) {
      const bool other_size =
          known[0].shape.query_key_head_size != asked[0].shape.query_key_head_size;
      if (known[0].shape.window == 0 || known[0].shape.window != asked[0].shape.window ||
          !other_size || without.empty()) {
        continue;
      }
      Points points = AttentionPick(known);
      points.insert(points.end(), without.begin(), without.end());
      SEXTANT_ASSIGN_OR_RETURN(const AttentionModel model, ModelOf(units, points));
      Ask(model, Long(asked), out["window of a head size that is measured without it"]);
    }
  }
  return absl::OkStatus();
}

// A mask of one kernel, asked of another kernel of the same framework: references join them.
absl::Status AskOtherKernels(int64_t units, const std::vector<Points>& classes,
                             const std::vector<Points>& others, Ratios& out) {
  for (const Points& like : classes) {
    for (const Points& other : others) {
      const std::string lack = LackBetween(like[0].shape, other[0].shape);
      if (like[0].shape.causal == other[0].shape.causal || lack.empty()) continue;
      SEXTANT_ASSIGN_OR_RETURN(const AttentionModel model, ModelOf(units, AttentionPick(like)));
      Ask(model, Long(other), out[absl::StrCat(lack, ", by another kernel")]);
    }
  }
  return absl::OkStatus();
}

// True where both are of one GPU, type, framework and its version, and of different kernels.
bool OfOneFramework(const KernelKey& a, const KernelKey& b) {
  const auto framework = [](const KernelKey& key) {
    const std::string& name = std::get<2>(key);
    return name.substr(0, name.find(' ', name.find(' ') + 1));
  };
  return a != b && std::get<0>(a) == std::get<0>(b) && std::get<1>(a) == std::get<1>(b) &&
         framework(a) == framework(b);
}

std::vector<LackScore> ScoresOf(const Ratios& ratios) {
  std::vector<LackScore> out;
  for (const auto& [lack, answers] : ratios) {
    if (answers.ratios.empty()) continue;
    out.push_back({.lack = lack,
                   .error = ErrorOf(answers.ratios),
                   .inside = static_cast<double>(answers.inside) /
                             static_cast<double>(answers.ratios.size())});
  }
  return out;
}

using ExpertPoints = std::vector<GroupedMatmulPoint>;

ExpertPoints ChosenExperts(const ExpertPoints& points,
                           const std::function<double(const GroupedMatmulShape&)>& size,
                           double least, double below) {
  ExpertPoints out;
  for (const GroupedMatmulPoint& point : points) {
    if (least <= size(point.shape) && size(point.shape) < below) out.push_back(point);
  }
  return out;
}

struct ExpertAxis {
  const char* name;
  std::function<double(const GroupedMatmulShape&)> size;
  double least;  // of the middle, which a model knows
  double below;
};

absl::Status AskOutside(const ExpertAxis& axis, const ExpertPoints& points, Ratios& out) {
  const ExpertPoints middle = ChosenExperts(points, axis.size, axis.least, axis.below);
  SEXTANT_ASSIGN_OR_RETURN(const GroupedMatmulModel model,
                           GroupedMatmulModel::Of({.points = GroupedMatmulPick(middle)}));
  const auto ask = [&](const std::string& name, const ExpertPoints& asked) {
    Ask(model, asked, out[name]);
  };
  ask(absl::StrCat(axis.name, ": nothing"), middle);
  for (int octave = 1; octave <= 4; ++octave) {
    const double factor = static_cast<double>(1 << octave);
    ask(absl::StrCat(axis.name, ": ", octave, " octaves below"),
        ChosenExperts(points, axis.size, axis.least / factor, 2 * axis.least / factor));
    ask(absl::StrCat(axis.name, ": ", octave, " octaves above"),
        ChosenExperts(points, axis.size, axis.below * factor / 2, axis.below * factor));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<LackScore>> AttentionLacks(const std::vector<CsvRow>& rows) {
  SEXTANT_ASSIGN_OR_RETURN(const auto table, AttentionTable(rows));
  Ratios ratios;
  for (const auto& [key, points] : table) {
    const Accelerator* accelerator = AcceleratorNamed(std::get<0>(key));
    if (accelerator == nullptr || !accelerator->compute_unit_count) continue;
    const auto units = static_cast<int64_t>(accelerator->compute_unit_count.value);
    const std::vector<Points> classes = AttentionClasses(points);
    for (const Points& like : classes) {
      if (like.size() < kManyRows || like[0].shape.window > 0) continue;
      SEXTANT_RETURN_IF_ERROR(AskOutside(units, like, ratios));
    }
    SEXTANT_RETURN_IF_ERROR(AskOthers(units, classes, ratios));
    SEXTANT_RETURN_IF_ERROR(AskBetween(units, classes, ratios));
    SEXTANT_RETURN_IF_ERROR(AskWindows(units, classes, ratios));
    for (const auto& [other, other_points] : table) {
      if (!OfOneFramework(key, other)) continue;
      SEXTANT_RETURN_IF_ERROR(
          AskOtherKernels(units, classes, AttentionClasses(other_points), ratios));
    }
  }
  return ScoresOf(ratios);
}

absl::StatusOr<std::vector<LackScore>> GroupedMatmulLacks(const std::vector<CsvRow>& rows) {
  SEXTANT_ASSIGN_OR_RETURN(const auto table, GroupedMatmulTable(rows));
  Ratios ratios;
  const ExpertAxis axes[] = {{"rows an expert", RowsPerExpert, 16, 256},
                             {"experts on the device",
                              [](const GroupedMatmulShape& shape) {
                                return static_cast<double>(shape.experts / shape.expert_parallel);
                              },
                              4, 65}};
  for (const auto& [key, points] : table) {
    if (points.size() < kManyRows) continue;
    for (const ExpertAxis& axis : axes) {
      SEXTANT_RETURN_IF_ERROR(AskOutside(axis, points, ratios));
    }
  }
  return ScoresOf(ratios);
}

std::string LackTable(const std::vector<LackScore>& lacks, absl::string_view title) {
  const bool intervals = std::any_of(lacks.begin(), lacks.end(),
                                     [](const LackScore& lack) { return lack.inside.has_value(); });
  std::string out =
      absl::StrCat("| ", title, " | shapes | measured over expected: p10 | median | p90 |",
                   intervals ? " in interval % |" : "", "\n| --- | ---: | ---: | ---: | ---: |",
                   intervals ? " ---: |" : "", "\n");
  for (const LackScore& lack : lacks) {
    absl::StrAppendFormat(&out, "| %s | %d | %.2f | %.2f | %.2f |", lack.lack,
                          lack.error.shape_count, lack.error.p10, lack.error.median,
                          lack.error.p90);
    if (lack.inside.has_value()) absl::StrAppendFormat(&out, " %.0f |", 100 * *lack.inside);
    out += "\n";
  }
  return out;
}

}  // namespace sextant
