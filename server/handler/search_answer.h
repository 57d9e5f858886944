// Searches for a layout on several threads.
#ifndef SEXTANT_SERVER_HANDLER_SEARCH_ANSWER_H_
#define SEXTANT_SERVER_HANDLER_SEARCH_ANSWER_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/base/field_violation.h"
#include "engine/run/run_spec.h"
#include "engine/search/layout_search.h"
#include "server/call/worker_pool.h"

namespace sextant::server {

// Searches the layouts of `run`, here and on those of `workers` that are free; whoever searches
// asks `end`, which is called on several threads, as CallWork does. Waits for nobody who has not
// begun: a full pool makes it slower, never stuck. The outcome depends on `run` alone. `watch`,
// which may be null, is called on one thread at a time.
//
// Errors: SearchLayouts()'s.
absl::StatusOr<SearchOutcome> SearchOnWorkers(const RunSpec& run, FieldViolations found,
                                              WorkerPool& workers,
                                              absl::FunctionRef<absl::Status()> end,
                                              const SearchWatch& watch);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_SEARCH_ANSWER_H_
