// The fewest devices, and the largest model, that a run can have, for people.
#ifndef SEXTANT_CLIENT_REPORT_SIZE_TEXT_H_
#define SEXTANT_CLIENT_REPORT_SIZE_TEXT_H_

#include <google/protobuf/duration.pb.h>

#include <string>

#include "absl/time/time.h"
#include "client/report/rates_text.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {

// The question, a line a product, the layout of each, and why others have none. `words` are
// the user's for fields of `request`; `now` dates measurements.
std::string SizeClusterText(const v1::SizeClusterRequest& request,
                            const v1::SizeClusterResponse& response, absl::Time now,
                            FieldWords words);

// The product that the answer is judged by: the best, or the first, that meets everything; else the
// first that misses only the deadline or the budget; else the first that was not refused. Null
// where all were.
const v1::SizedCluster* NearestCluster(const v1::SizeClusterResponse& response);

// "DEADLINE MISSED by 16.9 days. ", of an answer with its plan, or what it misses without one;
// empty where the deadline and the budget are met.
std::string MissSentence(const v1::Plan& plan, bool met, v1::SizeLimit limit);

// The limit that a number of devices, or a model, misses: "memory", "deadline", ..., "-" for
// nothing in a table, "does not fit", "deadline missed", ... in a sentence.
std::string SizeLimitWords(v1::SizeLimit limit);
std::string SizeMissWords(v1::SizeLimit limit);

// ", within 90.00 days, for 1,000,000 USD": the limits of a run; a `max_duration` of 0 is none.
std::string GoalWords(const v1::PlanRunRequest& run,
                      const google::protobuf::Duration& max_duration);

// The basis as a sentence.
const char* SizeBasisWords(v1::SizeBasis basis);

// The question, the model, its plan, the limit that keeps it from being larger, and the sources of
// rates with their age at `now`.
std::string SizeModelText(const v1::SizeModelRequest& request,
                          const v1::SizeModelResponse& response, absl::Time now);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_SIZE_TEXT_H_
