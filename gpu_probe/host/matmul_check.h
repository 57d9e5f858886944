// Checks that C is A B, without multiplying again.
#ifndef SEXTANT_GPU_PROBE_HOST_MATMUL_CHECK_H_
#define SEXTANT_GPU_PROBE_HOST_MATMUL_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "gpu_probe/host/matmul_engine.h"
#include "gpu_probe/host/thread_team.h"

namespace sextant::probe {

// Columns of C that are summed together: few enough that the rounding of a block's elements does
// not hide a wrong one, and enough that the check costs 1/256 of the product.
inline constexpr int64_t kCheckedColumnCount = 256;

// Freivalds' check: for random signs r, compares every row of C r with A (B r), a block of columns
// at a time. In exact arithmetic both are equal; here they may differ by rounding
// (docs/probe.md, "Processors", derives the bound). INT8 must be equal exactly, modulo 2^32 as its
// sums are. `seed` selects the signs. Source: Freivalds, "Probabilistic Machines Can Use Less
// Running Time", IFIP 1977.
//
// Errors: kDataLoss naming the row, the columns and the difference.
absl::Status CheckMatmul(const v1::MatmulShape& shape, const MatmulOperands& operands,
                         uint64_t seed, ThreadTeam* team);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_MATMUL_CHECK_H_
