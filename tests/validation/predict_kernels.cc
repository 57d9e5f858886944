// Predicts the time of each row of a table of measured kernels, as plans do, from one calibration.
//
//   predict_kernels CALIBRATION.json TABLE.csv
//
// Tables are those of tests/gpu/unseen_kernels.py: multiplications have the columns dtype, m, n, k,
// seconds; attention dtype, pass (forward or backward), batch, seq_len, heads, kv_heads, head_dim,
// causal, seconds; both framework, and attention kernel. Writes CSV. `seen` is 1 where the
// calibration has that very shape; `source` is whose measurements the time stands on, in which
// form.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/device_model.h"
#include "engine/hardware/rates.h"
#include "google/protobuf/util/json_util.h"
#include "proto/text/enum_names.h"
#include "server/convert/calibration.h"
#include "server/convert/kernel.h"
#include "tests/support/csv.h"

namespace sextant::server {
namespace {

constexpr int kUsageError = 2;
constexpr char kColumns[] =
    "kind,dtype,framework,kernel,pass,shape,seconds,predicted_seconds,low_seconds,high_seconds,"
    "basis,source,seen\n";

struct RowPrediction {
  std::string kind;
  std::string pass;
  std::string shape = {};
  KernelTime time = {};
  KernelSource source = {};
  bool seen = false;
};

absl::StatusOr<v1::Calibration> CalibrationIn(const std::string& path) {
  const std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return absl::NotFoundError(absl::StrCat(path, " can't be read"));
  v1::Calibration out;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto parsed = google::protobuf::util::JsonStringToMessage(text.str(), &out, options);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is no calibration: ", parsed.ToString()));
  }
  FieldViolations violations;
  CheckCalibration(out, "calibration", violations);
  for (const FieldViolation& each : violations.all()) {
    std::cerr << each.field << " " << each.description << "\n";
  }
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  return out;
}

std::string TextOf(const CsvRow& row, const std::string& column) {
  const auto found = row.find(column);
  return found == row.end() ? "" : found->second;
}

absl::StatusOr<int64_t> SizeOf(const CsvRow& row, const std::string& column) {
  int64_t out = 0;
  if (absl::SimpleAtoi(TextOf(row, column), &out) && out >= 0) return out;
  return absl::InvalidArgumentError(absl::StrCat(column, " is absent, or no size"));
}

absl::Status CheckSeconds(const CsvRow& row) {
  double out = 0;
  if (absl::SimpleAtod(TextOf(row, "seconds"), &out) && std::isfinite(out) && out > 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("seconds is absent, or no time");
}

absl::StatusOr<DataType> TypeOf(const CsvRow& row) {
  const std::string name = TextOf(row, "dtype");
  if (name == "bf16") return DataType::kBf16;
  if (name == "fp8") return DataType::kFp8E4m3;
  return absl::InvalidArgumentError(absl::StrCat("dtype is neither bf16 nor fp8: ", name));
}

template <typename Predictor>
absl::StatusOr<const Predictor*> Known(absl::StatusOr<const Predictor*> predictor) {
  if (predictor.ok() && *predictor == nullptr) {
    return absl::NotFoundError("nothing is known of this data type on this device");
  }
  return predictor;
}

class Predictors {
 public:
  explicit Predictors(const DeviceModel& model) : model_(model), measured_(model.kernels()) {}

  absl::StatusOr<RowPrediction> Predict(const CsvRow& row) {
    SEXTANT_ASSIGN_OR_RETURN(const DataType type, TypeOf(row));
    return row.count("seq_len") > 0 ? Attention(row, type) : Matmul(row, type);
  }

 private:
  absl::StatusOr<RowPrediction> Matmul(const CsvRow& row, DataType type) {
    MatmulShape shape;
    SEXTANT_ASSIGN_OR_RETURN(shape.m, SizeOf(row, "m"));
    SEXTANT_ASSIGN_OR_RETURN(shape.n, SizeOf(row, "n"));
    SEXTANT_ASSIGN_OR_RETURN(shape.k, SizeOf(row, "k"));
    SEXTANT_ASSIGN_OR_RETURN(const MatmulPredictor* const by, Known(model_.Matmuls(type)));
    RowPrediction out = {.kind = "gemm", .pass = "forward"};
    out.shape = absl::StrCat(shape.m, "x", shape.n, "x", shape.k);
    out.time = by->Predict(shape);
    out.source = by->source();
    for (const MeasuredMatmulPoints& of_type : measured_.matmuls) {
      out.seen |= of_type.data_type == type &&
                  std::any_of(of_type.matmuls.begin(), of_type.matmuls.end(),
                              [&](const MatmulPoint& matmul) { return matmul.shape == shape; });
    }
    return out;
  }

  absl::StatusOr<RowPrediction> Attention(const CsvRow& row, DataType type) {
    AttentionShape shape;
    SEXTANT_ASSIGN_OR_RETURN(shape.batch, SizeOf(row, "batch"));
    SEXTANT_ASSIGN_OR_RETURN(shape.sequence, SizeOf(row, "seq_len"));
    SEXTANT_ASSIGN_OR_RETURN(shape.heads, SizeOf(row, "heads"));
    SEXTANT_ASSIGN_OR_RETURN(shape.key_value_heads, SizeOf(row, "kv_heads"));
    SEXTANT_ASSIGN_OR_RETURN(shape.query_key_head_size, SizeOf(row, "head_dim"));
    SEXTANT_ASSIGN_OR_RETURN(const int64_t causal, SizeOf(row, "causal"));
    shape.value_head_size = shape.query_key_head_size;
    shape.causal = causal != 0;
    SEXTANT_ASSIGN_OR_RETURN(const AttentionPredictor* const by, Known(model_.Attention(type)));
    const std::string pass = TextOf(row, "pass");
    if (pass != "forward" && pass != "backward") {
      return absl::InvalidArgumentError(
          absl::StrCat("pass is neither forward nor backward: ", pass));
    }
    const bool backward = pass == "backward";
    RowPrediction out = {.kind = "attention", .pass = pass};
    out.shape = absl::StrCat("b", shape.batch, " s", shape.sequence, " h", shape.heads, "/",
                             shape.key_value_heads, " d", shape.query_key_head_size,
                             shape.causal ? " causal" : " full");
    out.time = backward ? by->PredictBackward(shape) : by->Predict(shape);
    out.source = backward ? by->BackwardSourceOf(shape) : by->SourceOf(shape);
    for (const MeasuredAttentions& of_type : measured_.attentions) {
      const auto& points = backward ? of_type.backward : of_type.forward;
      out.seen |= of_type.data_type == type &&
                  std::any_of(points.begin(), points.end(),
                              [&](const AttentionPoint& point) { return point.shape == shape; });
    }
    return out;
  }

  const DeviceModel& model_;
  const MeasuredKernels& measured_;
};

std::string LineOf(const CsvRow& row, const RowPrediction& p) {
  std::string basis = v1::KernelBasis_Name(KernelBasisTo(p.time.basis));
  return absl::StrCat(p.kind, ",", TextOf(row, "dtype"), ",", TextOf(row, "framework"), ",",
                      TextOf(row, "kernel"), ",", p.pass, ",", p.shape, ",", TextOf(row, "seconds"),
                      ",", p.time.expected.value(), ",", p.time.low.value(), ",",
                      p.time.high.value(), ",", basis, ",", RateSourceName(p.source.source), " ",
                      text::EnumName(PredictionFormTo(p.source.form)), ",", p.seen ? 1 : 0, "\n");
}

absl::Status Run(const std::string& calibration_path, const std::string& table_path) {
  SEXTANT_ASSIGN_OR_RETURN(const v1::Calibration calibration, CalibrationIn(calibration_path));
  SEXTANT_ASSIGN_OR_RETURN(const std::vector<CsvRow> rows, ReadCsv(table_path));
  const auto model = DeviceModelFrom(calibration, "");
  Predictors predictors(*model);
  std::string out = kColumns;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto add = [&]() -> absl::Status {
      SEXTANT_RETURN_IF_ERROR(CheckSeconds(rows[i]));
      SEXTANT_ASSIGN_OR_RETURN(const RowPrediction prediction, predictors.Predict(rows[i]));
      out += LineOf(rows[i], prediction);
      return absl::OkStatus();
    };
    if (const absl::Status status = add(); !status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(table_path, ", row ", i + 1, ": ", status.message()));
    }
  }
  std::cout << out;
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: predict_kernels CALIBRATION.json TABLE.csv\n";
    return kUsageError;
  }
  const absl::Status status = Run(argv[1], argv[2]);
  if (status.ok()) return 0;
  std::cerr << status.message() << "\n";
  return 1;
}

}  // namespace
}  // namespace sextant::server

int main(int argc, char** argv) { return sextant::server::Main(argc, argv); }
