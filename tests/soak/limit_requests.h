// Requests at the limits of each RPC: where a search for the most expensive ones starts.
#ifndef SEXTANT_TESTS_SOAK_LIMIT_REQUESTS_H_
#define SEXTANT_TESTS_SOAK_LIMIT_REQUESTS_H_

#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <vector>

namespace sextant::server {

struct LimitRequest {
  std::string method;  // "AccountingService/AnalyzeGraph"
  std::string name;    // what is at its limit
  std::shared_ptr<google::protobuf::Message> message;
};

// One for every RPC whose work is not bounded by candidates, runs or a probe's time.
std::vector<LimitRequest> LimitRequests();

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SOAK_LIMIT_REQUESTS_H_
