#include <google/protobuf/any.pb.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "engine/base/field_violation.h"
#include "engine/base/near_names.h"
#include "proto/check/field_checker.h"
#include "server/connect/json_codec.h"
#include "server/connect/json_scanner.h"
#include "server/connect/json_values.h"

namespace sextant::server {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::EnumDescriptor;
using ::google::protobuf::EnumValueDescriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::internal::WireFormatLite;
using ::sextant::check::MessagePath;

// As a refusal names at most (server/call/status.cc); the rest of the text is not read.
constexpr size_t kMaxMistakes = 16;
// The most of the caller's text in a mistake's description.
constexpr size_t kMaxQuotedBytes = 48;

// On one line of ASCII.
std::string Quoted(absl::string_view text) {
  const bool is_cut = text.size() > kMaxQuotedBytes;
  const std::string shown = absl::CHexEscape(text.substr(0, kMaxQuotedBytes));
  return absl::StrCat(absl::StrReplaceAll(shown, {{"\\\"", "\""}, {"\\'", "'"}}),
                      is_cut ? "..." : "");
}

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

template <typename Number>
void AppendFixed(Number value, std::string* out) {
  char bytes[sizeof(value)];
  std::memcpy(bytes, &value, sizeof(value));  // protobuf's order is this processor's
  out->append(bytes, sizeof(value));
}

void AppendTag(const FieldDescriptor& field, WireFormatLite::WireType type, std::string* out) {
  AppendVarint(WireFormatLite::MakeTag(field.number(), type), out);
}

void AppendTag(const FieldDescriptor& field, std::string* out) {
  const auto type = static_cast<WireFormatLite::FieldType>(field.type());
  AppendTag(field, WireFormatLite::WireTypeForFieldType(type), out);
}

// Puts the length of what follows `begin` before it.
void InsertLength(size_t begin, std::string* out) {
  std::string length;
  AppendVarint(out->size() - begin, &length);
  out->insert(begin, length);
}

const FieldDescriptor* FindField(const Descriptor& type, absl::string_view name) {
  const std::string key(name);
  const FieldDescriptor* const found = type.FindFieldByCamelcaseName(key);
  return found != nullptr ? found : type.FindFieldByName(key);
}

std::string UnknownFieldText(const Descriptor& type, absl::string_view name) {
  std::vector<KnownName> names;
  std::vector<absl::string_view> all;
  for (int i = 0; i < type.field_count(); ++i) {
    names.push_back({type.field(i)->json_name()});
    all.push_back(names.back().name);
  }
  return UnknownNameMessage("field", name, names, absl::StrJoin(all, ", "));
}

std::string UnknownValueText(const EnumDescriptor& type, absl::string_view name) {
  std::vector<KnownName> names;
  std::vector<absl::string_view> all;
  for (int i = 0; i < type.value_count(); ++i) {
    if (type.value(i)->number() == 0) continue;  // is not given
    names.push_back({type.value(i)->name()});
    all.push_back(names.back().name);
  }
  return UnknownNameMessage("value", name, names, absl::StrJoin(all, ", "));
}

// Writes protobuf's bytes as it reads. Its functions return false where reading ends: where the
// text is no JSON, or at the last mistake that is named.
class Reader {
 public:
  explicit Reader(absl::string_view json) : scanner_(json) {}

  absl::StatusOr<std::string> Read(const Descriptor& type) {
    const MessagePath root("");
    std::string out;
    if (scanner_.Peek() == '\0' && scanner_.ExpectEnd()) {
      return InvalidField("request", "is empty: send {}");
    }
    if (ReadMessage(type, root, 0, &out) && !scanner_.ExpectEnd()) NotJson(root);
    if (!mistakes_.empty()) return mistakes_.ToStatus();
    return out;
  }

 private:
  // The fields of an object that have been read.
  using Given = absl::InlinedVector<bool, 64>;

  bool Add(const MessagePath& path, absl::string_view description) {
    const std::string field = path.ToString();
    mistakes_.Add(field.empty() ? "request" : field, description);
    return mistakes_.all().size() < kMaxMistakes;
  }

  bool NotJson(const MessagePath& path) {
    Add(path, scanner_.fault());
    return false;
  }

  // Names a mistake in the next value, and passes it.
  bool Mistake(const MessagePath& path, int depth, absl::string_view description) {
    absl::string_view ignored;
    if (!scanner_.Skip(depth, &ignored)) return NotJson(path);
    return Add(path, description);
  }

  bool Wrong(const MessagePath& path, int depth, absl::string_view wanted) {
    absl::string_view found;
    if (!scanner_.Skip(depth, &found)) return NotJson(path);
    return Add(path, absl::StrCat("must be ", wanted, ", not ", Quoted(found)));
  }

