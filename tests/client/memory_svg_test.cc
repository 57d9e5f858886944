#include "client/memory_svg.h"
#include <gtest/gtest.h>
#include <fstream>
#include "tests/client/sample_memory.h"
namespace sextant {
TEST(MemorySvg, Shows) {
  for (int n : {1, 4, 16, 64, 200}) std::ofstream("/tmp/i6w_svg_" + std::to_string(n) + ".svg") << MemorySvg(SampleOfStages(n).plan());
  std::ofstream("/tmp/i6w_svg_a.svg") << MemorySvg(SampleMemory().plan());
  std::ofstream("/tmp/i6w_svg_b.svg") << MemorySvg(SampleMemoryOn(20, v1::VERDICT_DOES_NOT_FIT).plan());
}
}
