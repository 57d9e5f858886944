// Memory by pipeline stage: a stacked bar a stage, or run of equal stages, of the kinds of memory,
// against the usable memory; and its plot in a terminal. pictures.h draws it as SVG.
#ifndef SEXTANT_CLIENT_PLOT_MEMORY_CHART_H_
#define SEXTANT_CLIENT_PLOT_MEMORY_CHART_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sextant/v1/memory.pb.h"

namespace sextant::client {

struct MemoryKind {
  v1::LedgerKind kind;
  char letter;
  const char* name;  // for one row's bytes or for many
};

// In the order of bars, from the left.
inline constexpr std::array<MemoryKind, 8> kMemoryKinds = {{
    {v1::LEDGER_KIND_WEIGHT, 'W', "weights"},
    {v1::LEDGER_KIND_GRADIENT, 'G', "gradients"},
    {v1::LEDGER_KIND_MASTER_WEIGHT, 'M', "master weights"},
    {v1::LEDGER_KIND_OPTIMIZER_STATE, 'O', "optimizer state"},
    {v1::LEDGER_KIND_ACTIVATION, 'A', "activations"},
    {v1::LEDGER_KIND_TRANSIENT, 't', "transients"},
    {v1::LEDGER_KIND_COMMUNICATION_BUFFER, 'b', "communication buffers"},
    {v1::LEDGER_KIND_FRAMEWORK_RESERVE, 'r', "framework reserve"},
}};

struct MemoryBar {
  std::string name;                               // "1-6"
  std::array<double, kMemoryKinds.size()> sizes;  // in GiB
  double total = 0;                               // in GiB, as `low` and `high`
  double low = 0;
  double high = 0;
  int stages_left_out_before = 0;
  bool peak = false;
};

struct MemoryChart {
  std::vector<MemoryBar> bars;
  double usable = 0;          // in GiB
  double end = 0;             // of the axis, which starts at 0, in GiB; above 0
  std::vector<double> ticks;  // in GiB
};

// The chart of `memory`, which has a stage.
MemoryChart MemoryChartOf(const v1::Memory& memory);

// "20", "0.5": a tick's label.
std::string TickText(double gib);

// One line a bar, on a scale that ends at the usable memory or beyond, with a mark at the usable
// memory; below them an axis and a legend. No line has more than TextWidth() columns.
std::string MemoryBars(const MemoryChart& chart);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_PLOT_MEMORY_CHART_H_
