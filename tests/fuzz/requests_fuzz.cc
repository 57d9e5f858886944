// Requests of any bytes to every RPC: no crash and no hang; what is answered has possible
// figures alone, and a refusal says what is wrong, in few words.
//
// An input is a byte that chooses the RPC, and the request as it is on the wire. Seeds are the
// RPC's name, a line end, and the request in proto JSON:
//   PlanningService/PlanRun
//   {"model": {"preset": "llama-3.1-8b"}}
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/support/error_details.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/call/call.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/fuzzed_server.h"
#include "tests/fuzz/message_mutator.h"
#include "tests/fuzz/possible_answer.h"

namespace sextant::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::MethodDescriptor;

constexpr size_t kMaxMessageBytes = 1024;
constexpr size_t kMaxDetailsBytes = 4096;

std::vector<const MethodDescriptor*> AllMethods() {
  std::vector<const MethodDescriptor*> out;
  for (const char* name :
       {"AccountingService", "HardwareService", "PlanningService", "TelemetryService"}) {
    const auto* service =
        DescriptorPool::generated_pool()->FindServiceByName(absl::StrCat("sextant.v1.", name));
    for (int i = 0; i < service->method_count(); ++i) out.push_back(service->method(i));
  }
  return out;
}

const std::vector<const MethodDescriptor*>& Methods() {
  static const auto& methods = *new std::vector<const MethodDescriptor*>(AllMethods());
  return methods;
}

std::string NameOf(const MethodDescriptor& method) {
  return absl::StrCat(method.service()->name(), "/", method.name());
}

std::unique_ptr<Message> NewMessage(const Descriptor* type) {
  return std::unique_ptr<Message>(MessageFactory::generated_factory()->GetPrototype(type)->New());
}

struct Input {
  size_t method = 0;  // an index of Methods()
  std::string request;
};

// Absent: `data` names no RPC.
absl::optional<Input> InputFrom(absl::string_view data) {
  if (data.empty()) return {};
  const size_t first = static_cast<unsigned char>(data[0]);
  if (first < Methods().size()) return Input{first, std::string(data.substr(1))};
  const size_t end = std::min(data.find('\n'), data.size());
  for (size_t i = 0; i < Methods().size(); ++i) {
    if (NameOf(*Methods()[i]) != data.substr(0, end)) continue;
    const std::unique_ptr<Message> request = NewMessage(Methods()[i]->input_type());
    const auto read = google::protobuf::util::JsonStringToMessage(
        std::string(data.substr(std::min(end + 1, data.size()))), request.get());
    if (!read.ok()) return {};
    return Input{i, request->SerializeAsString()};
  }
  return {};
}

// True where `request` is read, so that a refusal can name its field.
bool IsReadable(const MethodDescriptor& method, const std::string& request) {
  const grpc::Slice slice(request);
  if (request.size() > kUncountedBytes &&
      !CheckElements(grpc::ByteBuffer(&slice, 1), *method.input_type()).ok()) {
    return false;
  }
  return NewMessage(method.input_type())->ParseFromString(request);
}

void RequireRefusal(const MethodDescriptor& method, const std::string& request,
                    const grpc::Status& status) {
  using grpc::StatusCode;
  const std::string what =
      absl::StrCat(NameOf(method), ": ", status.error_code(), " ", status.error_message());
  const StatusCode code = status.error_code();
  Require(code != StatusCode::INTERNAL && code != StatusCode::UNKNOWN &&
              code != StatusCode::UNIMPLEMENTED && code != StatusCode::UNAVAILABLE,
          what);
  Require(status.error_message().size() <= kMaxMessageBytes, "too long: " + what);
  Require(status.error_details().size() <= kMaxDetailsBytes, "too many details: " + what);
  if (code == StatusCode::DEADLINE_EXCEEDED) return;  // the client's own
  google::rpc::Status details;
  Require(grpc::ExtractErrorDetails(status, &details).ok(), "no details: " + what);
  std::string reason;
  int fields = 0;
  for (const google::protobuf::Any& detail : details.details()) {
    google::rpc::ErrorInfo info;
    if (detail.UnpackTo(&info)) reason = info.reason();
    google::rpc::BadRequest bad;
    if (!detail.UnpackTo(&bad)) continue;
    for (const auto& v : bad.field_violations()) {
      Require(!v.field().empty() && !v.description().empty(), "an empty field: " + what);
      ++fields;
    }
  }
  Require(!reason.empty(), "no reason: " + what);
  const bool names = fields > 0 || reason == "ANSWER_TOO_LARGE" || !IsReadable(method, request);
  Require(code != StatusCode::INVALID_ARGUMENT || names, "no field: " + what);
}

void Ask(const Input& input) {
  static auto& server = *new FuzzedServer();
  const MethodDescriptor& method = *Methods()[input.method];
  const FuzzedServer::Answer answer =
      server.Call(absl::StrCat("/sextant.v1.", NameOf(method)), input.request);
  for (const std::string& bytes : answer.messages) {
    const std::unique_ptr<Message> message = NewMessage(method.output_type());
    Require(message->ParseFromString(bytes), "not an answer of " + NameOf(method));
    RequirePossible(*message);
  }
  if (!answer.status.ok()) RequireRefusal(method, input.request, answer.status);
}

// The same input, changed: three in four times fields of its message, otherwise its bytes.
Input Mutated(Input input, size_t max_bytes, FuzzRandom& random) {
  if (random() % 64 == 0) input.method = random() % Methods().size();
  const std::unique_ptr<Message> message = NewMessage(Methods()[input.method]->input_type());
  if (random() % 4 > 0 && message->ParseFromString(input.request)) {
    for (size_t count = 1 + random() % 4; count > 0; --count) MutateMessage(*message, random);
    input.request = message->SerializeAsString();
  } else {
    const size_t size = std::min(input.request.size(), max_bytes);
    input.request.resize(max_bytes);
    input.request.resize(
        LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(input.request.data()), size, max_bytes));
  }
  return input;
}

}  // namespace
}  // namespace sextant::server

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using sextant::server::InputFrom;
  const auto input = InputFrom({reinterpret_cast<const char*>(data), size});
  if (input.has_value()) sextant::server::Ask(*input);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  using sextant::server::Input;
  using sextant::server::InputFrom;
  sextant::FuzzRandom random(seed);
  if (max_size < 2) return size;
  const Input old = InputFrom({reinterpret_cast<const char*>(data), size}).value_or(Input());
  const Input input = sextant::server::Mutated(old, max_size - 1, random);
  data[0] = static_cast<uint8_t>(input.method);
  const size_t copied = std::min(input.request.size(), max_size - 1);
  std::copy_n(input.request.begin(), copied, data + 1);
  return 1 + copied;
}
