#include "gpu_probe/cuda/matmul/gpu_matmul_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/base/status_macros.h"

namespace sextant::probe {
namespace {

constexpr int64_t kFloat64Bytes = 8;

// Enough threads to fill the GPU; each processes further tasks in a loop.
constexpr int64_t kBlocksOfMultiprocessor = 16;

// Threads that share a sum over k: each adds up some 64 products.
constexpr int64_t kProductsOfLane = 64;
constexpr int64_t kWarpSize = 32;
constexpr int64_t kMaxLanes = 256;

// As in kernels/matmul_check.cu: rows and blocks of columns of one thread.
constexpr int64_t kTaskRows = 4;
constexpr int64_t kTaskBlocks = 4;

// For whole numbers; any byte but 0 and all ones works.
constexpr unsigned char kExactPoison = 0x7F;
constexpr uint64_t kExactSeed = 1'000'003;

// Scales of 1: byte 127 as a power of two, byte 0x38 as e4m3.
constexpr int kOneAsE8m0 = 127;
constexpr int kOneAsE4m3 = 0x38;

int64_t BlockCountOf(int64_t n) { return CeilDivide(n, kGpuCheckedColumnCount); }

LaunchShape LaunchFor(int64_t task_count, const GpuSession& session) {
  return LaunchOver(task_count, session.multiprocessor_count() * kBlocksOfMultiprocessor);
}

// The addresses of a check's sums in the scratch memory.
struct Sums {
  cuda::Address column_sums = 0;  // block after block, k each
  cuda::Address products = 0;     // row after row, a block each
  cuda::Address a_squares = 0;    // a row each
  cuda::Address b_squares = 0;    // a block each
  int64_t added_up_bytes = 0;     // from `products` on: bytes to be set to 0 first
};

Sums SumsOf(const GpuMatmulProblem& problem, cuda::Address scratch) {
  const int64_t block_count = BlockCountOf(problem.n);
  const auto after = [](cuda::Address start, int64_t doubles) {
    return start + static_cast<cuda::Address>(doubles * kFloat64Bytes);
  };
  Sums out;
  out.column_sums = scratch;
  out.products = after(out.column_sums, block_count * problem.k);
  out.a_squares = after(out.products, problem.m * block_count);
  out.b_squares = after(out.a_squares, problem.m);
  out.added_up_bytes = static_cast<int64_t>(after(out.b_squares, block_count) - out.products);
  return out;
}

absl::Status WrongProduct(const GpuMatmulProblem& problem, const GpuCheckReport& report) {
  const int64_t block_count = BlockCountOf(problem.n);
  const auto first = static_cast<int64_t>(report.first_wrong);
  const int64_t column = first % block_count * kGpuCheckedColumnCount;
  return absl::DataLossError(
      absl::StrCat("wrong product: in row ", first / block_count, " the columns ", column, " to ",
                   std::min(column + kGpuCheckedColumnCount, problem.n) - 1,
                   " are off by more than rounding explains, as are ", report.wrong_count, " of ",
                   problem.m * block_count, " such parts of rows"));
}

absl::Status CheckOneProduct(const GpuMatmulProblem& problem, const GpuMatrices& matrices,
                             uint64_t seed, GpuMatmulArena& arena, GpuSession& session) {
  const int64_t m = problem.m;
  const int64_t n = problem.n;
  const int64_t k = problem.k;
  const int64_t block_count = BlockCountOf(n);
  const int64_t lanes = std::clamp<int64_t>(
      CeilDivide(CeilDivide(k, kProductsOfLane), kWarpSize) * kWarpSize, kWarpSize, kMaxLanes);
  const Sums sums = SumsOf(problem, arena.scratch.address());
  SEXTANT_RETURN_IF_ERROR(session.Fill(sums.products, 0, sums.added_up_bytes));
  SEXTANT_RETURN_IF_ERROR(session.Launch("matmul_sum_columns", LaunchFor(block_count * k, session),
                                         matrices.b, n, k, seed, sums.column_sums, sums.b_squares));
  const int64_t tasks = CeilDivide(m, kTaskRows) * CeilDivide(block_count, kTaskBlocks) * lanes;
  SEXTANT_RETURN_IF_ERROR(session.Launch("matmul_multiply_rows", LaunchFor(tasks, session),
                                         matrices.a, m, k, block_count, lanes, sums.column_sums,
                                         sums.products, sums.a_squares));
  SEXTANT_ASSIGN_OR_RETURN(
      const GpuCheckReport report,
      arena.check.Run("check_matmul", LaunchFor(m * block_count, session), matrices.c, m, n, seed,
                      sums.products, sums.a_squares, sums.b_squares,
                      ToleranceOf(*problem.type, k, session.compute_capability())));
  return report.wrong_count == 0 ? absl::OkStatus() : WrongProduct(problem, report);
}

// Operands of the exact multiplication, in the scratch memory.
struct ExactOperands {
  GpuMatmulOperands operands;
  GpuMatmulScales scales;
};

ExactOperands ExactOperandsOf(const GpuMatmulBytes& bytes, const GpuMatmulArena& arena) {
  const auto after = [](cuda::Address start, int64_t size_bytes) {
    return start + static_cast<cuda::Address>(size_bytes);
  };
  ExactOperands out;
  out.operands.a = arena.scratch.address();
  out.operands.b = after(out.operands.a, bytes.a);
  out.operands.c = after(out.operands.b, bytes.b);
  out.operands.workspace = arena.operands().workspace;
  out.scales.a = after(out.operands.c, bytes.c);
  out.scales.b = after(out.scales.a, bytes.a_scales);
  return out;
}

absl::Status FillExact(const GpuMatmulType& type, const GpuMatmulBytes& bytes,
                       const ExactOperands& exact, GpuSession& session) {
  SEXTANT_RETURN_IF_ERROR(FillElements(type, exact.operands.a, bytes.a, kExactSeed,
                                       /*integers=*/true, session));
  SEXTANT_RETURN_IF_ERROR(FillElements(type, exact.operands.b, bytes.b, 2 * kExactSeed,
                                       /*integers=*/true, session));
  SEXTANT_RETURN_IF_ERROR(session.Fill(exact.operands.c, kExactPoison, bytes.c));
  if (type.scaled_matrices) {
    const float one = 1;
    SEXTANT_RETURN_IF_ERROR(session.CopyToDevice(exact.scales.a, &one, sizeof(one)));
    return session.CopyToDevice(exact.scales.b, &one, sizeof(one));
  }
  if (type.scale_block == 0) return absl::OkStatus();
  const auto one = static_cast<unsigned char>(type.scale_block == 16 ? kOneAsE4m3 : kOneAsE8m0);
  return session.Fill(exact.scales.a, one, bytes.a_scales + bytes.b_scales);
}

}  // namespace

float ScaleOfMatrix(const GpuMatmulType& type) {
  return type.scaled_matrices ? static_cast<float>(1 / type.deviation) : 1.0F;
}

int64_t CheckScratchBytesOf(const GpuMatmulProblem& problem) {
  const Sums sums = SumsOf(problem, 0);
  return static_cast<int64_t>(sums.products) + sums.added_up_bytes;
}

GpuMatrices MatricesOf(const GpuMatmulProblem& problem, const GpuMatmulOperands& operands,
                       const GpuMatmulScales& scales, int64_t batch) {
  const GpuMatmulType& type = *problem.type;
  const auto at = [&](cuda::Address start, int64_t elements, int64_t bits) {
    return start + static_cast<cuda::Address>(batch * elements * bits / 8);
  };
  const bool a_by_column = problem.layout == v1::MatmulMeasurement::LAYOUT_COLUMN_BY_ROW;
  const bool b_by_column = problem.layout == v1::MatmulMeasurement::LAYOUT_ROW_BY_COLUMN;
  GpuMatrix of_type;
  of_type.format = type.format;
  of_type.scale_tiles = ScaleTilesAlongK(type, problem.k);
  of_type.scale = problem.wide_output ? 1.0 : ScaleOfMatrix(type);
  GpuMatrices out = {.a = of_type, .b = of_type, .c = {}};
  out.a.elements = at(operands.a, problem.m * problem.k, type.element_bits);
  out.a.scales = scales.a;
  out.a.row_step = a_by_column ? 1 : problem.k;
  out.a.k_step = a_by_column ? problem.m : 1;
  out.b.elements = at(operands.b, problem.n * problem.k, type.element_bits);
  out.b.scales = scales.b;
  out.b.row_step = b_by_column ? problem.k : 1;
  out.b.k_step = b_by_column ? 1 : problem.n;
  out.c.elements =
      at(operands.c, problem.m * problem.n, OutputElementOf(problem.output()).bytes * 8);
  out.c.row_step = problem.n;
  out.c.format = problem.output();
  return out;
}

absl::Status CheckGpuProduct(const GpuMatmulProblem& problem, const GpuMatmulOperands& operands,
                             uint64_t seed, GpuMatmulArena& arena, GpuSession& session) {
  for (int64_t batch = 0; batch < problem.batch_count; ++batch) {
    SEXTANT_RETURN_IF_ERROR(
        CheckOneProduct(problem, MatricesOf(problem, operands, arena.scales(), batch),
                        seed + static_cast<uint64_t>(batch * problem.n), arena, session));
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> HashOfOutput(const GpuMatmulProblem& problem,
                                      const GpuMatmulOperands& operands, GpuMatmulArena& arena,
                                      GpuSession& session) {
  const auto word_count = static_cast<uint64_t>(problem.output_bytes() / 2);
  uint64_t hash = 0;
  SEXTANT_RETURN_IF_ERROR(session.Fill(arena.hash.address(), 0, sizeof(hash)));
  SEXTANT_RETURN_IF_ERROR(session.Launch("matmul_hash",
                                         LaunchFor(static_cast<int64_t>(word_count), session),
                                         operands.c, word_count, arena.hash.address()));
  SEXTANT_RETURN_IF_ERROR(session.CopyToHost(&hash, arena.hash.address(), sizeof(hash)));
  return hash;
}

absl::Status CheckExactProduct(const SharedCublasLt& cublaslt, GpuMatmulArena& arena) {
  GpuSession& session = cublaslt->session();
  const GpuMatmulType& type = arena.type;
  const GpuMatmulProblem problem = ExactProblemOf(type);
  const GpuMatmulBytes bytes = ExactBytesOf(problem);
  const ExactOperands exact = ExactOperandsOf(bytes, arena);
  auto matmul = GpuMatmul::Prepare(cublaslt, problem, exact.scales);
  if (absl::IsUnimplemented(matmul.status())) return absl::OkStatus();
  SEXTANT_RETURN_IF_ERROR(matmul.status());
  SEXTANT_RETURN_IF_ERROR(FillExact(type, bytes, exact, session));
  SEXTANT_RETURN_IF_ERROR((*matmul)->Enqueue(0, exact.operands));
  const GpuMatrices matrices = MatricesOf(problem, exact.operands, exact.scales, 0);
  SEXTANT_ASSIGN_OR_RETURN(
      const GpuCheckReport report,
      arena.check.Run("check_exact_matmul", LaunchFor(problem.m * problem.n, session), matrices.a,
                      matrices.b, matrices.c, problem.m, problem.n, problem.k));
  if (report.wrong_count == 0) return absl::OkStatus();
  const auto first = static_cast<int64_t>(report.first_wrong);
  return absl::DataLossError(absl::StrCat("wrong product of small whole numbers, ", problem.m, "x",
                                          problem.n, "x", problem.k, ": ", report.wrong_count,
                                          " elements differ from plain sums, the first in row ",
                                          first / problem.n, ", column ", first % problem.n));
}

}  // namespace sextant::probe
