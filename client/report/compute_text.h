// The compute of each GPU, operation by operation, as tables.
#ifndef SEXTANT_CLIENT_REPORT_COMPUTE_TEXT_H_
#define SEXTANT_CLIENT_REPORT_COMPUTE_TEXT_H_

#include <string>

#include "client/report/rates_text.h"
#include "client/text/sources.h"
#include "sextant/v1/compute.pb.h"
#include "sextant/v1/step_time.pb.h"

namespace sextant::client {

// A section a stage, or run of stages that are alike: its times, its operations from the longest to
// the shortest, and its exchanges. After the last one come the sources that operations refer to, of
// `sources`. "" where the answer has no operations.
std::string ComputeSections(const v1::Compute& compute, const SourceList& sources);

// The operations that take longest in a step, each with what bounds it. "" where there are none.
std::string LongestOperationsTable(const v1::StepTime& step);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_COMPUTE_TEXT_H_
