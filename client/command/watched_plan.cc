#include "client/command/watched_plan.h"

#include <grpcpp/client_context.h>

#include "client/io/progress_bar.h"
#include "client/report/search_text.h"
#include "sextant/v1/planning_service.grpc.pb.h"

namespace sextant::client {
namespace {

void Show(const v1::SearchProgress& progress, int64_t device_count, ProgressBar* bar) {
  if (progress.layout_count() <= 0) return;
  bar->Show(
      static_cast<double>(progress.searched_count()) / static_cast<double>(progress.layout_count()),
      SearchProgressWords(progress, device_count));
}

}  // namespace

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
  const auto reader = stub.WatchPlanRun(&context, request);
  ProgressBar bar(streams.err, streams.err_columns);
  for (v1::WatchPlanRunResponse event; reader->Read(&event);) {
    if (event.has_answer()) response->Swap(event.mutable_answer());
    if (event.has_progress()) Show(event.progress(), request.cluster().device_count(), &bar);
  }
  return reader->Finish();
}

}  // namespace sextant::client
