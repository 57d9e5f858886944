// Multiplications by cuBLASLt on a real GPU, against sums in double on the host.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "gpu_probe/cuda/matmul/gpu_matmul_check.h"
#include "gpu_probe/cuda/matmul/gpu_matmul_points.h"
#include "tests/gpu/on_gpu.h"

namespace sextant::probe {
namespace {

using ::testing::HasSubstr;

// A float of the given bits of exponent and fraction, by its definition.
double SmallFloat(unsigned bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double fraction =
      static_cast<double>(bits & ((1u << fraction_bits) - 1)) / (1 << fraction_bits);
  const double size =
      exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
  return (bits >> (exponent_bits + fraction_bits) & 1) != 0 ? -size : size;
}

template <typename T>
T At(const std::vector<unsigned char>& bytes, size_t index) {
  T out;
  std::memcpy(&out, bytes.data() + index * sizeof(T), sizeof(T));
  return out;
}

double ElementOf(const std::vector<unsigned char>& bytes, size_t i, MatrixFormat format) {
  switch (format) {
    case MatrixFormat::kFp64:
      return At<double>(bytes, i);
    case MatrixFormat::kFp32:
    case MatrixFormat::kTf32:
      return At<float>(bytes, i);
    case MatrixFormat::kFp16:
      return SmallFloat(At<uint16_t>(bytes, i), 5, 10);
    case MatrixFormat::kBf16:
      return SmallFloat(At<uint16_t>(bytes, i), 8, 7);
    case MatrixFormat::kInt8:
      return At<int8_t>(bytes, i);
    case MatrixFormat::kInt32:
      return At<int32_t>(bytes, i);
    case MatrixFormat::kNvE2m1:
      return SmallFloat(bytes[i / 2] >> (i % 2 * 4) & 0xF, 2, 1);
    default:
      return SmallFloat(bytes[i], 4, 3);
  }
}

// cuBLAS documentation, "1D Block Scaling Factors Layout".
double ScaleOf(const std::vector<unsigned char>& scales, const GpuMatmulType& type, size_t row,
               size_t p, size_t k) {
  if (type.scale_block == 0) return ScaleOfMatrix(type);
  const size_t block = p / static_cast<size_t>(type.scale_block);
  const auto tiles = static_cast<size_t>(ScaleTilesAlongK(type, static_cast<int64_t>(k)));
  const size_t place =
      (row / 128 * tiles + block / 4) * 512 + row % 32 * 16 + row % 128 / 32 * 4 + block % 4;
  const unsigned char code = scales.at(place);
  return type.scale_block == 16 ? SmallFloat(code, 4, 3) : std::ldexp(1.0, code - 127);
}

class MatmulGpuTest : public OnGpuTest {
 protected:
  void SetUp() override {
    OnGpuTest::SetUp();
    if (IsSkipped()) return;
    auto library = LoadCublasLt(libraries_);
    if (!library.ok()) GTEST_SKIP() << library.status().message();
    library_ = *std::move(library);
    auto cublaslt = CublasLtSession::Open(library_, session_);
    ASSERT_TRUE(cublaslt.ok()) << cublaslt.status();
    cublaslt_ = *std::move(cublaslt);
  }

  std::vector<GpuMatmulType> Types() const {
    std::vector<GpuMatmulType> out;
    for (const GpuMatmulType& type : GpuMatmulTypes()) {
      const absl::Status has =
          CheckGpuMultiplies(type.data_type, session_->compute_capability(), library_.version);
      if (has.ok()) out.push_back(type);
    }
    return out;
  }

  std::vector<unsigned char> Bytes(cuda::Address from, int64_t count) {
    std::vector<unsigned char> out(static_cast<size_t>(count));
    if (count == 0) return out;
    const absl::Status copied = session_->CopyToHost(out.data(), from, count);
    EXPECT_TRUE(copied.ok()) << copied;
    return out;
  }

  // Multiplies, and compares with sums in double and with the probe's own checks.
  void CheckProblem(const GpuMatmulProblem& problem);

  CublasLt library_;
  SharedCublasLt cublaslt_;
};

void MatmulGpuTest::CheckProblem(const GpuMatmulProblem& problem) {
  const GpuMatmulType& type = *problem.type;
  SCOPED_TRACE(type.label());
  const GpuMatmulBytes bytes = GpuBytesOf(problem, GpuRotationOf(problem, 0));
  GpuMatmulArenaSource source(type, session_);
  ASSERT_EQ(source.Include(problem, GpuRotationOf(problem, 0)), absl::OkStatus());
  auto arena = source.Get();
  ASSERT_TRUE(arena.ok()) << arena.status();
  const GpuMatmulOperands operands = (*arena)->operands();
  const GpuMatmulScales scales = (*arena)->scales();
  auto matmul = GpuMatmul::Prepare(cublaslt_, problem, scales);
  if (absl::IsUnimplemented(matmul.status())) return;
  ASSERT_TRUE(matmul.ok()) << matmul.status();
  ASSERT_EQ(session_->Fill(operands.c, 0xFF, problem.output_bytes()), absl::OkStatus());
  ASSERT_EQ((*matmul)->Enqueue(0, operands), absl::OkStatus());

  const auto a = Bytes(operands.a, bytes.a);
  const auto b = Bytes(operands.b, bytes.b);
  const auto c = Bytes(operands.c, problem.output_bytes());
  const auto a_scales = Bytes(scales.a, bytes.a_scales);
  const auto b_scales = Bytes(scales.b, bytes.b_scales);
  const auto m = static_cast<size_t>(problem.m);
  const auto n = static_cast<size_t>(problem.n);
  const auto k = static_cast<size_t>(problem.k);
  const bool a_by_column = problem.layout == v1::MatmulMeasurement::LAYOUT_COLUMN_BY_ROW;
  const bool b_by_column = problem.layout == v1::MatmulMeasurement::LAYOUT_ROW_BY_COLUMN;
  const MatmulTolerance tolerance = ToleranceOf(type, problem.k, session_->compute_capability());
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      double sum = 0;
      double a_squares = 0;
      double b_squares = 0;
      for (size_t p = 0; p < k; ++p) {
        const double x = ElementOf(a, a_by_column ? p * m + i : i * k + p, type.format) *
                         ScaleOf(a_scales, type, i, p, k);
        const double y = ElementOf(b, b_by_column ? j * k + p : p * n + j, type.format) *
                         ScaleOf(b_scales, type, j, p, k);
        sum += x * y;
        a_squares += x * x;
        b_squares += y * y;
      }
      const double allowed =
          tolerance.sums * std::sqrt(a_squares * b_squares) + tolerance.output * std::abs(sum);
      ASSERT_NEAR(ElementOf(c, i * n + j, problem.output()), sum, allowed + 1e-30)
          << "row " << i << ", column " << j;
    }
  }