  bool ReadMessage(const Descriptor& type, const MessagePath& path, int depth, std::string* out) {
    if (scanner_.Peek() != '{') return Wrong(path, depth, "an object in braces");
    if (depth >= JsonScanner::kMaxDepth) return Mistake(path, depth, "");  // a fault of Skip()
    scanner_.Consume('{');
    if (scanner_.Consume('}')) return true;
    Given given(static_cast<size_t>(type.field_count()));
    do {
      absl::string_view name;
      if (!scanner_.ReadString(&name)) return NotJson(path);
      const FieldDescriptor* const field = FindField(type, name);
      if (field == nullptr) {
        const std::string shown = Quoted(name);
        const std::string text = UnknownFieldText(type, name);
        if (!scanner_.Expect(':')) return NotJson(path);
        if (!Mistake(MessagePath(path, shown), depth + 1, text)) return false;
        continue;
      }
      const MessagePath place(path, field->name());
      if (!scanner_.Expect(':')) return NotJson(place);
      if (!ReadField(*field, path, depth + 1, &given, out)) return false;
    } while (scanner_.Consume(','));
    return scanner_.Expect('}') || NotJson(path);
  }

  // `depth` is that of the field's value.
  bool ReadField(const FieldDescriptor& field, const MessagePath& above, int depth, Given* given,
                 std::string* out) {
    const MessagePath path(above, field.name());
    const auto is_given = [given](const FieldDescriptor* each) -> bool& {
      return (*given)[static_cast<size_t>(each->index())];
    };
    if (is_given(&field)) return Mistake(path, depth, "is given twice: write it once");
    if (scanner_.ConsumeWord("null")) return true;  // as one that is left out
    is_given(&field) = true;
    if (const auto* const choice = field.real_containing_oneof(); choice != nullptr) {
      for (int i = 0; i < choice->field_count(); ++i) {
        const FieldDescriptor* const other = choice->field(i);
        if (other == &field || !is_given(other)) continue;
        return Mistake(above, depth,
                       absl::StrCat("has ", other->json_name(), " and ", field.json_name(),
                                    ": give one of them"));
      }
    }
    if (field.is_map()) return Mistake(path, depth, "is not read from JSON");
    if (field.is_repeated()) return ReadList(field, above, depth, out);
    return ReadValue(field, path, depth, true, out);
  }

  bool ReadList(const FieldDescriptor& field, const MessagePath& above, int depth,
                std::string* out) {
    const MessagePath path(above, field.name());
    if (scanner_.Peek() != '[') return Wrong(path, depth, "a list in brackets");
    if (depth >= JsonScanner::kMaxDepth) return Mistake(path, depth, "");
    scanner_.Consume('[');
    if (scanner_.Consume(']')) return true;
    if (field.is_packed()) AppendTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED, out);
    const size_t begin = out->size();
    int i = 0;
    do {
      const MessagePath element(above, field.name(), i++);
      if (!ReadValue(field, element, depth + 1, !field.is_packed(), out)) return false;
    } while (scanner_.Consume(','));
    if (field.is_packed()) InsertLength(begin, out);
    return scanner_.Expect(']') || NotJson(path);
  }

  // Appends one value, after its tag where that is wanted.
  bool ReadValue(const FieldDescriptor& field, const MessagePath& path, int depth, bool tagged,
                 std::string* out) {
    if (tagged) AppendTag(field, out);
    switch (field.type()) {
      case FieldDescriptor::TYPE_MESSAGE:
        return ReadNested(*field.message_type(), path, depth, out);
      case FieldDescriptor::TYPE_STRING:
        return ReadText(path, depth, out);
      case FieldDescriptor::TYPE_ENUM:
        return ReadEnum(*field.enum_type(), path, depth, out);
      case FieldDescriptor::TYPE_BOOL:
        return ReadBool(path, depth, out);
      case FieldDescriptor::TYPE_INT32:
        return ReadWhole<int32_t>(path, depth, out);
      case FieldDescriptor::TYPE_INT64:
        return ReadWhole<int64_t>(path, depth, out);
      case FieldDescriptor::TYPE_UINT32:
        return ReadWhole<uint32_t>(path, depth, out);
      case FieldDescriptor::TYPE_UINT64:
        return ReadWhole<uint64_t>(path, depth, out);
      case FieldDescriptor::TYPE_DOUBLE:
        return ReadReal(path, depth, out);
      default:
        return Mistake(path, depth, "is not read from JSON");
    }
  }

  bool ReadNested(const Descriptor& type, const MessagePath& path, int depth, std::string* out) {
    if (&type == google::protobuf::Any::descriptor()) {
      return Mistake(path, depth, "is not read from JSON");
    }
    if (&type == google::protobuf::Duration::descriptor()) {
      google::protobuf::Duration duration;
      return ReadTimeText(path, depth, "a number of seconds such as \"3.5s\"", ParseDuration,
                          &duration, out);
    }
    if (&type == google::protobuf::Timestamp::descriptor()) {
      google::protobuf::Timestamp time;
      return ReadTimeText(path, depth, "a time such as \"2026-01-31T12:00:00Z\"", ParseTime, &time,
                          out);
    }
    const size_t begin = out->size();
    if (!ReadMessage(type, path, depth, out)) return false;
    InsertLength(begin, out);
    return true;
  }

