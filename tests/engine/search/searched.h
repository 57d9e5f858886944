// Searches in shards, merged.
#ifndef SEXTANT_TESTS_ENGINE_SEARCH_SEARCHED_H_
#define SEXTANT_TESTS_ENGINE_SEARCH_SEARCHED_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "engine/search/layout_search.h"
#include "tests/engine/run/h100_runs.h"

namespace sextant {

// All layouts of Megatron-LM.
inline RunSpec RunOn(absl::string_view preset, int64_t devices, int64_t sequences, int64_t length) {
  RunSpec run = RunOnH100s(preset, devices, sequences, length);
  run.options.search = SearchExtent::kExhaustive;
  run.layout->framework = {.kind = Framework::kMegatronLm, .named = true};
  return run;
}

// Calls `visit` with all layouts of `space` in its order, and whether counting alone prunes them.
inline void ForEachLayout(const LayoutSpace& space, LayoutSpace::Visitor visit) {
  space.ForEachGroup(
      [&](const LayoutGroup& group) { return space.ForEachIn(group, nullptr, visit); });
}

inline void AddShards(const RunSpec& run, int64_t shards, bool offloads, SearchOutcome& out) {
  CallWork work;
  for (int64_t i = 0; i < shards; ++i) {
    auto part = SearchLayouts(run, {.index = i, .count = shards, .offloads = offloads}, {}, work);
    EXPECT_TRUE(part.ok()) << part.status();
    if (part.ok()) Merge(*std::move(part), out);
  }
}

inline SearchOutcome OutcomeOf(const RunSpec& run, int64_t shards = 1) {
  SearchOutcome out;
  AddShards(run, shards, /*offloads=*/false, out);
  if (HasToOffload(run, out)) AddShards(run, shards, /*offloads=*/true, out);
  return out;
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_SEARCH_SEARCHED_H_
