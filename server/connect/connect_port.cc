#include "server/connect/connect_port.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "engine/base/field_violation.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"
#include "server/connect/connect_head.h"
#include "server/connect/kubernetes_hook.h"
#include "server/listen/http_failure.h"

namespace sextant::server {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::MethodOptions;

absl::StatusOr<ConnectMethod> Described(Method& method) {
  const auto* found = DescriptorPool::generated_pool()->FindMethodByName(
      absl::StrReplaceAll(method.name, {{"/", "."}}));
  if (found == nullptr) return absl::InternalError(absl::StrCat("no method ", method.name));
  ConnectMethod out = {.method = &method,
                       .request = found->input_type(),
                       .response = found->output_type(),
                       .streams = std::holds_alternative<StreamHandler>(method.handler)};
  out.has_get =
      !out.streams && found->options().idempotency_level() == MethodOptions::NO_SIDE_EFFECTS;
  return out;
}

// True for "/sextant.v1.PlanningService/Plan", whether there is such a method or not.
bool IsPathOfMethod(absl::string_view path) {
  if (!absl::ConsumePrefix(&path, "/")) return false;
  const size_t split = path.find('/');
  if (split == absl::string_view::npos) return false;
  const absl::string_view service = path.substr(0, split);
  const absl::string_view method = path.substr(split + 1);
  const auto is_letter = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  return service.find('.') != absl::string_view::npos && !method.empty() &&
         std::all_of(service.begin(), service.end(),
                     [is_letter](char c) { return is_letter(c) || c == '.'; }) &&
         std::all_of(method.begin(), method.end(), is_letter);
}

HttpAnswer UnknownMethod(absl::string_view path) {
  return FailureAnswer(
      WithReason(absl::UnimplementedError(absl::StrCat("there is no method ", path.substr(1),
                                                       ": /openapi.json lists all")),
                 "METHOD_UNKNOWN"));
}

HttpAnswer WrongVerb(const ConnectMethod& method) {
  const char* const allowed = method.has_get ? "GET, POST" : "POST";
  HttpAnswer out = FailureAnswer(HttpError(
      HttpFault::kUnknownMethod, absl::StrCat(method.method->name, " is called by ", allowed)));
  out.headers.emplace_back("Allow", allowed);
  return out;
}

HttpAnswer WrongType(const ConnectMethod& method) {
  const char* const accepted = AcceptPostOf(method.streams);
  HttpAnswer out = FailureAnswer(InvalidField(
      "Content-Type", absl::StrCat("of ", method.method->name, " must be one of ", accepted)));
  out.status = 415;
  out.headers.emplace_back("Accept-Post", accepted);
  return out;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ConnectPort>> ConnectPort::Of(
    const std::vector<Service*>& services) {
  std::unique_ptr<ConnectPort> out(new ConnectPort);
  for (Service* service : services) {
    for (Method& method : service->methods()) {
      SEXTANT_ASSIGN_OR_RETURN(out->methods_[absl::StrCat("/", method.name)], Described(method));
    }
  }
  const auto admit = out->methods_.find("/sextant.v1.PlanningService/Admit");
  if (admit != out->methods_.end()) out->admit_ = &admit->second;
  return out;
}

ConnectPort::~ConnectPort() {
  CancelCalls();
  AwaitCalls();
}

bool ConnectPort::Answer(HttpExchange& exchange) {
  const absl::string_view path = exchange.path();
  const auto found = methods_.find(path);
  if (found == methods_.end()) {
    if (admit_ != nullptr && AnswerKubernetes(*admit_, exchange, open_)) return true;
    if (!IsPathOfMethod(path)) return false;
    exchange.Answer(UnknownMethod(path));
    return true;
  }
  const ConnectMethod& method = found->second;
  if (exchange.method() == "GET" && method.has_get) {
    AnswerCall(method, HeadOfGet(exchange), exchange, open_);
  } else if (exchange.method() != "POST") {
    exchange.Answer(WrongVerb(method));
  } else if (const auto codec = CodecOf(exchange.Header("Content-Type"), method.streams);
             codec.has_value()) {
    AnswerCall(method, HeadOfPost(exchange, *codec), exchange, open_);
  } else {
    exchange.Answer(WrongType(method));
  }
  return true;
}

}  // namespace sextant::server
