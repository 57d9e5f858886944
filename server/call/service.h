// A service's methods, for any transport to offer.
#ifndef SEXTANT_SERVER_CALL_SERVICE_H_
#define SEXTANT_SERVER_CALL_SERVICE_H_

#include <google/protobuf/descriptor.h>

#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/base/log.h"
#include "server/call/calls_under_way.h"
#include "server/call/transport.h"
#include "server/call/unread_answers.h"
#include "server/call/worker_pool.h"
#include "server/metrics/metrics.h"
#include "server/security/access.h"

namespace sextant::server {

class StreamCall;

// Settings shared by all calls of a server.
struct CallRules {
  CallLogLevel log_level = CallLogLevel::kNone;
  const Access* access = nullptr;      // null: everyone may call everything
  WorkerPool* large_calls = nullptr;   // decodes large requests; null: gRPC's threads do
  CallsUnderWay* under_way = nullptr;  // null: nobody waits for the calls to end
  UnreadAnswers* unread = nullptr;     // null: answers wait however long callers like
};

struct Method;
// Answers a call, at once or later, on any thread.
using UnaryHandler = std::function<void(Method&, UnaryTransport&)>;
using StreamHandler = std::function<std::unique_ptr<StreamCall>(Method&, StreamTransport&)>;

// One RPC's name, series and handler; lives as long as its service.
struct Method {
  Method(const std::string& full_name, Metrics& all_metrics, const CallRules& call_rules,
         std::variant<UnaryHandler, StreamHandler> answering)
      : name(full_name),
        metrics(all_metrics.ForMethod(full_name)),
        log_level(call_rules.log_level),
        large_calls(call_rules.large_calls),
        under_way(call_rules.under_way),
        unread(call_rules.unread),
        access(call_rules.access != nullptr && call_rules.access->Concerns(full_name)
                   ? call_rules.access
                   : nullptr),
        handler(std::move(answering)) {}

  const std::string name;  // "sextant.v1.PlanningService/PlanRun"
  CallMetrics metrics;
  const CallLogLevel log_level;
  WorkerPool* const large_calls;
  CallsUnderWay* const under_way;
  UnreadAnswers* const unread;
  const Access* const access;  // null: every caller may make the call
  const std::variant<UnaryHandler, StreamHandler> handler;
};

// An RPC by its messages, and what answers its calls.
struct Rpc {
  const google::protobuf::Descriptor* request;
  const google::protobuf::Descriptor* response;
  std::variant<UnaryHandler, StreamHandler> handler;
};

class Service {
 public:
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  const std::string& name() const { return name_; }  // "sextant.v1.PlanningService"
  std::deque<Method>& methods() { return methods_; }

 protected:
  // `metrics` outlives the service.
  Service(std::string name, Metrics& metrics, const CallRules& rules)
      : name_(std::move(name)), metrics_(metrics), rules_(rules) {}
  ~Service() = default;

  // Offers the RPC that has these messages in the service's .proto file.
  void Add(Rpc rpc) {
    const auto* const service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name_);
    for (int i = 0; service != nullptr && i < service->method_count(); ++i) {
      const google::protobuf::MethodDescriptor& method = *service->method(i);
      if (method.input_type() == rpc.request && method.output_type() == rpc.response &&
          method.server_streaming() == std::holds_alternative<StreamHandler>(rpc.handler)) {
        return Add(method.name(), std::move(rpc.handler));
      }
    }
    std::abort();  // the .proto file of the service has no such RPC
  }
  // Offers one by its name.
  void Add(const std::string& method, std::variant<UnaryHandler, StreamHandler> handler) {
    methods_.emplace_back(absl::StrCat(name_, "/", method), metrics_, rules_, std::move(handler));
  }

 private:
  const std::string name_;
  Metrics& metrics_;
  const CallRules rules_;
  std::deque<Method> methods_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CALL_SERVICE_H_
