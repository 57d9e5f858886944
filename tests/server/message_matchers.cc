#include "tests/server/message_matchers.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/support/source_folder.h"

namespace sextant::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void Collect(const Message& message, std::set<const Descriptor*>& types,
             std::set<const FieldDescriptor*>& set) {
  if (message.GetDescriptor()->file()->package() != "sextant.v1") return;
  types.insert(message.GetDescriptor());
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  set.insert(fields.begin(), fields.end());
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      Collect(reflection.GetMessage(message, field), types, set);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      Collect(reflection.GetRepeatedMessage(message, field, i), types, set);
    }
  }
}

// Both "MEGATRON_LM" and "MegatronLm" as "megatronlm".
std::string Plain(const std::string& name) {
  return absl::AsciiStrToLower(absl::StrReplaceAll(name, {{"_", ""}}));
}

// The engine's values by their plain names.
std::map<std::string, int> EngineValues(const EnumPair& pair) {
  std::ifstream file(absl::StrCat(SourceFolder(), "/", pair.header));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const size_t start = text.find(absl::StrCat("enum class ", pair.name, " {"));
  EXPECT_NE(start, std::string::npos) << pair.header << " has no " << pair.name;
  if (start == std::string::npos) return {};
  const std::string list = std::regex_replace(text.substr(start, text.find('}', start) - start),
                                              std::regex("//[^\n]*"), "");
  const std::regex enumerator("\\bk([A-Z0-9]\\w*)(?: = (\\d+))?");
  std::map<std::string, int> out;
  int next = 0;
  for (std::sregex_iterator it(list.begin(), list.end(), enumerator), end; it != end; ++it) {
    if ((*it)[2].matched) next = std::stoi((*it)[2]);
    out[Plain((*it)[1])] = next++;
  }
  return out;
}

// The wire's values by their plain names, without the part that all share.
std::map<std::string, int> WireValues(const google::protobuf::EnumDescriptor& wire) {
  const std::string unspecified = "UNSPECIFIED";
  const size_t shared = wire.value(0)->name().size() - unspecified.size();
  std::map<std::string, int> out;
  for (int i = 0; i < wire.value_count(); ++i) {
    out[Plain(wire.value(i)->name().substr(shared))] = wire.value(i)->number();
  }
  return out;
}

}  // namespace

std::vector<std::string> UnsetFields(const Message& message) {
  std::set<const Descriptor*> types;
  std::set<const FieldDescriptor*> set;
  Collect(message, types, set);
  std::set<std::string> out;
  for (const Descriptor* type : types) {
    for (int i = 0; i < type->field_count(); ++i) {
      if (set.count(type->field(i)) == 0) out.insert(type->field(i)->full_name());
    }
  }
  return {out.begin(), out.end()};
}

void ExpectSameNames(const EnumPair& pair, const std::function<int(int)>& to) {
  SCOPED_TRACE(pair.name);
  const std::map<std::string, int> wire = WireValues(*pair.wire);
  std::set<std::string> left = {};
  for (const auto& [name, number] : wire) left.insert(name);
  left.erase("unspecified");
  for (const auto& [name, number] : EngineValues(pair)) {
    const auto found = wire.find(name);
    ASSERT_NE(found, wire.end()) << name;
    EXPECT_EQ(to(number), found->second) << name;
    left.erase(name);
  }
  for (const std::string& name : left) ADD_FAILURE() << name << " is the wire's alone";
}

void ExpectArrives(const EnumPair& pair, const std::string& unspecified,
                   const std::function<absl::optional<int>(int)>& from) {
  SCOPED_TRACE(pair.name);
  const std::map<std::string, int> engine = EngineValues(pair);
  for (const auto& [name, number] : WireValues(*pair.wire)) {
    const absl::optional<int> got = from(number);
    const std::string wanted = name == "unspecified" ? Plain(unspecified) : name;
    if (wanted.empty()) {
      EXPECT_FALSE(got.has_value()) << name;
      continue;
    }
    const auto found = engine.find(wanted);
    ASSERT_NE(found, engine.end()) << wanted;
    EXPECT_EQ(got, found->second) << name;
  }
}

}  // namespace sextant::server
