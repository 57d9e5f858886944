#include "client/command/open_layout.h"

#include <grpcpp/client_context.h>

#include <stop_token>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/io/watched_call.h"
#include "client/report/plan_text.h"
#include "sextant/v1/planning_service.grpc.pb.h"

namespace sextant::client {
namespace {

void Show(const v1::SearchProgress& progress, int64_t device_count, ProgressBar* bar) {
  if (progress.layout_count() <= 0) return;
  bar->Show(
      static_cast<double>(progress.searched_count()) / static_cast<double>(progress.layout_count()),
      SearchProgressWords(progress, device_count));
}

std::string WhereItStopped(const v1::SearchProgress& progress, int64_t device_count) {
  if (progress.layout_count() <= 0) return "the server stops the search";
  return absl::StrCat("the server stops the search, after ",
                      SearchProgressWords(progress, device_count));
}

grpc::Status PlanWatched(const ServerAddress& server, const Streams& streams,
                         const v1::PlanRunRequest& request, v1::PlanRunResponse* response) {
  if (streams.err_columns == 0 || server.prints_requests) {
    return Call(server, &v1::PlanningService::Stub::PlanRun, request, response);
  }
  grpc::Status checked = CheckSize(request);
  if (!checked.ok()) return checked;
  grpc::ClientContext context;
  PrepareContext(server, &context);
  v1::PlanningService::Stub stub(NewChannel(server));
  const InterruptWatch watch;
  const auto reader = stub.WatchPlanRun(&context, request);
  const std::stop_callback cancel(watch.stop_token(), [&context] { context.TryCancel(); });
  const int64_t devices = request.cluster().device_count();
  ProgressBar bar(streams.err, streams.err_columns);
  v1::SearchProgress progress;
  for (v1::WatchPlanRunResponse event; reader->Read(&event);) {
    if (event.has_answer()) response->Swap(event.mutable_answer());
    if (!event.has_progress()) continue;
    progress.Swap(event.mutable_progress());
    Show(progress, devices, &bar);
  }
  grpc::Status status = reader->Finish();
  if (status.ok() || watch.signal_number() == 0) return status;
  return Interrupted(watch.signal_number(), WhereItStopped(progress, devices));
}

// Has the batch searched as sextant plan searches one run: exhaustively, if a layout is open and
// there are at most as many runs as the server searches so. Returns those runs.
std::vector<int> SearchOpenLayouts(v1::BatchPlanRunsRequest* batch) {
  constexpr int kMaxExhaustiveRuns = 16;
  std::vector<int> out;
  for (int i = 0; i < batch->runs_size() && batch->runs_size() <= kMaxExhaustiveRuns; ++i) {
    if (!LeavesLayoutOpen(batch->runs(i))) continue;
    batch->mutable_runs(i)->mutable_options()->set_search(v1::LAYOUT_SEARCH_EXHAUSTIVE);
    out.push_back(i);
  }
  return out;
}

}  // namespace

bool LeavesLayoutOpen(const v1::PlanRunRequest& request) {
  const v1::RunLayout& layout = request.layout();
  const bool laid_out = layout.has_parallel() || layout.has_sharding() ||
                        layout.has_context_parallel_size() || layout.has_micro_batch_size();
  return !laid_out && layout.has_global_batch_size() && !request.has_measured_step() &&
         request.options().search() == v1::LAYOUT_SEARCH_UNSPECIFIED;
}

grpc::Status AskForPlan(const ServerAddress& server, const Streams& streams,
                        v1::LayoutSearch otherwise, v1::PlanRunRequest* request,
                        v1::PlanRunResponse* response) {
  const bool is_open = LeavesLayoutOpen(*request);
  if (is_open) request->mutable_options()->set_search(v1::LAYOUT_SEARCH_EXHAUSTIVE);
  grpc::Status status = PlanWatched(server, streams, *request, response);
  if (!is_open || status.error_code() != grpc::StatusCode::INVALID_ARGUMENT) return status;
  request->mutable_options()->set_search(otherwise);
  return PlanWatched(server, streams, *request, response);
}

grpc::Status AskForPlans(const ServerAddress& server, v1::BatchPlanRunsRequest* batch,
                         v1::BatchPlanRunsResponse* response) {
  const std::vector<int> open = SearchOpenLayouts(batch);
  grpc::Status status = Call(server, &v1::PlanningService::Stub::BatchPlanRuns, *batch, response);
  bool is_refused = false;
  for (const int i : open) {
    const bool refused = status.ok() && i < response->runs_size() &&
                         response->runs(i).status().code() == grpc::StatusCode::INVALID_ARGUMENT;
    if (refused) batch->mutable_runs(i)->mutable_options()->clear_search();
    is_refused = is_refused || refused;
  }
  return is_refused ? Call(server, &v1::PlanningService::Stub::BatchPlanRuns, *batch, response)
                    : status;
}

}  // namespace sextant::client
