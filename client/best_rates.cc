#include "client/best_rates.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/enum_names.h"
#include "client/format.h"
#include "client/matmul_tables.h"
#include "client/table.h"

namespace sextant {
namespace {

// A rate whose samples agree is better than a faster one whose samples don't, unless it is more
// than 10 % slower: the rule by which a plan chooses too.
constexpr double kStableShareOfFastest = 0.9;

template <typename Measurement, typename RateOf>
bool IsBetter(const Measurement& x, const Measurement& y, RateOf rate_of) {
  const bool stable = x.time().stable();
  if (stable == y.time().stable()) return rate_of(x) > rate_of(y);
  return stable ? rate_of(x) >= rate_of(y) * kStableShareOfFastest
                : rate_of(y) < rate_of(x) * kStableShareOfFastest;
}

// The best of `measurements` for each key; what is no rate at all (NaN, 0) is none.
template <typename Measurements, typename KeyOf, typename RateOf>
auto Best(const Measurements& measurements, KeyOf key_of, RateOf rate_of) {
  std::map<std::string, const typename Measurements::value_type*> best;
  for (const auto& measurement : measurements) {
    if (!(rate_of(measurement) > 0)) continue;
    const auto*& held = best[key_of(measurement)];
    if (held == nullptr || IsBetter(measurement, *held, rate_of)) held = &measurement;
  }
  return best;
}

std::string SpreadText(const v1::TimeStatistics& time) {
  if (time.sample_count() == 1) return "a single sample";
  return absl::StrCat("spread ", Percent(time.relative_spread()),
                      time.stable() ? "" : ", unstable");
}

std::string MatmulNote(const v1::MatmulMeasurement& matmul) {
  std::string note = ShapeText(matmul);
  if (matmul.has_register_ratio()) {
    absl::StrAppend(&note, ", ", Percent(matmul.register_ratio()), " of registers");
  }
  if (matmul.has_datasheet_mfu()) {
    absl::StrAppend(&note, ", ", Percent(matmul.datasheet_mfu()), " MFU");
  }
  if (matmul.has_time()) absl::StrAppend(&note, ", ", SpreadText(matmul.time()));
  return note;
}

using Matmuls = google::protobuf::RepeatedPtrField<v1::MatmulMeasurement>;

// Plans pass over shapes that were asked for, and so does this.
void AddMatmuls(const std::string& label, const Matmuls& matmuls, Table* table) {
  Matmuls searched;
  for (const v1::MatmulMeasurement& matmul : matmuls) {
    if (!matmul.requested()) *searched.Add() = matmul;
  }
  const auto type = [](const auto& matmul) { return DataTypeName(matmul.data_type()); };
  const auto rate = [](const auto& matmul) { return matmul.flops_per_second(); };
  for (const auto& [name, matmul] : Best(searched, type, rate)) {
    table->AddRow({absl::StrCat(label, " ", name),
                   Scaled(matmul->flops_per_second(), UnitOfWork(matmul->data_type())),
                   MatmulNote(*matmul)});
  }
}

void AddStreams(const v1::Calibration& calibration, Table* table) {
  google::protobuf::RepeatedPtrField<v1::StreamMeasurement> memory;
  for (const v1::StreamMeasurement& stream : calibration.streams()) {
    if (stream.main_memory()) *memory.Add() = stream;
  }
  const auto operation = [](const v1::StreamMeasurement& stream) {
    return EnumName(*v1::StreamMeasurement::Operation_descriptor(), stream.operation());
  };
  const auto rate = [](const v1::StreamMeasurement& stream) { return stream.bytes_per_second(); };
  for (const auto& [name, stream] : Best(memory, operation, rate)) {
    table->AddRow({absl::StrCat("memory ", name), Scaled(stream->bytes_per_second(), "B/s"),
                   stream->has_time() ? SpreadText(stream->time()) : ""});
  }
}

}  // namespace

std::string BestSection(const v1::Calibration& calibration) {
  Table table(2, {Align::kLeft, Align::kRight, Align::kLeft});
  AddMatmuls("matmul", calibration.matmuls(), &table);
  AddMatmuls("sustained", calibration.sustained_matmuls(), &table);
  AddStreams(calibration, &table);
  if (calibration.has_ridge_flops_per_byte()) {
    table.AddRow({"ridge", absl::StrFormat("%.2f FLOP/byte", calibration.ridge_flops_per_byte()),
                  "elementwise work below it waits for memory"});
  }
  if (calibration.has_fusion()) {
    table.AddRow({"fusion", absl::StrFormat("%.2f x", calibration.fusion().speedup_ratio()),
                  absl::StrCat("as fast, ", calibration.fusion().operation_count(),
                               " operations in one pass")});
  }
  const std::string rows = table.Text();
  return rows.empty() ? "" : absl::StrCat("\nBest of each kind\n", rows);
}

}  // namespace sextant