  template <typename Time>
  bool ReadTimeText(const MessagePath& path, int depth, absl::string_view wanted,
                    bool parse(absl::string_view, Time*), Time* message, std::string* out) {
    absl::string_view text;
    if (scanner_.Peek() != '"') return Wrong(path, depth, wanted);
    if (!scanner_.ReadString(&text)) return NotJson(path);
    if (!parse(text, message)) {
      return Add(path, absl::StrCat("must be ", wanted, ", not \"", Quoted(text), "\""));
    }
    AppendVarint(message->ByteSizeLong(), out);
    return message->AppendToString(out);
  }

  bool ReadText(const MessagePath& path, int depth, std::string* out) {
    absl::string_view text;
    if (scanner_.Peek() != '"') return Wrong(path, depth, "a text in quotes");
    if (!scanner_.ReadString(&text)) return NotJson(path);
    AppendVarint(text.size(), out);
    absl::StrAppend(out, text);
    return true;
  }

  bool ReadBool(const MessagePath& path, int depth, std::string* out) {
    const bool is_true = scanner_.ConsumeWord("true");
    if (!is_true && !scanner_.ConsumeWord("false")) return Wrong(path, depth, "true or false");
    AppendVarint(is_true ? 1 : 0, out);
    return true;
  }

  bool ReadEnum(const EnumDescriptor& type, const MessagePath& path, int depth, std::string* out) {
    absl::string_view text;
    int32_t number = 0;
    const bool is_name = scanner_.Peek() == '"';
    if (is_name) {
      if (!scanner_.ReadString(&text)) return NotJson(path);
      const EnumValueDescriptor* const value = type.FindValueByName(std::string(text));
      if (value == nullptr) return Add(path, UnknownValueText(type, text));
      number = value->number();
    } else if (!scanner_.Skip(depth, &text)) {
      return NotJson(path);
    } else if (!ParseWhole(text, &number)) {
      return Add(
          path, absl::StrCat("must be a name in quotes such as \"",
                             type.value(type.value_count() - 1)->name(), "\", not ", Quoted(text)));
    }
    AppendVarint(static_cast<uint64_t>(int64_t{number}), out);
    return true;
  }

  // Gives the text of a number, which may be in quotes; empty where it is anything else, which is
  // then next.
  bool ReadNumberText(const MessagePath& path, bool* is_quoted, absl::string_view* text) {
    const char next = scanner_.Peek();
    *is_quoted = next == '"';
    if (*is_quoted) return scanner_.ReadString(text) || NotJson(path);
    if (next != '-' && !absl::ascii_isdigit(static_cast<unsigned char>(next))) return true;
    return scanner_.ReadNumber(text) || NotJson(path);
  }

  bool WrongNumber(const MessagePath& path, int depth, absl::string_view wanted, bool is_quoted,
                   absl::string_view text) {
    if (text.empty() && !is_quoted) return Wrong(path, depth, wanted);
    const absl::string_view mark = is_quoted ? "\"" : "";
    return Add(path, absl::StrCat("must be ", wanted, ", not ", mark, Quoted(text), mark));
  }

  template <typename Whole>
  bool ReadWhole(const MessagePath& path, int depth, std::string* out) {
    bool is_quoted = false;
    absl::string_view text;
    Whole value = 0;
    if (!ReadNumberText(path, &is_quoted, &text)) return false;
    if (!ParseWhole(text, &value)) {
      using Limits = std::numeric_limits<Whole>;
      const std::string wanted =
          absl::StrCat("a whole number from ", Limits::min(), " to ", Limits::max());
      return WrongNumber(path, depth, wanted, is_quoted, text);
    }
    // Negative ones have the bits of 64.
    AppendVarint(static_cast<uint64_t>(value), out);
    return true;
  }

  bool ReadReal(const MessagePath& path, int depth, std::string* out) {
    bool is_quoted = false;
    absl::string_view text;
    double value = 0;
    if (!ReadNumberText(path, &is_quoted, &text)) return false;
    if (!ParseReal(text, is_quoted, &value)) {
      return WrongNumber(path, depth, "a number up to 1.8e308", is_quoted, text);
    }
    AppendFixed(value, out);
    return true;
  }

  JsonScanner scanner_;
  FieldViolations mistakes_;
};

}  // namespace

absl::StatusOr<std::string> BytesOfJson(const Descriptor& type, absl::string_view json) {
  return Reader(json).Read(type);
}

}  // namespace sextant::server
