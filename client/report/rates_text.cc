#include "client/report/rates_text.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/report/lines.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

// "peak_flops_per_second (bf16)": the quantity, and the data type where it has one.
std::string QuantityOf(const v1::RateUsed& rate) {
  const std::string type = DataTypeName(rate.data_type());
  return type.empty() ? rate.quantity() : absl::StrCat(rate.quantity(), " (", type, ")");
}

// The details of a measurement: "spread 0.80 %, 2026-11-21 12:00:00 UTC, 3.2 hours ago, of
// CPU-0123456789abcdef"; "" for a rate that was not measured.
std::string MeasuredNote(const v1::RateUsed& rate, absl::Time now) {
  std::vector<std::string> parts;
  if (rate.has_stable() && !rate.stable()) {
    parts.push_back(rate.has_relative_spread() ? "unstable: the samples disagree"
                                               : "unstable: a single sample");
  }
  if (rate.has_relative_spread()) {
    parts.push_back(absl::StrCat("spread ", Percent(rate.relative_spread())));
  }
  if (rate.has_measured_time()) {
    parts.push_back(absl::StrCat("measured ", InstantText(rate.measured_time())));
    parts.push_back(AgeText(AgeSeconds(rate.measured_time(), now)));
  }
  if (rate.has_device_uuid()) parts.push_back(absl::StrCat("on ", rate.device_uuid()));
  if (rate.has_calibration_fingerprint()) {
    parts.push_back(absl::StrCat("calibration ", rate.calibration_fingerprint()));
  }
  return absl::StrJoin(parts, ", ");
}

// "h100-sxm: a datasheet": the device and the source, as far as they are known.
std::string OriginOf(const v1::RateUsed& rate, const SourceList& sources) {
  std::vector<std::string> parts;
  for (std::string part : {rate.device(), SourceText(sources, rate.source_number())}) {
    if (!part.empty()) parts.push_back(std::move(part));
  }
  return absl::StrJoin(parts, ": ");
}

// Delimits texts at characters that no field's path has.
struct IsNotOfAPath {
  absl::string_view Find(absl::string_view text, size_t from) const {
    const auto is_of_a_path = [](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
    };
    const auto* const found = std::find_if_not(text.begin() + from, text.end(), is_of_a_path);
    return {found, found == text.end() ? size_t{0} : size_t{1}};
  }
};

}  // namespace

std::string RatesText(const google::protobuf::RepeatedPtrField<v1::RateUsed>& rates,
                      const SourceList& sources, absl::Time now) {
  if (rates.empty()) return "";
  Table table = Titled({"", ">", "", ""});
  std::string measured;
  for (const v1::RateUsed& rate : rates) {
    table.AddRow({QuantityOf(rate), WithUnit(rate.value(), rate.unit()), EnumName(rate.source()),
                  OriginOf(rate, sources)});
    const std::string note = MeasuredNote(rate, now);
    if (!note.empty()) measured += Wrap("  ", absl::StrCat(QuantityOf(rate), ": ", note), 4);
  }
  return absl::StrCat("\nRates used\n", table.Text(), measured);
}

std::string NumberedSource(int32_t number, const SourceList& sources) {
  return Line(absl::StrCat("  [", number, "] "), SourceText(sources, number));
}

std::string NoteText(const v1::Note& note, FieldWords words) {
  std::set<std::string> fields(note.fields().begin(), note.fields().end());
  for (absl::string_view path : absl::StrSplit(note.text(), IsNotOfAPath(), absl::SkipEmpty())) {
    path = absl::StripSuffix(path, ".");
    if (absl::StrContains(path, '.')) fields.emplace(path);
  }
  std::vector<std::pair<std::string, std::string>> renamed;
  for (const std::string& field : fields) {
    const std::string word = words(field);
    renamed.emplace_back(field, word);
    if (word != field) renamed.emplace_back(absl::StrCat(field, " = "), absl::StrCat(word, "="));
  }
  return absl::StrReplaceAll(note.text(), renamed);
}

std::string NotesText(absl::string_view title,
                      const google::protobuf::RepeatedPtrField<v1::Note>& notes, FieldWords words) {
  if (notes.empty()) return "";
  std::string out = absl::StrCat("\n", title, "\n");
  for (const v1::Note& note : notes) out += Wrap("  - ", NoteText(note, words), 4);
  return out;
}

std::string IgnoredFieldsSection(const google::protobuf::RepeatedPtrField<std::string>& fields) {
  if (fields.empty()) return "";
  return absl::StrCat("\nFields of config.json that hold no parameters, and were not read\n",
                      Wrap("  ", absl::StrJoin(fields, ", "), 2));
}

std::string UnreadFieldsWords(const google::protobuf::RepeatedPtrField<std::string>& fields) {
  if (fields.empty()) return "";
  return absl::StrCat("not read: ", absl::StrJoin(fields, ", "),
                      "; the parameters that they may stand for are missing from all numbers");
}

}  // namespace sextant::client
