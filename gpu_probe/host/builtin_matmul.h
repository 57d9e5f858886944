// The probe's own fp32 multiplication, for hosts without oneDNN: blocked and packed after
// Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34(3),
// 2008. Each thread computes a rectangle of C by itself.
#ifndef SEXTANT_GPU_PROBE_HOST_BUILTIN_MATMUL_H_
#define SEXTANT_GPU_PROBE_HOST_BUILTIN_MATMUL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "gpu_probe/host/host_context.h"
#include "gpu_probe/host/simd.h"
#include "gpu_probe/host/thread_team.h"

namespace sextant::probe {

// The largest tile of any level, in elements.
inline constexpr int kMaxTileElementCount = 14 * 32;

// tile[rows, columns] = A' B, where A' is a packed panel of k columns of `row_count` elements each,
// and B one of k rows of `column_count` each. The tile is dense, row after row.
struct MicroKernel {
  const char* name = "";  // "avx512f 14x32"
  int row_count = 0;
  int column_count = 0;
  void (*run)(const float* a_panel, const float* b_panel, int64_t k, float* tile) = nullptr;
};

// The kernel for a level of this processor.
MicroKernel MicroKernelOf(SimdLevel level);

// `row_count` rows of `depth` elements each, `row_stride` elements apart.
struct PackSource {
  const float* data = nullptr;
  int64_t row_stride = 0;
  int64_t row_count = 0;
  int64_t depth = 0;
};

// Packs into panels of `panel_width` rows each, depth by depth within a panel: to[panel][p][row].
// The last panel is padded with zeros. Packs A's rows, and B's columns too: B is stored column
// after column.
void PackPanels(const PackSource& source, int panel_width, float* to);

class BuiltinEngine : public MatmulEngine {
 public:
  // `team` and `memory` must outlive the engine. This processor has to have `level`.
  BuiltinEngine(SimdLevel level, ThreadTeam* team, MemoryBudget* memory);

  const std::string& name() const override { return name_; }

  // Errors: kUnimplemented for other types than FP32; kResourceExhausted: no memory to pack in.
  absl::StatusOr<std::unique_ptr<PreparedMatmul>> Prepare(const v1::MatmulShape& shape) override;

 private:
  const std::string name_ = "builtin";
  const MicroKernel kernel_;
  ThreadTeam* const team_;
  MemoryBudget* const memory_;
  // Buffers for packing, shared by all prepared shapes: one multiplication runs at a time.
  std::weak_ptr<const Buffer> packed_;
};

// The numbers of threads that share C's rows and its columns: rows * columns = thread_count, chosen
// so that each thread packs as little of A and B as possible.
struct ThreadGrid {
  int row_count = 1;
  int column_count = 1;
};
ThreadGrid GridOf(int64_t m, int64_t n, int thread_count);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_BUILTIN_MATMUL_H_
