#include "client/command/watched_plan.h"

#include <grpcpp/client_context.h>

#include <cstdint>
#include <stop_token>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/io/interrupt_watch.h"
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

std::string WhereItStopped(const v1::SearchProgress& progress, int64_t device_count) {
  if (progress.layout_count() <= 0) return "the server stops the search";
  return absl::StrCat("the server stops the search, after ",
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
  const grpc::Status status = reader->Finish();
  if (status.ok() || watch.signal_number() == 0) return status;
  return Interrupted(watch.signal_number(), WhereItStopped(progress, devices));
}

}  // namespace sextant::client
