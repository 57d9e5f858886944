#include "gpu_probe/host/matmul_points.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/host/matmul_workload.h"
#include "gpu_probe/points/matmul.h"

namespace sextant::probe {
namespace {

v1::MatmulShape Shape(v1::DataType type, int64_t m, int64_t n, int64_t k) {
  v1::MatmulShape out;
  out.set_data_type(type);
  out.set_m(m);
  out.set_n(n);
  out.set_k(k);
  return out;
}

constexpr int64_t kFirstRows = 512;
constexpr int64_t kFirstOthers = 1024;

// All shapes but the first, which is measured separately.
std::vector<v1::MatmulShape> Grid(v1::DataType type, const std::vector<int64_t>& rows,
                                  const std::vector<int64_t>& others) {
  std::vector<v1::MatmulShape> out;
  for (const int64_t m : rows) {
    for (const int64_t n : others) {
      for (const int64_t k : others) {
        if (m == kFirstRows && n == kFirstOthers && k == kFirstOthers) continue;
        out.push_back(Shape(type, m, n, k));
      }
    }
  }
  return out;
}

// As many as a few cores can measure eight times in their share of five seconds.
std::vector<v1::MatmulShape> StandardGrid(v1::DataType type) {
  std::vector<v1::MatmulShape> out;
  for (v1::MatmulShape& shape : Grid(type, {16, 128, 512}, {256, 1024, 2048})) {
    const bool far_apart =
        std::max(shape.n(), shape.k()) == 2048 && std::min(shape.n(), shape.k()) != kFirstOthers;
    if (!far_apart) out.push_back(std::move(shape));
  }
  return out;
}

// B's copies together are twice the last-level cache, so that each comes from memory; but at most
// this many bytes, since a guest may see a cache that it shares with many others.
constexpr int64_t kMaxTouchedBytes = int64_t{256} << 20;
constexpr int64_t kTouchedBytesWhereCacheIsUnknown = int64_t{64} << 20;

// More than half of the probe's memory is for the operands themselves.
constexpr int64_t kTouchedShareOfCap = 4;

// Long enough for the clock to settle; only the second half counts (point.h).
constexpr double kSustainedSeconds = 2;

int64_t TouchedBytes(const HostContext& context) {
  const int64_t wanted = context.cache_bytes ? std::min(*context.cache_bytes, kMaxTouchedBytes) * 2
                                             : kTouchedBytesWhereCacheIsUnknown;
  return std::min({wanted, kMaxTouchedBytes, context.memory->cap_bytes() / kTouchedShareOfCap});
}

// The arena of a type's shapes.
class ArenaSource {
 public:
  ArenaSource(v1::DataType type, SharedContext context)
      : context_(context), arena_([this, type, raw = context.get()] {
          return MatmulArena::Create(type, bytes_, *raw);
        }) {}

  // Includes a shape, unless the arena would then exceed the cap.
  //
  // Errors: kResourceExhausted, naming the bytes.
  absl::Status Include(const MatmulBytes& bytes) {
    const MatmulBytes together = MaximumOf(bytes_, bytes);
    const int64_t cap_bytes = context_->memory->cap_bytes();
    if (together.total() > cap_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "needs ", bytes.total(), " bytes (with the other shapes of its type ", together.total(),
          "), more than the ", cap_bytes, " that the probe may take"));
    }
    bytes_ = together;
    return absl::OkStatus();
  }

  absl::StatusOr<std::shared_ptr<MatmulArena>> Get() { return arena_.Get(); }

 private:
  const SharedContext context_;
  MatmulBytes bytes_;
  SharedData<MatmulArena> arena_;
};

// The engine that multiplied a shape, known once its workload is made.
struct MadeBy {
  std::string engine;
  std::string kernel;
  std::string note;  // why an available oneDNN was not used
};

absl::StatusOr<std::unique_ptr<PreparedMatmul>> PrepareByBest(const v1::MatmulShape& shape,
                                                              HostContext* context, MadeBy* by) {
  if (context->onednn != nullptr) {
    auto prepared = context->onednn->Prepare(shape);
    if (prepared.ok() || shape.data_type() != v1::DATA_TYPE_FP32) {
      by->engine = context->onednn->name();
      return prepared;
    }
    by->note = absl::StrCat(context->onednn->name(), " refused a shape in FP32, which the ",
                            "probe's own kernel multiplied: ", prepared.status().message(), ".");
  }
  by->engine = context->builtin->name();
  return context->builtin->Prepare(shape);
}

struct ShapeToMeasure {
  v1::MatmulShape shape;
  Rotation rotation;
  absl::Status fits;
  std::shared_ptr<ArenaSource> arenas;
  std::shared_ptr<MadeBy> made_by;
  SharedContext context;
};

ShapeToMeasure ToMeasure(const v1::MatmulShape& shape, std::shared_ptr<ArenaSource> arenas,
                         const SharedContext& context) {
  ShapeToMeasure out = {.shape = shape,
                        .rotation = {},
                        .fits = {},
                        .arenas = std::move(arenas),
                        .made_by = std::make_shared<MadeBy>(),
                        .context = context};
  const auto rotation = RotationOf(shape, TouchedBytes(*context));
  out.fits = rotation.status();
  if (!out.fits.ok()) return out;
  out.rotation = *rotation;
  const auto bytes = BytesOf(shape, *rotation);
  out.fits = bytes.ok() ? out.arenas->Include(*bytes) : bytes.status();
  return out;
}

