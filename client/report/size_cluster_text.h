// The fewest devices of each product, for people.
#ifndef SEXTANT_CLIENT_REPORT_SIZE_CLUSTER_TEXT_H_
#define SEXTANT_CLIENT_REPORT_SIZE_CLUSTER_TEXT_H_

#include <string>

#include "client/report/rates_text.h"
#include "sextant/v1/size_cluster.pb.h"

namespace sextant::client {

// The question, a line a product, the layout of each, and why others have none. `words` are
// the user's for fields of `request`.
std::string SizeClusterText(const v1::SizeClusterRequest& request,
                            const v1::SizeClusterResponse& response, FieldWords words);

// The limit that a number of devices, or a model, misses: "memory", "deadline", ..., "-" for
// nothing in a table, "does not fit", "deadline missed", ... in a sentence.
const char* SizeLimitWords(v1::SizeLimit limit);
const char* SizeMissWords(v1::SizeLimit limit);

// ", within 90.00 days, for 1,000,000 USD": the limits of a run of which `max_seconds` is
// the longest time, 0 for none.
std::string GoalWords(const v1::PlanRunRequest& run, double max_seconds);

// The basis as a sentence.
const char* SizeBasisWords(v1::SizeBasis basis);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_SIZE_CLUSTER_TEXT_H_
