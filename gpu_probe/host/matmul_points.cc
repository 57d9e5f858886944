#include "gpu_probe/host/matmul_points.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/host/matmul_workload.h"

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

// The arena of a type's shapes, which lives while a workload uses it.
class ArenaSource {
 public:
  ArenaSource(v1::DataType type, SharedContext context)
      : type_(type), context_(std::move(context)) {}

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

  absl::StatusOr<std::shared_ptr<MatmulArena>> Get() {
    if (std::shared_ptr<MatmulArena> there = arena_.lock()) return there;
    SEXTANT_ASSIGN_OR_RETURN(std::shared_ptr<MatmulArena> made,
                             MatmulArena::Create(type_, bytes_, *context_));
    arena_ = made;
    return made;
  }

 private:
  const v1::DataType type_;
  const SharedContext context_;
  MatmulBytes bytes_;
  std::weak_ptr<MatmulArena> arena_;
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

double OperationCount(const v1::MatmulShape& shape) {
  return 2.0 * static_cast<double>(shape.m()) * static_cast<double>(shape.n()) *
         static_cast<double>(shape.k());
}

v1::MatmulMeasurement Measurement(const ShapeToMeasure& what, const v1::TimeStatistics& time) {
  v1::MatmulMeasurement out;
  out.set_data_type(what.shape.data_type());
  out.set_m(what.shape.m());
  out.set_n(what.shape.n());
  out.set_k(what.shape.k());
  *out.mutable_time() = time;
  out.set_flops_per_second(OperationCount(what.shape) / time.median_seconds());
  out.set_engine(what.made_by->engine);
  out.set_kernel(what.made_by->kernel);
  return out;
}

// The difference of one point from the grid's.
struct Role {
  bool first = false;
  bool sustained = false;
  v1::MatmulMeasurement::Purpose purpose = v1::MatmulMeasurement::PURPOSE_GRID;
  int pass_count = 1;
};

Point PointOf(const ShapeToMeasure& what, const Role& role) {
  const std::string type = TypeLabel(what.shape.data_type());
  Point point;
  point.phase = absl::StrCat(role.sustained ? "sustained " : "matmul ", type);
  point.label = absl::StrCat(type, " ", what.shape.m(), "x", what.shape.n(), "x", what.shape.k());
  point.work = OperationCount(what.shape);
  point.unit = "FLOP/s";
  point.first = role.first;
  point.pass_count = role.pass_count;
  point.sustained_seconds = role.sustained ? kSustainedSeconds : 0;
  point.make = [what] { return Make(what); };
  point.record = [what, role](const v1::TimeStatistics& time, v1::Calibration* out) {
    v1::MatmulMeasurement measured = Measurement(what, time);
    measured.set_window(role.sustained ? v1::MatmulMeasurement::WINDOW_SUSTAINED
                                       : v1::MatmulMeasurement::WINDOW_BURST);
    measured.set_purpose(role.purpose);
    *out->add_matmuls() = std::move(measured);
    if (!what.made_by->note.empty()) AddNote(what.made_by->note, out);
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
  v1::MatmulShape tiny;
  tiny.set_data_type(type);
  tiny.set_m(16);
  tiny.set_n(16);
  tiny.set_k(16);
  const auto prepared = context.onednn->Prepare(tiny);
  if (prepared.ok()) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(context.onednn->name(), " does not multiply in ",
                                               name, " here: ", prepared.status().message(), "."));
}

std::vector<Point> GridPoints(v1::ProbeMode mode, v1::DataType type, const SharedContext& context) {
  const auto arenas = std::make_shared<ArenaSource>(type, context);
  std::vector<Point> points;
  points.push_back(PointOf(ToMeasure(FirstShape(type), arenas, context),
                           {.first = true, .pass_count = kRevisitPassCount}));
  for (const v1::MatmulShape& shape : GridShapes(mode, type)) {
    points.push_back(PointOf(ToMeasure(shape, arenas, context), {.pass_count = kRevisitPassCount}));
  }
  if (const auto shape = SustainedShape(mode, type)) {
    points.push_back(PointOf(ToMeasure(*shape, arenas, context), {.sustained = true}));
  }
  return points;
}

std::vector<Point> RequestedPoints(const std::vector<v1::MatmulShape>& shapes,
                                   const SharedContext& context) {
  std::vector<std::pair<v1::DataType, std::shared_ptr<ArenaSource>>> sources;
  std::vector<Point> points;
  for (const v1::MatmulShape& shape : shapes) {
    const auto known = std::find_if(sources.begin(), sources.end(), [&](const auto& source) {
      return source.first == shape.data_type();
    });
    const bool first = known == sources.end();
    if (first) {
      sources.emplace_back(shape.data_type(),
                           std::make_shared<ArenaSource>(shape.data_type(), context));
    }
    const auto& arenas = first ? sources.back().second : known->second;
    points.push_back(PointOf(
        ToMeasure(shape, arenas, context),
        {.purpose = v1::MatmulMeasurement::PURPOSE_REQUESTED, .pass_count = kRevisitPassCount}));
  }
  return points;
}

std::string TypeLabel(v1::DataType type) {
  return absl::AsciiStrToLower(absl::StripPrefix(v1::DataType_Name(type), "DATA_TYPE_"));
}

}  // namespace sextant::probe