absl::StatusOr<std::unique_ptr<Workload>> Make(const ShapeToMeasure& what) {
  SEXTANT_RETURN_IF_ERROR(what.fits);
  SEXTANT_ASSIGN_OR_RETURN(auto matmul,
                           PrepareByBest(what.shape, what.context.get(), what.made_by.get()));
  what.made_by->kernel = matmul->kernel();
  SEXTANT_ASSIGN_OR_RETURN(std::shared_ptr<MatmulArena> arena, what.arenas->Get());
  return std::make_unique<MatmulWorkload>(MatmulWorkload::Parts{.context = what.context,
                                                                .shape = what.shape,
                                                                .rotation = what.rotation,
                                                                .arena = std::move(arena),
                                                                .matmul = std::move(matmul)});
}

Point PointOf(const ShapeToMeasure& what, v1::MatmulMeasurement::Purpose purpose,
              double sustained_seconds = 0) {
  v1::MatmulMeasurement measured;
  measured.set_data_type(what.shape.data_type());
  measured.set_m(what.shape.m());
  measured.set_n(what.shape.n());
  measured.set_k(what.shape.k());
  measured.set_purpose(purpose);
  Point point = MatmulPoint(
      measured, sustained_seconds, [what] { return Make(what); },
      [by = what.made_by](const v1::TimeStatistics&, v1::MatmulMeasurement* out) {
        out->set_engine(by->engine);
        out->set_kernel(by->kernel);
      });
  if (sustained_seconds > 0) {
    point.phase = absl::StrCat("sustained ", TypeLabel(what.shape.data_type()));
  }
  point.record = [by = what.made_by, record = std::move(point.record)](
                     const v1::TimeStatistics& time, v1::Calibration* out) {
    record(time, out);
    if (!by->note.empty()) AddNote(by->note, out);
  };
  return point;
}

}  // namespace

v1::MatmulShape FirstShape(v1::DataType type) {
  return Shape(type, kFirstRows, kFirstOthers, kFirstOthers);
}

std::vector<v1::MatmulShape> GridShapes(v1::ProbeMode mode, v1::DataType type) {
  switch (mode) {
    case v1::PROBE_MODE_QUICK:
      return {};
    case v1::PROBE_MODE_FULL: {
      auto shapes = Grid(type, {16, 128, 512, 2048}, {256, 1024, 4096});
      shapes.push_back(Shape(type, 1024, 3072, 768));   // GPT-2: up to the inner layer
      shapes.push_back(Shape(type, 1024, 768, 3072));   // and down
      shapes.push_back(Shape(type, 256, 6144, 4096));   // Llama-3-8B: query, key and value
      shapes.push_back(Shape(type, 256, 14336, 4096));  // up
      shapes.push_back(Shape(type, 256, 4096, 14336));  // down
      shapes.push_back(Shape(type, 1025, 4096, 4096));  // one row more than a full tile
      return shapes;
    }
    default:
      return StandardGrid(type);
  }
}

absl::optional<v1::MatmulShape> SustainedShape(v1::ProbeMode mode, v1::DataType type) {
  if (mode != v1::PROBE_MODE_FULL) return absl::nullopt;
  return Shape(type, 2048, 2048, 2048);
}

absl::Status CheckTypeIsMultiplied(v1::DataType type, const HostContext& context) {
  const std::string name = absl::AsciiStrToUpper(TypeLabel(type));
  switch (type) {
    case v1::DATA_TYPE_FP32:
      return absl::OkStatus();
    case v1::DATA_TYPE_BF16:
    case v1::DATA_TYPE_INT8:
      break;
    default:
      return absl::UnimplementedError(
          absl::StrCat("A CPU is not measured in ", name, ": ask for FP32, BF16 or INT8."));
  }
  const bool has_instructions = type == v1::DATA_TYPE_BF16 ? MultipliesBf16(context.features)
                                                           : MultipliesInt8(context.features);
  if (!has_instructions) {
    return absl::UnimplementedError(absl::StrCat(
        "The probe knows no instructions of this processor for ", name, ", so none is measured."));
  }
  if (context.onednn == nullptr) {
    return absl::UnimplementedError(absl::StrCat(
        name,
        " is multiplied by oneDNN alone, which is not there: install libdnnl, or ask for FP32."));
  }
  const auto prepared = context.onednn->Prepare(Shape(type, 16, 16, 16));
  if (prepared.ok()) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(context.onednn->name(), " does not multiply in ",
                                               name, " here: ", prepared.status().message(), "."));
}

std::vector<Point> GridPoints(v1::ProbeMode mode, v1::DataType type, const SharedContext& context) {
  const auto arenas = std::make_shared<ArenaSource>(type, context);
  const auto grid_point = [&](const v1::MatmulShape& shape) {
    return PointOf(ToMeasure(shape, arenas, context), v1::MatmulMeasurement::PURPOSE_GRID);
  };
  std::vector<Point> points = {grid_point(FirstShape(type))};
  points.front().first = true;
  for (const v1::MatmulShape& shape : GridShapes(mode, type)) points.push_back(grid_point(shape));
  if (const auto shape = SustainedShape(mode, type)) {
    points.push_back(PointOf(ToMeasure(*shape, arenas, context),
                             v1::MatmulMeasurement::PURPOSE_GRID, kSustainedSeconds));
  }
  return points;
}

std::vector<Point> RequestedPoints(const std::vector<v1::MatmulShape>& shapes,
                                   const SharedContext& context) {
  std::map<v1::DataType, std::shared_ptr<ArenaSource>> arenas;
  std::vector<Point> points;
  for (const v1::MatmulShape& shape : shapes) {
    std::shared_ptr<ArenaSource>& arena = arenas[shape.data_type()];
    if (arena == nullptr) arena = std::make_shared<ArenaSource>(shape.data_type(), context);
    points.push_back(
        PointOf(ToMeasure(shape, arena, context), v1::MatmulMeasurement::PURPOSE_REQUESTED));
  }
  return points;
}

}  // namespace sextant::probe
