#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/report/hardware_text.h"
#include "client/report/lines.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

std::string Kind(const v1::NumberFormat& format) { return EnumName(format.kind()); }

std::string FormatLayoutName(const v1::NumberFormat& format, const v1::FloatLayout& layout) {
  return format.layouts_size() == 1 ? format.name()
                                    : absl::StrCat(format.name(), " as ", layout.name());
}

void AddFormat(const v1::NumberFormat& format, Table* table) {
  const std::string stored = Plain(format.storage_bits());
  for (const v1::FloatLayout& layout : format.layouts()) {
    table->AddRow({FormatLayoutName(format, layout), absl::StrCat(layout.bits()),
                   absl::StrCat(layout.exponent_bits()), absl::StrCat(layout.fraction_bits()),
                   stored, Plain(layout.largest_finite()), Plain(layout.smallest_normal()),
                   Plain(layout.epsilon())});
  }
  if (format.layouts().empty()) {
    table->AddRow({format.name(), absl::StrCat(format.bits()), kNoValue, kNoValue, stored,
                   Plain(format.largest_integer()), kNoValue, "1"});
  }
}

void AddLayout(const v1::FloatLayout& layout, Table* table) {
  table->AddRow({"layout", absl::StrCat(layout.name(), ": 1 sign, ", layout.exponent_bits(),
                                        " exponent (bias ", layout.exponent_bias(), "), ",
                                        layout.fraction_bits(), " fraction bits")});
  table->AddRow({"largest", Plain(layout.largest_finite())});
  table->AddRow({"smallest", absl::StrCat(Plain(layout.smallest_normal()), " normal, ",
                                          Plain(layout.smallest_subnormal()), " subnormal")});
  table->AddRow({"epsilon", absl::StrCat(Plain(layout.epsilon()), ", from 1 to the next number")});
  const std::string nans = layout.nan_code_count() == 0
                               ? "no NaN"
                               : absl::StrCat(Grouped(layout.nan_code_count()), " codes of NaN");
  table->AddRow(
      {"special", absl::StrCat(layout.has_infinities() ? "infinities, " : "no infinity, ", nans)});
}

void AddScale(const v1::BlockScale& scale, Table* table) {
  table->AddRow(
      {"scale", absl::StrCat(scale.scale_name(), ", ", scale.scale_bits(), " bits a block of ",
                             scale.block_size(), ", ", Plain(scale.smallest_scale()), " to ",
                             Plain(scale.largest_scale()),
                             scale.has_tensor_scale() ? ", and an fp32 one a tensor" : "")});
}

std::string About(const v1::NumberFormat& format) {
  Table table = Titled({"", ""});
  for (const v1::FloatLayout& layout : format.layouts()) AddLayout(layout, &table);
  if (format.has_largest_integer()) {
    table.AddRow({"range", absl::StrCat(Plain(format.lowest_integer()), " to ",
                                        Plain(format.largest_integer()))});
  }
  if (format.has_block_scale()) AddScale(format.block_scale(), &table);
  table.AddRow({"storage", absl::StrCat(Plain(format.storage_bits()), " bits an element")});
  table.AddRow({"too large",
                absl::StrCat(EnumName(format.overflow_rule()), ": ", format.overflow_reason())});
  table.AddRow({"for", format.role()});
  if (!format.note().empty()) table.AddRow({"note", format.note()});
  table.AddRow({"computed by", format.accelerators().empty()
                                   ? "no accelerator of the catalogue"
                                   : absl::StrJoin(format.accelerators(), ", ")});
  table.AddRow({"source", format.source()});
  return absl::StrCat(format.name(), " (", Kind(format), ")\n", table.Text());
}

// Shortest text that reads back as the same number.
std::string Exact(double value) {
  if (std::trunc(value) == value && std::abs(value) < 1e15) return absl::StrFormat("%.0f", value);
  for (int digits = 1; digits < 17; ++digits) {
    std::string text = absl::StrFormat("%.*g", digits, value);
    double read = 0;
    if (absl::SimpleAtod(text, &read) && read == value) return text;
  }
  return absl::StrFormat("%.17g", value);
}

std::string Rounded(const v1::RoundedNumber& number) {
  std::vector<std::string> parts = {EnumName(number.outcome())};
  if (number.subnormal()) parts.push_back("subnormal");
  if (number.has_relative_error()) {
    parts.push_back(absl::StrFormat("relative error %.3g", number.relative_error()));
  }
  if (number.has_code()) parts.push_back(absl::StrFormat("code 0x%x", number.code()));
  if (number.has_block_scale()) {
    parts.push_back(absl::StrCat("block scale ", Exact(number.block_scale())));
  }
  return absl::StrCat(Wrap("  ",
                           absl::StrCat(Exact(number.given()), " -> ", Exact(number.value()), " (",
                                        absl::StrJoin(parts, ", "), ")"),
                           4),
                      Wrap("    ", number.reason(), 4));
}

}  // namespace

std::string NumberFormatTable(const v1::ListDataTypesResponse& response) {
  Table table = Titled({"type", ">bits", ">exponent", ">fraction", ">stored", ">largest",
                        ">smallest normal", ">epsilon"},
                       0);
  for (const v1::NumberFormat& format : response.formats()) AddFormat(format, &table);
  return absl::StrCat(table.Text(),
                      "\nStored: bits an element, its share of a block's scale "
                      "included. Block formats: the element's\nrange, at a scale of "
                      "1. More of one: sextant dtype NAME\n");
}

std::string NumberFormatText(const v1::DescribeDataTypeResponse& response) {
  std::string out = About(response.format());
  if (response.rounded().empty()) return out;
  out += "\nRounded (to the nearest; of two, to the even one)\n";
  for (const v1::RoundedNumber& number : response.rounded()) out += Rounded(number);
  return out;
}

}  // namespace sextant::client
