#include "tests/server/json_call.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <future>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/server/wire_values.h"

namespace sextant::server {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using nlohmann::json;

std::unique_ptr<Message> NewMessage(const google::protobuf::Descriptor* type) {
  return std::unique_ptr<Message>(MessageFactory::generated_factory()->GetPrototype(type)->New());
}

}  // namespace

grpc::Status CallBytes(const std::shared_ptr<grpc::ChannelInterface>& channel,
                       const std::string& path, const std::string& bytes,
                       grpc::ByteBuffer* answer) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer request(&slice, 1);
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, path, {}, &request, answer,
                 [&done](grpc::Status status) { done.set_value(std::move(status)); });
  return done.get_future().get();
}

grpc::Status CallJson(const TestServer& server, const std::string& method, const json& request,
                      json* response) {
  const std::string path = absl::StrCat("/sextant.v1.", method);
  const std::string name = absl::StrReplaceAll(path.substr(1), {{"/", "."}});
  const auto* found = DescriptorPool::generated_pool()->FindMethodByName(name);
  if (found == nullptr) return {grpc::StatusCode::UNIMPLEMENTED, "no method " + name};
  const std::unique_ptr<Message> in = NewMessage(found->input_type());
  const auto read = google::protobuf::util::JsonStringToMessage(request.dump(), in.get());
  if (!read.ok()) return {grpc::StatusCode::UNKNOWN, "the test's request: " + read.ToString()};

  grpc::ByteBuffer answer;
  grpc::Status status = CallBytes(server.channel(), path, in->SerializeAsString(), &answer);
  if (!status.ok()) return status;
  const std::unique_ptr<Message> out = NewMessage(found->output_type());
  grpc::ProtoBufferReader reader(&answer);
  EXPECT_TRUE(out->ParseFromZeroCopyStream(&reader));
  *response = json::parse(JsonOf(*out));
  return status;
}

json Ask(const TestServer& server, const std::string& method, const json& request) {
  json response;
  const grpc::Status status = CallJson(server, method, request, &response);
  EXPECT_TRUE(status.ok()) << method << " " << request << ": " << status.error_code() << " "
                           << status.error_message();
  return response;
}

std::vector<std::string> Faults(const TestServer& server, const std::string& method,
                                const json& request) {
  json response;
  const grpc::Status status = CallJson(server, method, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  return FaultsOf(status);
}

json WithChanges(json request, const json& changes) {
  for (const auto& [pointer, value] : changes.items()) {
    const json::json_pointer at(pointer);
    if (value.is_null()) {
      request.at(at.parent_pointer()).erase(at.back());
    } else {
      request[at] = value;
    }
  }
  return request;
}

double NumberAt(const json& answer, const std::string& pointer) {
  const json::json_pointer at(pointer);
  if (!answer.contains(at)) return 0;
  const json& value = answer.at(at);
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

std::string SourceOf(const nlohmann::json& answer, const nlohmann::json& part) {
  const auto number = part.value("source_number", 0);
  const nlohmann::json& sources = answer.at("sources");
  if (number < 1 || static_cast<size_t>(number) > sources.size()) return "";
  return sources[static_cast<size_t>(number) - 1];
}

}  // namespace sextant::server
