#include "tests/validation/kernel_score.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/hardware/accelerator.h"
#include "engine/hardware/catalogue.h"

namespace sextant {

double Roofline::Seconds(const ScoredWork& work) const {
  return std::max(work.flops / flops_per_second, work.bytes / bytes_per_second);
}

absl::optional<Roofline> DatasheetRoofline(absl::string_view gpu, DataType type) {
  const Accelerator* accelerator = AcceleratorNamed(gpu);
  if (accelerator == nullptr) return absl::nullopt;
  const DatasheetValue peak = PeakFlopsPerSecond(*accelerator, type);
  const DatasheetValue bandwidth = accelerator->memory_bandwidth_bytes_per_second;
  if (!peak || !bandwidth) return absl::nullopt;
  return Roofline{.flops_per_second = peak.value, .bytes_per_second = bandwidth.value};
}

Roofline RooflineSeen(const std::vector<ScoredWork>& points) {
  Roofline out;
  for (const ScoredWork& point : points) {
    out.flops_per_second = std::max(out.flops_per_second, point.flops / point.seconds);
    out.bytes_per_second = std::max(out.bytes_per_second, point.bytes / point.seconds);
  }
  return out;
}

void Scoring::Add(const ScoredWork& work, const KernelTime& predicted) {
  ours_.push_back(predicted.expected.value() / work.seconds - 1);
  by_seen_.push_back(seen_.Seconds(work) / work.seconds - 1);
  if (datasheet_.has_value()) by_datasheet_.push_back(datasheet_->Seconds(work) / work.seconds - 1);
  if (predicted.low.value() <= work.seconds && work.seconds <= predicted.high.value()) ++inside_;
}

void Scoring::FillIn(KernelScore& score) const {
  score.ours = SummaryOf(ours_);
  score.datasheet = SummaryOf(by_datasheet_);
  score.measured_peak = SummaryOf(by_seen_);
  score.in_interval =
      ours_.empty() ? 0 : static_cast<double>(inside_) / static_cast<double>(ours_.size());
}

absl::StatusOr<DataType> TableDataType(absl::string_view name) {
  if (name == "bf16") return DataType::kBf16;
  if (name == "fp8" || name == "fp8_block") return DataType::kFp8E4m3;
  if (name == "nvfp4") return DataType::kNvfp4;
  if (name == "int8") return DataType::kInt8;
  return absl::InvalidArgumentError(absl::StrCat("no such data type: ", name));
}

absl::StatusOr<int64_t> IntegerOf(const CsvRow& row, const std::string& column) {
  const auto found = row.find(column);
  int64_t out = 0;
  if (found != row.end() && absl::SimpleAtoi(found->second, &out)) return out;
  return absl::InvalidArgumentError(absl::StrCat(column, ": absent, or no integer"));
}

absl::StatusOr<double> NumberOf(const CsvRow& row, const std::string& column) {
  const auto found = row.find(column);
  double out = 0;
  if (found != row.end() && absl::SimpleAtod(found->second, &out)) return out;
  return absl::InvalidArgumentError(absl::StrCat(column, ": absent, or no number"));
}

}  // namespace sextant
