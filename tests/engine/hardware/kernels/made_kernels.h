// Devices that do exactly what a formula says, for tests of what is made of their times.
#ifndef SEXTANT_TESTS_ENGINE_HARDWARE_KERNELS_MADE_KERNELS_H_
#define SEXTANT_TESTS_ENGINE_HARDWARE_KERNELS_MADE_KERNELS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "engine/hardware/kernels/attention_model.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/matmul_calibration.h"
#include "engine/hardware/kernels/stream_calibration.h"

namespace sextant {

// The forward passes of engine/base/matmul_grid.h: MatmulGridPoints() and MatmulGridChecks().
std::vector<MatmulShape> MatmulPointShapes();
std::vector<MatmulShape> MatmulCheckShapes();

// Puts the first kMatmulPointCount and kMatmulCheckCount shapes of the two lists that are in
// `measured` into `calibration`.
void ChooseMatmulPoints(absl::Span<const MatmulPoint> measured, MatmulCalibration& calibration);

using MatmulLaw = std::function<double(const MatmulShape& shape)>;

// 1e15 FLOP/s, 3e12 bytes/s and 4 us, added.
double AddedSeconds(const MatmulShape& shape);

// Tiles of 128 x 256 on 100 units, all waves as long as a full one; 4 us and memory on top.
double WavesSeconds(const MatmulShape& shape);

// All 200 shapes in bf16, on 100 units.
MatmulCalibration MadeMatmuls(const MatmulLaw& law);

// 36 products of a device that does 1e12 FLOP/s and starts in 10 us, of 16 to 4096 rows.
std::vector<MatmulPoint> EvenMatmuls();

// Sizes of 2^from to 2^to, small ones as likely as large ones.
std::vector<MatmulShape> RandomMatmuls(uint64_t seed, int count, double from, double to);

// True where `time` is finite and above 0, and its ends are in order.
bool IsSound(const KernelTime& time);

// Seconds of a kernel that reads, writes and computes so much.
using PassLaw = std::function<double(const StreamWork&)>;

// A GPU that reads at 3e12 and writes at 2.5e12 bytes a second, one after the other, and does
// multiply-adds at 4e13 FLOP/s at the same time, combined as (m^3 + c^3)^(1/3), and takes 2 us at
// least.
double PlainSeconds(const StreamWork& work);

// The passes of a standard probe of a GPU: all five of 1 GiB, copies of 64 KiB to 1 GiB, a ladder
// of 1 to 128 multiply-adds; `law` times (1 + `noise` x a normal number).
StreamCalibration MadePasses(const PassLaw& law, double noise = 0, unsigned seed = 1);

struct SimulatedKernel {
  int64_t units = 132;
  int64_t query_tile = 128;
  WindowForm window = WindowForm::kSliding;
  double seconds_per_pair = 8e-13;  // and element of a head, on one unit: 660e12 FLOP/s on 132
  double seconds_per_element = 1e-12;
  double launch = 8e-6;
};

// Blocks of the longest queue first, as kernels for causal masks start them.
double SimulatedSeconds(const AttentionShape& shape, const SimulatedKernel& kernel);

// Sequences of 1024 to 16384, 4 to 256 heads in the batch, key and value heads as many or a fourth.
std::vector<AttentionPoint> SimulatedPoints(const AttentionShape& like,
                                            const SimulatedKernel& kernel);

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_HARDWARE_KERNELS_MADE_KERNELS_H_
