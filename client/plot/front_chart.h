// The front of a layout search, the least memory for each time of a step: its data, and its plot in
// a terminal. pictures.h draws it as SVG.
#ifndef SEXTANT_CLIENT_PLOT_FRONT_CHART_H_
#define SEXTANT_CLIENT_PLOT_FRONT_CHART_H_

#include <cstddef>
#include <string>
#include <vector>

#include "client/plot/canvas.h"
#include "sextant/v1/plan.pb.h"

namespace sextant::client {

inline constexpr char kUnnamed = ' ';

// A layout on the front.
struct FrontPoint {
  char letter = kUnnamed;  // of the points that are named
  v1::Interval seconds = {};
  v1::Interval gib = {};
  bool tie = false;
  bool chosen = false;
  double fit_chance = 0;
  std::string recompute = {};
  std::string layout = {};  // LayoutName()
  std::string flags = {};   // LayoutFlags()
};

struct FrontChart {
  std::string title;               // "toy, 64 x h100-sxm"
  std::vector<FrontPoint> points;  // from the fastest on
  size_t named = 0;                // points with a letter
  size_t slow = 0;                 // layouts left out: beyond kMaxSlowdown
  double usable_gib = 0;           // of a device
  double tie_ratio = 0;
};

// The most points that have a letter.
inline constexpr size_t kMaxNamed = 12;

// How many times the fastest step's time a chart shows: what is slower would press the layouts that
// anyone chooses into a corner.
inline constexpr double kMaxSlowdown = 3;

// The front of the plan's search as far as kMaxSlowdown. Letters of a long front are evenly spaced,
// the first and the last point among those that have one. Times and sizes that no run has, such as
// 0, are left out.
FrontChart FrontChartOf(const v1::Plan& plan);

struct FrontAxes {
  LinearAxis seconds;
  LinearAxis gib;
  // False where the usable memory is so far above all points that an axis up to it would show
  // nothing of them.
  bool shows_usable = true;
};

// The extent of a chart: of points alone, or also of the intervals of those that have a letter, as
// far as a quarter beyond the points.
enum class FrontExtent { kPoints, kIntervals };

// Axes on which all of a chart's points are, of which there is at least one.
FrontAxes FrontAxesOf(const FrontChart& chart, FrontExtent extent);

// "12 of 28, evenly spaced, have a letter"; "" where all have.
std::string NamedWords(const FrontChart& chart);

// "7 layouts that take over 3 times the fastest's time are left out"; "" where none is.
std::string SlowWords(const FrontChart& chart);

// The chart in text with its title, every line ended. Starts with an empty line; "" where there are
// fewer than two points.
std::string FrontSection(const v1::Plan& plan);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_PLOT_FRONT_CHART_H_
