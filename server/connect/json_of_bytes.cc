#include <google/protobuf/any.pb.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/util/time_util.h>
#include <google/protobuf/wire_format_lite.h>

#include <charconv>
#include <cmath>
#include <cstdint>

#include "absl/base/casts.h"
#include "absl/strings/str_cat.h"
#include "engine/base/reason.h"
#include "server/connect/json_codec.h"
#include "server/connect/json_scanner.h"

namespace sextant::server {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::EnumValueDescriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::internal::WireFormatLite;
using ::google::protobuf::io::CodedInputStream;
using ::google::protobuf::util::TimeUtil;

// As protobuf's own parser has it.
constexpr int kMaxMessages = 100;

// With the fewest digits that read back unchanged.
void AppendReal(double value, std::string* out) {
  constexpr double kPlain = 1e15;  // a whole number below it is written with all its digits
  char text[32];
  if (!std::isfinite(value)) {
    out->append(std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
  } else if (value == 0 && std::signbit(value)) {
    out->append("-0.0");  // protobuf's reader takes -0 as a whole number, without its sign
  } else if (std::abs(value) < kPlain && value == std::trunc(value)) {
    absl::StrAppend(out, static_cast<int64_t>(value));
  } else {
    out->append(text, std::to_chars(text, text + sizeof(text), value).ptr);
  }
}

// Writes JSON as it reads bytes in protobuf's own order: by fields' numbers, a list's elements one
// after the other. Its functions return false where the bytes are not such a message.
class Writer {
 public:
  bool WriteMessage(const Descriptor& type, absl::string_view bytes, absl::string_view type_url) {
    CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                        static_cast<int>(bytes.size()));
    in.PushLimit(static_cast<int>(bytes.size()));
    return WriteFields(type, type_url, in) && in.ConsumedEntireMessage();
  }

  std::string Take() { return std::move(out_); }

 private:
  bool WriteFields(const Descriptor& type, absl::string_view type_url, CodedInputStream& in) {
    if (++depth_ > kMaxMessages) return false;
    out_ += '{';
    if (!type_url.empty()) {
      out_ += "\"@type\":";
      AppendJsonString(type_url, &out_);
    }
    const FieldDescriptor* last = nullptr;
    while (const uint32_t tag = in.ReadTag()) {
      const FieldDescriptor* const field =
          type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      if (field == nullptr) {
        if (!WireFormatLite::SkipField(&in, tag)) return false;
        continue;
      }
      if (field != last) {
        if (last != nullptr && field->number() < last->number()) return false;
        End(last);
        if (last != nullptr || !type_url.empty()) out_ += ',';
        Begin(*field);
      } else if (field->is_repeated()) {
        if (!AtBegin()) out_ += ',';
      } else {
        return false;
      }
      last = field;
      if (!WriteField(*field, WireFormatLite::GetTagWireType(tag), in)) return false;
    }
    End(last);
    out_ += '}';
    --depth_;
    return true;
  }

  // True where no element of a list has been written.
  bool AtBegin() const { return out_.back() == '[' || out_.back() == '{'; }

  void Begin(const FieldDescriptor& field) {
    out_ += '"';
    out_ += field.json_name();
    out_ += "\":";
    if (field.is_repeated()) out_ += field.is_map() ? '{' : '[';
  }

  void End(const FieldDescriptor* field) {
    if (field != nullptr && field->is_repeated()) out_ += field->is_map() ? '}' : ']';
  }

  bool WriteField(const FieldDescriptor& field, WireFormatLite::WireType wire,
                  CodedInputStream& in) {
    const auto type = static_cast<WireFormatLite::FieldType>(field.type());
    if (wire == WireFormatLite::WireTypeForFieldType(type)) {
      return field.is_map() ? WriteEntry(*field.message_type(), in) : WriteValue(field, in);
    }
    if (!field.is_packable() || wire != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) return false;
    CodedInputStream::Limit limit = 0;
    if (!Enter(in, &limit)) return false;
    while (in.BytesUntilLimit() > 0) {
      if (!AtBegin()) out_ += ',';
      if (!WriteValue(field, in)) return false;
    }
    in.PopLimit(limit);
    return true;
  }

  bool WriteValue(const FieldDescriptor& field, CodedInputStream& in) {
    uint64_t bits = 0;
    if (field.type() == FieldDescriptor::TYPE_MESSAGE)
      return WriteNested(*field.message_type(), in);
    if (field.type() == FieldDescriptor::TYPE_STRING) {
      if (!ReadText(in)) return false;
      AppendJsonString(text_, &out_);
      return true;
    }
    if (field.type() == FieldDescriptor::TYPE_DOUBLE) {
      if (!in.ReadLittleEndian64(&bits)) return false;
      AppendReal(absl::bit_cast<double>(bits), &out_);
      return true;
    }
    return in.ReadVarint64(&bits) && WriteVarint(field, bits);
  }

  bool WriteVarint(const FieldDescriptor& field, uint64_t bits) {
    switch (field.type()) {
      case FieldDescriptor::TYPE_BOOL:
        out_ += bits != 0 ? "true" : "false";
        return true;
      case FieldDescriptor::TYPE_INT32:
        absl::StrAppend(&out_, static_cast<int32_t>(bits));
        return true;
      case FieldDescriptor::TYPE_UINT32:
        absl::StrAppend(&out_, static_cast<uint32_t>(bits));
        return true;
      case FieldDescriptor::TYPE_INT64:
        absl::StrAppend(&out_, "\"", static_cast<int64_t>(bits), "\"");
        return true;
      case FieldDescriptor::TYPE_UINT64:
        absl::StrAppend(&out_, "\"", bits, "\"");
        return true;
      case FieldDescriptor::TYPE_ENUM:
        WriteEnum(*field.enum_type(), static_cast<int32_t>(bits));
        return true;
      default:
        return false;
    }
  }

  void WriteEnum(const google::protobuf::EnumDescriptor& type, int32_t number) {
    const EnumValueDescriptor* const value = type.FindValueByNumber(number);
    if (value == nullptr) {
      absl::StrAppend(&out_, number);
    } else {
      absl::StrAppend(&out_, "\"", value->name(), "\"");
    }
  }

  bool WriteNested(const Descriptor& type, CodedInputStream& in) {
    if (&type == google::protobuf::Any::descriptor()) return WriteAny(in);
    if (&type == google::protobuf::Duration::descriptor()) {
      return WriteTime<google::protobuf::Duration>(in);
    }
    if (&type == google::protobuf::Timestamp::descriptor()) {
      return WriteTime<google::protobuf::Timestamp>(in);
    }
    CodedInputStream::Limit limit = 0;
    return Enter(in, &limit) && WriteFields(type, "", in) &&
           in.CheckEntireMessageConsumedAndPopLimit(limit);
  }

  template <typename Time>
  bool WriteTime(CodedInputStream& in) {
    Time time;
    if (!ReadText(in) || !time.ParseFromString(text_)) return false;
    absl::StrAppend(&out_, "\"", TimeUtil::ToString(time), "\"");
    return true;
  }

  bool WriteAny(CodedInputStream& in) {
    google::protobuf::Any any;
    if (!ReadText(in) || !any.ParseFromString(text_)) return false;
    const std::string& url = any.type_url();
    const Descriptor* const type =
        google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(
            url.substr(url.rfind('/') + 1));
    return type != nullptr && WriteMessage(*type, any.value(), url);
  }

  // Keys of a map are texts. protobuf writes both fields of an entry.
  bool WriteEntry(const Descriptor& entry, CodedInputStream& in) {
    CodedInputStream::Limit limit = 0;
    if (!Enter(in, &limit) ||
        in.ReadTag() != WireFormatLite::MakeTag(1, WireFormatLite::WIRETYPE_LENGTH_DELIMITED) ||
        !ReadText(in)) {
      return false;
    }
    AppendJsonString(text_, &out_);
    out_ += ':';
    const uint32_t tag = in.ReadTag();
    if (WireFormatLite::GetTagFieldNumber(tag) != 2 ||
        !WriteField(*entry.map_value(), WireFormatLite::GetTagWireType(tag), in)) {
      return false;
    }
    return in.ReadTag() == 0 && in.CheckEntireMessageConsumedAndPopLimit(limit);
  }

  // Reads the length of a part, which becomes the limit.
  static bool Enter(CodedInputStream& in, CodedInputStream::Limit* last) {
    uint32_t size = 0;
    if (!in.ReadVarint32(&size) || size > static_cast<uint32_t>(in.BytesUntilLimit())) return false;
    *last = in.PushLimit(static_cast<int>(size));
    return true;
  }

  bool ReadText(CodedInputStream& in) {
    uint32_t size = 0;
    return in.ReadVarint32(&size) && in.ReadString(&text_, static_cast<int>(size));
  }

  std::string out_;
  std::string text_;
  int depth_ = 0;
};

}  // namespace

absl::StatusOr<std::string> JsonOfBytes(const Descriptor& type, absl::string_view bytes) {
  Writer writer;
  if (!writer.WriteMessage(type, bytes, "")) {
    return WithReason(absl::InternalError(absl::StrCat("an answer is no ", type.full_name())),
                      "INVARIANT_BROKEN");
  }
  return writer.Take();
}

}  // namespace sextant::server
