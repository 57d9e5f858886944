// Writes an OpenAPI document of services, as they are called by the Connect protocol with JSON,
// from descriptors with comments (protoc --include_imports --include_source_info):
//
//   openapi_generator FRAME DESCRIPTORS VERSION JSON SOURCE
//
// FRAME is frame.json, which has the rest of the document; SOURCE is C++ that defines OpenApiGzip()
// of openapi.h. The same descriptors give the same bytes.
//
// Sources: OpenAPI Specification 3.1.0; protobuf.dev, "ProtoJSON Format"; connectrpc.com, "Connect
// Protocol Reference".

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace sextant {
namespace {

namespace pb = ::google::protobuf;
using Json = nlohmann::ordered_json;

// The name of a field's option in its schema (field_options.proto).
constexpr char kFieldOption[] = "x-sextant.v1.field";

constexpr char kEnvelopes[] =
    "Envelopes: one byte of flags, four of the length (big-endian), and that many bytes of JSON. ";

// The comment on `descriptor`, as Markdown; without orders to buf.
template <typename Descriptor>
std::string CommentOf(const Descriptor& descriptor) {
  pb::SourceLocation at;
  if (!descriptor.GetSourceLocation(&at)) return "";
  const std::string& comment =
      at.leading_comments.empty() ? at.trailing_comments : at.leading_comments;
  std::vector<absl::string_view> lines;
  for (absl::string_view line : absl::StrSplit(comment, '\n')) {
    line = absl::StripTrailingAsciiWhitespace(absl::StripPrefix(line, " "));
    if (!absl::StartsWith(line, "buf:")) lines.push_back(line);
  }
  return std::string(absl::StripAsciiWhitespace(absl::StrJoin(lines, "\n")));
}

// Its first sentence, on one line.
std::string Summary(absl::string_view comment) {
  std::string line = absl::StrReplaceAll(comment, {{"\n", " "}});
  const size_t end = line.find(". ");
  return end == std::string::npos ? line : line.substr(0, end + 1);
}

// The options of ours that are set in `options`, e.g. a field's unit, as members "x-NAME" of `out`.
void AddOptions(const pb::DescriptorPool& pool, const pb::Message& options, Json& out) {
  const auto* type = pool.FindMessageTypeByName(options.GetDescriptor()->full_name());
  if (type == nullptr) return;  // nothing imports descriptor.proto, so that there are none
  pb::DynamicMessageFactory factory;
  const std::unique_ptr<pb::Message> known(factory.GetPrototype(type)->New());
  known->ParseFromString(options.SerializeAsString());
  std::vector<const pb::FieldDescriptor*> fields;
  known->GetReflection()->ListFields(*known, &fields);
  for (const pb::FieldDescriptor* field : fields) {
    if (!field->is_extension() || field->is_repeated()) continue;
    std::string text;
    if (field->message_type() != nullptr) {
      const auto& value = known->GetReflection()->GetMessage(*known, field);
      if (!pb::util::MessageToJsonString(value, &text).ok()) continue;
    } else {
      pb::TextFormat::PrintFieldValueToString(*known, field, -1, &text);
    }
    const Json value = Json::parse(text, nullptr, false);
    out[absl::StrCat("x-", field->full_name())] = value.is_discarded() ? Json(text) : value;
  }
}

Json Component(absl::string_view kind, absl::string_view name) {
  return {{"$ref", absl::StrCat("#/components/", kind, "/", name)}};
}

Json SchemaOf(absl::string_view name) { return Component("schemas", name); }

// The messages and enums in use, by name.
struct Types {
  std::map<std::string, const pb::Descriptor*> messages;
  std::map<std::string, const pb::EnumDescriptor*> enums;

  void Add(const pb::Descriptor& message) {
    if (!messages.emplace(message.full_name(), &message).second) return;
    for (int i = 0; i < message.field_count(); ++i) {
      const pb::FieldDescriptor& field = *message.field(i);
      if (field.message_type() != nullptr) Add(*field.message_type());
      const pb::EnumDescriptor* type = field.enum_type();
      if (type != nullptr) enums.emplace(type->full_name(), type);
    }
  }
};

Json IntegerSchema(const char* format) { return {{"type", "integer"}, {"format", format}}; }

Json LongSchema(bool requested) {
  Json out = {{"type", "string"}, {"format", "int64"}, {"pattern", "^-?[0-9]+$"}};
  if (requested) out["type"] = {"string", "integer"};
  return out;
}

// The schema of one value of `field`. An int64 is a string in answers, in requests a number as well
// (`requested`); enums likewise.
Json ValueSchema(const pb::FieldDescriptor& field, bool requested) {
  using Field = pb::FieldDescriptor;
  switch (field.cpp_type()) {
    case Field::CPPTYPE_INT32:
    case Field::CPPTYPE_UINT32:
      return IntegerSchema(field.cpp_type() == Field::CPPTYPE_INT32 ? "int32" : "uint32");
    case Field::CPPTYPE_INT64:
    case Field::CPPTYPE_UINT64:
      return LongSchema(requested);
    case Field::CPPTYPE_DOUBLE:
    case Field::CPPTYPE_FLOAT:
      return SchemaOf("double");
    case Field::CPPTYPE_BOOL:
      return {{"type", "boolean"}};
    case Field::CPPTYPE_ENUM:
      return SchemaOf(field.enum_type()->full_name());
    case Field::CPPTYPE_STRING:
      if (field.type() != Field::TYPE_BYTES) return {{"type", "string"}};
      return {{"type", "string"}, {"contentEncoding", "base64"}};
    case Field::CPPTYPE_MESSAGE:
      break;
  }
  return SchemaOf(field.message_type()->full_name());
}

// Adds to `out`, a field's schema, the bounds among `facts`, its option. Returns `comment` with
// what they say in words: "Required, 1 to 1e18. ... Default: 1."
std::string WithFacts(const Json& facts, const std::string& comment, Json& out) {
  std::string text = facts.contains("required") ? "Required" : "";
  if (facts.contains("min")) {
    const bool above = facts.contains("aboveMin");
    out[above ? "exclusiveMinimum" : "minimum"] = facts["min"];
    absl::StrAppend(&text, text.empty() ? "Optional, " : ", ", above ? "above " : "",
                    facts["min"].dump());
  }
  if (facts.contains("max")) {
    out["maximum"] = facts["max"];
    absl::StrAppend(&text, " to ", facts["max"].dump());
  }
  if (!text.empty()) text = absl::StrReplaceAll(text, {{"e+", "e"}}) + ". ";
  absl::StrAppend(&text, absl::StripPrefix(comment, "Required."));
  if (facts.contains("defaultValue")) {
    absl::StrAppend(&text, " Default: ", facts["defaultValue"].get<std::string>(), ".");
  }
  return std::string(absl::StripAsciiWhitespace(text));
}

Json FieldSchema(const pb::DescriptorPool& pool, const pb::FieldDescriptor& field, bool requested) {
  Json out;
  if (field.is_map()) {
    out = {{"type", "object"},
           {"additionalProperties", ValueSchema(*field.message_type()->map_value(), requested)}};
  } else if (field.is_repeated()) {
    out = {{"type", "array"}, {"items", ValueSchema(field, requested)}};
  } else {
    out = ValueSchema(field, requested);
  }
  std::string comment = CommentOf(field);
  if (field.options().deprecated()) out["deprecated"] = true;
  AddOptions(pool, field.options(), out);
  if (out.contains(kFieldOption)) comment = WithFacts(Json(out[kFieldOption]), comment, out);
  if (!comment.empty()) out["description"] = comment;
  return out;
}

// Allows at most one of a oneof's fields: each case refuses the others.
Json AtMostOne(const pb::OneofDescriptor& oneof) {
  Json cases = Json::array();
  for (int i = 0; i < oneof.field_count(); ++i) {
    Json others = Json::object();
    for (int k = 0; k < oneof.field_count(); ++k) {
      if (k != i) others[oneof.field(k)->json_name()] = false;
    }
    cases.push_back({{"properties", others}});
  }
  return {{"anyOf", cases}};
}

Json MessageSchema(const pb::DescriptorPool& pool, const pb::Descriptor& message, bool requested) {
  std::string description = CommentOf(message);
  Json properties = Json::object();
  for (int i = 0; i < message.field_count(); ++i) {
    const pb::FieldDescriptor& field = *message.field(i);
    properties[field.json_name()] = FieldSchema(pool, field, requested);
  }
  Json oneofs = Json::array();
  for (int i = 0; i < message.real_oneof_decl_count(); ++i) {
    const pb::OneofDescriptor& oneof = *message.oneof_decl(i);
    oneofs.push_back(AtMostOne(oneof));
    std::vector<std::string> names;
    names.reserve(static_cast<size_t>(oneof.field_count()));
    for (int k = 0; k < oneof.field_count(); ++k) names.push_back(oneof.field(k)->json_name());
    const std::string comment = CommentOf(oneof);
    absl::StrAppend(&description, "\n\nOf `", absl::StrJoin(names, "`, `"),
                    "`: ", comment.empty() ? "at most one." : comment);
  }
  Json out = {{"type", "object"},
              {"description", std::string(absl::StripAsciiWhitespace(description))},
              {"properties", properties},
              {"additionalProperties", false}};
  if (!oneofs.empty()) out["allOf"] = oneofs;
  return out;
}

Json EnumSchema(const pb::EnumDescriptor& type, bool requested) {
  std::string description = CommentOf(type);
  Json names = Json::array();
  for (int i = 0; i < type.value_count(); ++i) {
    const pb::EnumValueDescriptor& value = *type.value(i);
    names.push_back(value.name());
    absl::StrAppend(&description, i == 0 ? "\n\n" : "\n", "- `", value.name(), "` (",
                    value.number(), "): ", absl::StrReplaceAll(CommentOf(value), {{"\n", " "}}));
  }
  Json named = {{"type", "string"}, {"enum", names}};
  if (!requested) {
    named["description"] = description;
    return named;
  }
  return {{"description", description}, {"anyOf", {named, IntegerSchema("int32")}}};
}

// One message or, of a stream, each.
Json Content(bool streamed, const Json& schema) {
  const char* type = streamed ? "application/connect+json" : "application/json";
  return {{type, {{"schema", schema}}}};
}

// A call by GET or POST; `verb` tells their names apart.
Json Operation(const pb::MethodDescriptor& method, const char* verb) {
  const std::string comment = CommentOf(method);
  const std::string& service = method.service()->name();
  const bool streamed = method.server_streaming();
  const Json answer = SchemaOf(method.output_type()->full_name());
  const Json end = SchemaOf("connect.EndOfStream");
  Json ok = {{"description", "The answer."}, {"content", Content(false, answer)}};
  if (streamed) {
    ok = {
        {"description", absl::StrCat(kEnvelopes, "Flag 2 marks the last, a connect.EndOfStream.")},
        {"content", Content(true, {{"anyOf", {answer, end}}})}};
  }
  const Json error = Component("responses", "Error");
  return {{"tags", {service}},
          {"operationId", absl::StrCat(service, "_", verb, method.name())},
          {"summary", Summary(comment)},
          {"description", comment},
          {"parameters", {Component("parameters", "Timeout")}},
          {"responses", {{"200", ok}, {"4XX", error}, {"5XX", error}, {"default", error}}}};
}

Json PathOf(const pb::MethodDescriptor& method) {
  const Json request = SchemaOf(method.input_type()->full_name());
  const bool streamed = method.server_streaming();
  Json post = Operation(method, "");
  post["parameters"].push_back(Component("parameters", "ProtocolVersion"));
  post["requestBody"] = {{"required", true}, {"content", Content(streamed, request)}};
  if (streamed) post["requestBody"]["description"] = absl::StrCat(kEnvelopes, "One, of flags 0.");
  Json out = {{"post", post}};
  if (method.options().idempotency_level() == pb::MethodOptions::NO_SIDE_EFFECTS) {
    Json get = Operation(method, "Get");
    get["parameters"].push_back(Component("parameters", "Connect"));
    get["parameters"].push_back(Component("parameters", "Encoding"));
    get["parameters"].push_back({{"name", "message"},
                                 {"in", "query"},
                                 {"required", true},
                                 {"content", Content(false, request)}});
    out["get"] = get;
  }
  return out;
}

// Adds the API to `document`. False, and says why, where a message's form in JSON is unknown.
bool Describe(const pb::DescriptorPool& pool, const pb::FileDescriptorSet& files, Json& document) {
  Json& schemas = document["components"]["schemas"];
  Types all;
  Types requested;
  for (const pb::FileDescriptorProto& proto : files.file()) {
    const pb::FileDescriptor& file = *pool.FindFileByName(proto.name());
    // Details of errors.
    for (int i = 0; i < file.message_type_count() && file.package() == "google.rpc"; ++i) {
      all.Add(*file.message_type(i));
    }
    for (int i = 0; i < file.service_count(); ++i) {
      const pb::ServiceDescriptor& service = *file.service(i);
      document["tags"].push_back({{"name", service.name()}, {"description", CommentOf(service)}});
      for (int k = 0; k < service.method_count(); ++k) {
        const pb::MethodDescriptor& method = *service.method(k);
        all.Add(*method.input_type());
        all.Add(*method.output_type());
        requested.Add(*method.input_type());
        document["paths"][absl::StrCat("/", service.full_name(), "/", method.name())] =
            PathOf(method);
      }
    }
  }
  for (const auto& [name, message] : all.messages) {
    // Some have a form of their own.
    if (schemas.contains(name) || message->options().map_entry()) continue;
    if (absl::StartsWith(name, "google.protobuf.")) {
      std::cerr << "frame.json has no schema of " << name << "\n";
      return false;
    }
    schemas[name] = MessageSchema(pool, *message, requested.messages.count(name) > 0);
  }
  for (const auto& [name, type] : all.enums) {
    schemas[name] = EnumSchema(*type, requested.enums.count(name) > 0);
  }
  return true;
}

std::string Gzip(const std::string& text) {
  std::string out;
  pb::io::StringOutputStream sink(&out);
  pb::io::GzipOutputStream::Options options;
  options.compression_level = 9;
  pb::io::GzipOutputStream gzip(&sink, options);
  pb::io::CodedOutputStream(&gzip).WriteString(text);
  gzip.Close();
  return out;
}

// A source file in which OpenApiGzip() returns `bytes`.
void WriteSource(const std::string& bytes, std::ostream& out) {
  out << "#include \"proto/openapi/openapi.h\"\n\nnamespace sextant {\nnamespace {\n\n"
         "constexpr unsigned char kGzip[] = {";
  for (size_t i = 0; i < bytes.size(); ++i) {
    out << (i % 20 == 0 ? "\n" : "") << int{static_cast<unsigned char>(bytes[i])} << ",";
  }
  out << "};\n\n}  // namespace\n\nabsl::string_view OpenApiGzip() {\n"
         "  return {reinterpret_cast<const char*>(kGzip), sizeof(kGzip)};\n}\n\n"
         "}  // namespace sextant\n";
}

int Generate(const std::vector<std::string>& arguments) {
  if (arguments.size() != 5) {
    std::cerr << "usage: openapi_generator FRAME DESCRIPTORS VERSION JSON SOURCE\n";
    return 2;
  }
  std::ifstream frame(arguments[0]);
  Json document = Json::parse(frame);
  document["info"]["version"] = arguments[2];
  pb::FileDescriptorSet files;
  std::ifstream descriptors(arguments[1], std::ios::binary);
  if (!files.ParseFromIstream(&descriptors)) {
    std::cerr << arguments[1] << " has no descriptors\n";
    return 1;
  }
  pb::DescriptorPool pool;
  for (const pb::FileDescriptorProto& file : files.file()) {
    if (pool.BuildFile(file) == nullptr) return 1;  // protobuf has said why
  }
  if (!Describe(pool, files, document)) return 1;
  const std::string text = document.dump(1) + "\n";
  std::ofstream json(arguments[3]);
  std::ofstream source(arguments[4]);
  json << text << std::flush;
  WriteSource(Gzip(text), source);
  if (json.good() && source.flush().good()) return 0;
  std::cerr << "can't write " << arguments[3] << " and " << arguments[4] << "\n";
  return 1;
}

}  // namespace
}  // namespace sextant

int main(int argc, char** argv) {
  try {
    return sextant::Generate(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {  // of JSON: a fault in the frame, a comment not in UTF-8
    std::fprintf(stderr, "openapi_generator: %s\n", error.what());
    return 1;
  }
}
