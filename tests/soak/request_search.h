// Searches for the request of one RPC that costs the server most, in CPU time or in memory: from
// requests at the limits it changes what is random, and keeps what costs more.
#ifndef SEXTANT_TESTS_SOAK_REQUEST_SEARCH_H_
#define SEXTANT_TESTS_SOAK_REQUEST_SEARCH_H_

#include <google/protobuf/message.h>
#include <grpcpp/generic/generic_stub.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/soak/field_values.h"
#include "tests/soak/limit_requests.h"
#include "tests/soak/mutation.h"

namespace sextant::server {

enum class Cost { kCpuSeconds, kPeakBytes };

struct RequestSearchOptions {
  Cost cost = Cost::kCpuSeconds;
  double seconds = 60;
  size_t most_bytes = 1 << 20;  // of a request
  std::string folder;           // where the requests that were found are written; empty: nowhere
  // True for a request of the kind that is asked about, which it may be made to be.
  std::function<bool(google::protobuf::Message*)> is_asked;
};

struct FoundRequest {
  std::shared_ptr<google::protobuf::Message> message;
  std::string from;  // the request at the limits that it comes from
  double cost = 0;
  grpc::StatusCode code = grpc::StatusCode::OK;
  std::string error = {};

  // Answered, or still under way when its time was up.
  bool is_legal() const {
    return code == grpc::StatusCode::OK || code == grpc::StatusCode::DEADLINE_EXCEEDED;
  }
};

// CPU time of this process, in which the server, a client that sends bytes and nothing else run:
// others on the machine don't count, and the client's share is of microseconds.
double CpuSeconds();

class MeasuredCaller {
 public:
  MeasuredCaller(const std::string& address, Cost cost);

  // Fills in the cost of `found`'s message, the least of `times`, and how it ended.
  void Measure(const std::string& method, int times, FoundRequest& found);

 private:
  grpc::GenericStub stub_;
  const Cost cost_;
  int64_t number_ = 0;
};

// The best requests, the most expensive first.
class Parents {
 public:
  bool Takes(double cost) const;
  void Add(const FoundRequest& found);
  bool empty() const { return all_.empty(); }
  const FoundRequest& best() const { return all_.front(); }
  const FoundRequest& Any(std::mt19937& random) const { return all_[random() % all_.size()]; }

 private:
  std::vector<FoundRequest> all_;
};

class RequestSearch {
 public:
  // All outlive this.
  RequestSearch(const RequestSearchOptions& options, const FieldValues& values,
                MeasuredCaller& caller, std::string method);

  void Start(const LimitRequest& limit);
  void Run();
  void Report();
  double worst_cost() const { return legal_.empty() ? 0 : legal_.best().cost; }

 private:
  void Step();
  bool IsAsked(google::protobuf::Message* message) const;
  void Take(const FoundRequest& found);
  void Write(const FoundRequest& found, const std::string& kind) const;

  const RequestSearchOptions& options_;
  MeasuredCaller& caller_;
  const std::string method_;
  std::mt19937 random_{20261126};
  Mutation mutation_;
  Parents legal_;
  Parents refused_;
  int tried_ = 0;
};

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SOAK_REQUEST_SEARCH_H_
