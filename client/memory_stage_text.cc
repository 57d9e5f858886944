#include "client/memory_stage_text.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/format.h"
#include "client/memory_chart.h"
#include "client/memory_stages.h"
#include "client/table.h"

namespace sextant {
namespace {

constexpr int kMostChunks = 4;  // of a stage that are listed one by one

// "4", or "4 + 2" of a stage with several chunks of layers.
std::string InFlightText(const v1::StageMemory& stage) {
  if (stage.micro_batches_in_flight_size() <= kMostChunks) {
    return absl::StrJoin(stage.micro_batches_in_flight(), " + ");
  }
  int64_t sum = 0;
  for (const int64_t count : stage.micro_batches_in_flight()) sum += count;
  return absl::StrCat(Grouped(sum), " in ", stage.micro_batches_in_flight_size(), " chunks");
}

int64_t ModelState(const v1::StageMemory& stage) {
  return BytesOf(stage, v1::LEDGER_KIND_WEIGHT) + BytesOf(stage, v1::LEDGER_KIND_GRADIENT) +
         BytesOf(stage, v1::LEDGER_KIND_MASTER_WEIGHT) +
         BytesOf(stage, v1::LEDGER_KIND_OPTIMIZER_STATE);
}

// Says that there are stages which a table leaves out.
void AddGap(const StageRun& run, Table* table) {
  if (run.left_out_before > 0) table->AddRow({"..."});
}

}  // namespace

std::string PeakText(const v1::MemoryEstimate& estimate) {
  const v1::StageMemory& peak = PeakStage(estimate);
  const std::string where =
      estimate.stages_size() == 1
          ? " usable"
          : absl::StrCat(" usable on stage ", peak.stage(), ", which holds the most");
  return absl::StrCat(IntervalText(peak.process_bytes()), " of ", Gib(estimate.usable_bytes()),
                      where);
}

std::string HeadroomText(const v1::BytesInterval& headroom) {
  if (headroom.low() >= 0) return absl::StrCat(IntervalText(headroom), " to spare");
  if (headroom.high() < 0) {
    v1::BytesInterval missing;
    missing.set_low(-headroom.high());
    missing.set_expected(-headroom.expected());
    missing.set_high(-headroom.low());
    return absl::StrCat(IntervalText(missing), " too few");
  }
  const int64_t expected = headroom.expected();
  return absl::StrCat("from ", GibNumber(-headroom.low()), " GiB too few to ",
                      GibNumber(headroom.high()), " GiB to spare; as expected ",
                      GibNumber(expected < 0 ? -expected : expected), " GiB ",
                      expected < 0 ? "too few" : "to spare");
}

std::string StageWorkTable(const v1::MemoryEstimate& estimate) {
  const bool host = absl::c_any_of(
      estimate.stages(), [](const v1::StageMemory& stage) { return stage.host_bytes() > 0; });
  std::vector<Align> aligned = {Align::kRight, Align::kRight, Align::kRight, Align::kLeft};
  std::vector<std::string> titles = {"stage", "layers", "parameters", "in flight"};
  if (host) {
    aligned.push_back(Align::kRight);
    titles.emplace_back("in host memory");
  }
  aligned.push_back(Align::kLeft);
  titles.emplace_back("holds the most");
  Table table(2, std::move(aligned));
  table.AddRow(std::move(titles));
  for (const StageRun& run : ShownStageRuns(estimate)) {
    const v1::StageMemory& stage = estimate.stages(run.first);
    std::vector<std::string> cells = {StageRunName(estimate, run), Grouped(stage.layer_count()),
                                      Grouped(stage.parameter_count()), InFlightText(stage)};
    if (host) cells.push_back(Gib(stage.host_bytes()));
    cells.push_back(MomentWords(stage.moment()));
    AddGap(run, &table);
    table.AddRow(std::move(cells));
  }
  return table.Text();
}

std::string StageMemoryTable(const v1::MemoryEstimate& estimate) {
  std::vector<Align> aligned(8, Align::kRight);
  aligned.back() = Align::kLeft;
  Table table(2, std::move(aligned));
  table.AddRow({"stage", "state", "activations", "transients", "buffers", "reserve", "total",
                "low to high"});
  const std::vector<StageRun> runs = ShownStageRuns(estimate);
  for (const StageRun& run : runs) {
    const v1::StageMemory& stage = estimate.stages(run.first);
    const auto size = [&stage](v1::LedgerKind kind) { return GibNumber(BytesOf(stage, kind)); };
    AddGap(run, &table);
    table.AddRow(
        {StageRunName(estimate, run), GibNumber(ModelState(stage)),
         size(v1::LEDGER_KIND_ACTIVATION), size(v1::LEDGER_KIND_TRANSIENT),
         size(v1::LEDGER_KIND_COMMUNICATION_BUFFER), size(v1::LEDGER_KIND_FRAMEWORK_RESERVE),
         GibNumber(stage.total_bytes()),
         absl::StrCat(GibNumber(stage.process_bytes().low()), " to ",
                      GibNumber(stage.process_bytes().high()),
                      runs.size() > 1 && HoldsThePeak(estimate, run) ? " <- the most" : "")});
  }
  return table.Text();
}

}  // namespace sextant
