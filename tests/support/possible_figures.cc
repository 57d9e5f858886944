#include "tests/support/possible_figures.h"

#include <google/protobuf/descriptor.h>

#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "sextant/v1/accounting_service.pb.h"
#include "sextant/v1/memory.pb.h"
#include "sextant/v1/note.pb.h"
#include "sextant/v1/operation_device.pb.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr double kWhole = 1.0005;  // 1, but for rounding
// The share of a datasheet's peak, which has a nominal clock: kMaxOfPeak of proto/check/kernels.cc.
constexpr double kMaxMeasured = 1.10;

bool IsMfu(absl::string_view name) {
  return name == "mfu" || name == "hfu" || absl::EndsWith(name, "_mfu");
}

bool IsShare(absl::string_view name) {
  return absl::EndsWith(name, "_share") || absl::EndsWith(name, "chance");
}

bool IsAmount(absl::string_view name) {
  return (absl::EndsWith(name, "bytes") || absl::EndsWith(name, "seconds")) &&
         name != "headroom_bytes";
}

// The number of `field`, its `index`th where it is repeated; absent: not a number.
absl::optional<double> NumberOf(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& reflection = *message.GetReflection();
  const bool many = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return many ? reflection.GetRepeatedDouble(message, &field, index)
                  : reflection.GetDouble(message, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return static_cast<double>(many ? reflection.GetRepeatedInt64(message, &field, index)
                                      : reflection.GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_INT32:
      return static_cast<double>(many ? reflection.GetRepeatedInt32(message, &field, index)
                                      : reflection.GetInt32(message, &field));
    default:
      return absl::nullopt;
  }
}

class FigureWalk {
 public:
  std::vector<std::string> found;

  void Visit(const Message& message, const std::string& path, double mfu_limit) {
    if (message.GetDescriptor() == v1::RoundedNumber::descriptor()) return;
    if (message.GetDescriptor() == v1::PlanRunRequest::descriptor()) return;  // the caller's own
    if (WarnsOfPeak(message)) mfu_limit = kMaxMeasured;
    CheckOrder(message, path);
    CheckReading(message, path);
    std::vector<const FieldDescriptor*> fields;
    message.GetReflection()->ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      const int count =
          field->is_repeated() ? message.GetReflection()->FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i) VisitField({message, *field, i}, path, mfu_limit);
    }
  }

 private:
  struct Place {
    const Message& message;
    const FieldDescriptor& field;
    int index;
  };

  void Add(const std::string& path, absl::string_view what) {
    found.push_back(absl::StrCat(path, " is ", what));
  }

  void VisitField(const Place& at, const std::string& path, double mfu_limit) {
    const std::string here =
        absl::StrCat(path, path.empty() ? "" : ".", at.field.name(),
                     at.field.is_repeated() ? absl::StrCat("[", at.index, "]") : "");
    if (at.field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const Reflection& reflection = *at.message.GetReflection();
      const Message& inner = at.field.is_repeated()
                                 ? reflection.GetRepeatedMessage(at.message, &at.field, at.index)
                                 : reflection.GetMessage(at.message, &at.field);
      const absl::optional<double> low = FieldOf(inner, "low");
      if (low.has_value() && IsAmount(at.field.name()) && *low < 0) Add(here + ".low", *low);
      Visit(inner, here, mfu_limit);
      return;
    }
    const absl::optional<double> value = NumberOf(at.message, at.field, at.index);
    if (value.has_value()) CheckNumber(at, here, *value, mfu_limit);
  }

  void CheckNumber(const Place& at, const std::string& path, double value, double mfu_limit) {
    const std::string& name = at.field.name();
    const double limit = name == "datasheet_mfu" ? kMaxMeasured : mfu_limit;
    const bool subtracts = at.message.GetDescriptor() == v1::LedgerRow::descriptor();
    if (!std::isfinite(value) || (IsMfu(name) && !(value >= 0 && value <= limit)) ||
        (IsShare(name) && !(value >= 0 && value <= kWhole)) ||
        (IsAmount(name) && !subtracts && value < 0)) {
      Add(path, value);
    }
  }

  void Add(const std::string& path, double value) { Add(path, absl::StrCat(value)); }

  // The number of a field by its name; absent where the message has none.
  static absl::optional<double> FieldOf(const Message& message, const char* name) {
    const FieldDescriptor* const field = message.GetDescriptor()->FindFieldByName(name);
    if (field == nullptr || field->is_repeated()) return absl::nullopt;
    return NumberOf(message, *field, 0);
  }

  void CheckOrder(const Message& message, const std::string& path) {
    const absl::optional<double> low = FieldOf(message, "low");
    const absl::optional<double> expected = FieldOf(message, "expected");
    const absl::optional<double> high = FieldOf(message, "high");
    if (!low.has_value() || !expected.has_value() || !high.has_value()) return;
    if (*low <= *expected && *expected <= *high) return;
    Add(path, absl::StrCat("low ", *low, ", expected ", *expected, ", high ", *high));
  }

  void CheckReading(const Message& message, const std::string& path) {
    if (message.GetDescriptor() != v1::Utilisation::descriptor()) return;
    v1::Utilisation read;
    read.ParseFromString(message.SerializeAsString());
    if (read.ratio() <= kWhole || read.reading() == v1::UTILISATION_READING_IMPOSSIBLE) return;
    Add(path + ".ratio", read.ratio());
  }

  static bool WarnsOfPeak(const Message& message) {
    const FieldDescriptor* const field = message.GetDescriptor()->FindFieldByName("warnings");
    if (field == nullptr || field->message_type() != v1::Note::descriptor()) return false;
    const Reflection& reflection = *message.GetReflection();
    const FieldDescriptor& kind = *v1::Note::descriptor()->FindFieldByName("kind");
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      const Message& note = reflection.GetRepeatedMessage(message, field, i);
      if (note.GetReflection()->GetEnumValue(note, &kind) == v1::NOTE_KIND_MEASURED_ABOVE_PEAK) {
        return true;
      }
    }
    return false;
  }
};

}  // namespace

std::vector<std::string> ImpossibleFigures(const Message& answer) {
  FigureWalk walk;
  walk.Visit(answer, "", kWhole);
  return std::move(walk.found);
}

}  // namespace sextant
