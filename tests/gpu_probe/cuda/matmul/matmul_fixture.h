// Multiplications on a scripted GPU and by a scripted library.
#ifndef SEXTANT_TESTS_GPU_PROBE_CUDA_MATMUL_MATMUL_FIXTURE_H_
#define SEXTANT_TESTS_GPU_PROBE_CUDA_MATMUL_MATMUL_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu_probe/cuda/matmul/gpu_matmul_points.h"
#include "gpu_probe/measure.h"
#include "tests/gpu_probe/cuda/fake_cublaslt.h"
#include "tests/gpu_probe/cuda/fake_session.h"

namespace sextant::probe {

class MatmulTest : public FakeSessionTest {
 protected:
  using FakeSessionTest::Open;
  SharedSession Open(int64_t cap_bytes) {
    GpuSession::Parts parts = Parts();
    parts.memory_cap_bytes = cap_bytes;
    auto session = GpuSession::Open(std::move(parts));
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }

  absl::StatusOr<Measurement> MeasurePoints(std::vector<Point> points, double budget_seconds) {
    ProbePlan plan;
    plan.points = std::move(points);
    return Measure(plan, {.start_seconds = clock_.NowSeconds(), .budget_seconds = budget_seconds},
                   clock_, [](const v1::ProbeProgress&) { return true; });
  }

  static v1::MatmulShape Shape(v1::DataType type, int64_t m, int64_t n, int64_t k) {
    v1::MatmulShape out;
    out.set_data_type(type);
    out.set_m(m);
    out.set_n(n);
    out.set_k(k);
    return out;
  }
  // Measures requested shapes.
  absl::StatusOr<Measurement> MeasureShapes(const std::vector<v1::MatmulShape>& shapes,
                                            int64_t cap_bytes = kCapBytes) {
    auto points = GpuRequestedMatmulPoints(v1::PROBE_MODE_STANDARD, shapes, Open(cap_bytes),
                                           library_.Table());
    if (!points.ok()) return points.status();
    return MeasurePoints(*std::move(points), /*budget_seconds=*/100);
  }

  FakeCublasLt library_{host_};
};

}  // namespace sextant::probe

#endif  // SEXTANT_TESTS_GPU_PROBE_CUDA_MATMUL_MATMUL_FIXTURE_H_