  const auto check = [&](uint64_t seed) {
    return CheckGpuProduct(problem, operands, seed, **arena, *session_);
  };
  EXPECT_EQ(check(1), absl::OkStatus());
  EXPECT_EQ(check(2), absl::OkStatus());
  EXPECT_EQ(CheckExactProduct(cublaslt_, **arena), absl::OkStatus());
  // A row of C that was never written.
  const int64_t row_bytes = problem.n * OutputElementOf(problem.output()).bytes;
  ASSERT_EQ(session_->Fill(operands.c + static_cast<cuda::Address>(row_bytes), 0xFF, row_bytes),
            absl::OkStatus());
  EXPECT_THAT(std::string(check(3).message()), HasSubstr("in row 1 the columns 0 to 63"));
}

TEST_F(MatmulGpuTest, EveryTypeMultipliesAsDoublesDo) {
  for (const GpuMatmulType& type : Types()) {
    GpuMatmulProblem problem;
    problem.type = &type;
    problem.m = 48;
    problem.n = 64;
    problem.k = 192;
    CheckProblem(problem);
  }
}

TEST_F(MatmulGpuTest, RowsNeedNotFillTiles) {
  for (const GpuMatmulType& type : Types()) {
    GpuMatmulProblem problem;
    problem.type = &type;
    problem.m = 133;
    problem.n = 64;
    problem.k = 320;
    CheckProblem(problem);
  }
}

TEST_F(MatmulGpuTest, OperandsInOtherLayouts) {
  for (const auto layout :
       {v1::MatmulMeasurement::LAYOUT_ROW_BY_ROW, v1::MatmulMeasurement::LAYOUT_COLUMN_BY_ROW}) {
    GpuMatmulProblem problem;
    problem.type = FindGpuMatmulType(v1::DATA_TYPE_BF16);
    problem.m = 72;
    problem.n = 64;
    problem.k = 96;
    problem.layout = layout;
    CheckProblem(problem);
  }
}

TEST_F(MatmulGpuTest, TheSameProductHasTheSameHash) {
  GpuMatmulProblem problem;
  problem.type = FindGpuMatmulType(v1::DATA_TYPE_BF16);
  problem.m = 512;
  problem.n = 1024;
  problem.k = 4096;
  GpuMatmulArenaSource source(*problem.type, session_);
  ASSERT_EQ(source.Include(problem, GpuRotationOf(problem, 0)), absl::OkStatus());
  auto arena = source.Get();
  ASSERT_TRUE(arena.ok()) << arena.status();
  auto matmul = GpuMatmul::Prepare(cublaslt_, problem, (*arena)->scales());
  ASSERT_TRUE(matmul.ok()) << matmul.status();
  const auto hash = [&] {
    EXPECT_EQ((*matmul)->Enqueue(0, (*arena)->operands()), absl::OkStatus());
    const auto out = HashOfOutput(problem, (*arena)->operands(), **arena, *session_);
    EXPECT_TRUE(out.ok()) << out.status();
    return out.value_or(0);
  };
  const uint64_t once = hash();
  EXPECT_EQ(hash(), once);
  ASSERT_EQ(session_->Fill((*arena)->operands().c, 1, 2), absl::OkStatus());
  const auto changed = HashOfOutput(problem, (*arena)->operands(), **arena, *session_);
  EXPECT_NE(changed.value_or(once), once);
}

TEST_F(MatmulGpuTest, RandomElementsAreNormal) {
  constexpr size_t kCount = 1'000'000;
  for (const GpuMatmulType& type : Types()) {
    SCOPED_TRACE(type.label());
    const auto byte_count = static_cast<int64_t>(kCount) * type.element_bits / 8;
    const DeviceMemory memory = Allocate(static_cast<size_t>(byte_count));
    ASSERT_EQ(FillElements(type, memory.address(), byte_count, 7, /*integers=*/false, *session_),
              absl::OkStatus());
    const auto bytes = Bytes(memory.address(), byte_count);
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < kCount; ++i) {
      const double x = ElementOf(bytes, i, type.format) / type.deviation;
      sum += x;
      squares += x * x;
    }
    EXPECT_NEAR(sum / kCount, 0, 0.01);
    // Four bits round coarsely.
    EXPECT_NEAR(squares / kCount, 1, type.element_bits == 4 ? 0.1 : 0.01);
  }
}

}  // namespace
}  // namespace sextant::probe
