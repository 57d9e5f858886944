#include "tests/soak/field_values.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/support/source_folder.h"

namespace sextant::server {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using Json = nlohmann::json;

constexpr size_t kMaxValues = 24;  // of a field

// {"a.b": v} as {"a": {"b": v}}.
Json Nested(const std::string& path, Json value) {
  std::vector<std::string> names = absl::StrSplit(path, '.');
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    value = Json::object({{*name, std::move(value)}});
  }
  return value;
}

// Texts of files, which stand for their names here, are replaced by empty ones.
Json WithoutConfigs(Json request) {
  if (request.is_object() && request.contains("@config")) return "{}";
  for (Json& each : request) {
    if (each.is_structured()) each = WithoutConfigs(std::move(each));
  }
  return request;
}

// A new request of `call`, "PlanningService/PlanRun".
std::unique_ptr<Message> RequestOf(const std::string& call) {
  const std::string name = absl::StrCat("sextant.v1.", absl::StrReplaceAll(call, {{"/", "."}}));
  const auto* const method = DescriptorPool::generated_pool()->FindMethodByName(name);
  if (method == nullptr) return nullptr;
  const auto* const factory = MessageFactory::generated_factory();
  return std::unique_ptr<Message>(
      const_cast<MessageFactory*>(factory)->GetPrototype(method->input_type())->New());
}

void LearnLine(const Json& line, std::map<std::string, std::string>& calls, FieldValues& out) {
  const auto learn = [&out](const std::string& call, const Json& request) {
    const std::unique_ptr<Message> message = RequestOf(call);
    if (message == nullptr) return;
    // A request of an earlier API is passed over.
    if (google::protobuf::util::JsonStringToMessage(request.dump(), message.get()).ok()) {
      out.Learn(*message);
    }
  };
  if (line.contains("base")) {
    calls[line["base"]] = line["call"];
    return learn(line["call"], WithoutConfigs(line["request"]));
  }
  for (const auto& [path, value] : line["set"].items()) {
    if (!value.is_null()) learn(calls[line["of"]], WithoutConfigs(Nested(path, value)));
  }
}

}  // namespace

void FieldValues::Learn(const Message& message) {
  std::vector<const Field*> set;
  const auto* const reflection = message.GetReflection();
  reflection->ListFields(message, &set);
  for (const Field* const field : set) {
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < std::min<int>(count, kMaxValues); ++i) {
      Keep(message, field, i);
      if (field->cpp_type() != Field::CPPTYPE_MESSAGE) continue;
      Learn(field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                 : reflection->GetMessage(message, field));
    }
  }
}

size_t FieldValues::CountOf(const Field* field) const {
  const auto found = values_.find(field);
  return found == values_.end() ? 0 : found->second.size();
}

void FieldValues::Give(const Field* field, size_t index, Message* to) const {
  if (!field->is_repeated()) to->GetReflection()->ClearField(to, field);
  to->MergeFrom(*values_.at(field)[index]);
}

void FieldValues::Keep(const Message& message, const Field* field, int index) {
  std::vector<std::unique_ptr<Message>>& known = values_[field];
  if (known.size() == kMaxValues) return;
  std::unique_ptr<Message> value(message.New());
  value->CopyFrom(message);
  const auto* const reflection = value->GetReflection();
  std::vector<const Field*> set;
  reflection->ListFields(*value, &set);
  for (const Field* const other : set) {
    if (other != field) reflection->ClearField(value.get(), other);
  }
  if (field->is_repeated()) {
    if (index > 0) reflection->SwapElements(value.get(), field, 0, index);
    while (reflection->FieldSize(*value, field) > 1) reflection->RemoveLast(value.get(), field);
  }
  const std::string bytes = value->SerializeAsString();
  const bool is_new = std::none_of(known.begin(), known.end(), [&bytes](const auto& each) {
    return each->SerializeAsString() == bytes;
  });
  if (is_new) known.push_back(std::move(value));
}

FieldValues ValuesOfGoldenRequests() {
  FieldValues out;
  for (const auto& file :
       std::filesystem::directory_iterator(SourceFolder() + "/tests/golden/requests")) {
    std::map<std::string, std::string> calls;
    std::ifstream in(file.path());
    for (std::string line; std::getline(in, line);) LearnLine(Json::parse(line), calls, out);
  }
  return out;
}

}  // namespace sextant::server
