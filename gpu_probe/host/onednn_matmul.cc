#include "gpu_probe/host/onednn_matmul.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/status_macros.h"

namespace sextant::probe {
namespace {

// Errors: kFailedPrecondition where the library lacks a function.
absl::Status AllFound(const LibrarySymbols& symbols) {
  if (symbols.missing().empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      symbols.library(), " is not a oneDNN that the probe knows: it has no ", symbols.missing()));
}

// Debian adds the minor version to the name of version 3's library.
std::vector<std::string> NamesToTry(const std::string& path) {
  if (!path.empty()) return {path};
  return {"libdnnl.so.2", "libdnnl.so.3", "libdnnl.so.3.6"};
}

// Each variable has an older name, which old libraries read and new ones still accept.
void SetVariable(const char* name, const char* value) {
  setenv(absl::StrCat("ONEDNN_", name).c_str(), value, /*overwrite=*/1);
  setenv(absl::StrCat("DNNL_", name).c_str(), value, /*overwrite=*/1);
}

constexpr char kSpinCount[] = "10000";

void SetEnvironment(const CoreSet& cores) {
  // The probe's figures are for all cores that it may use; to measure fewer, restrict its cores.
  setenv("OMP_NUM_THREADS", absl::StrCat(cores.numbers.size()).c_str(), /*overwrite=*/1);
  // Each thread stays on its core: two of them on one core would take turns for milliseconds,
  // until the system notices.
  setenv("OMP_PROC_BIND", cores.pinned ? "true" : "false", /*overwrite=*/1);
  const std::string places = absl::StrCat("{", absl::StrJoin(cores.numbers, "},{"), "}");
  if (cores.pinned) setenv("OMP_PLACES", places.c_str(), /*overwrite=*/1);
  if (!cores.pinned) unsetenv("OMP_PLACES");
  // Between two multiplications its threads spin, as the next one follows at once; but only for
  // some tenths of a millisecond, since the checks then need the cores.
  setenv("GOMP_SPINCOUNT", kSpinCount, /*overwrite=*/1);
  SetVariable("DEFAULT_FPMATH_MODE", "STRICT");
  // The log would go to the output that holds the probe's events.
  SetVariable("VERBOSE", "0");
}

// One operand's element type, and its sizes and strides by dimension.
struct OnednnMatrix {
  int data_type = 0;
  int64_t dimensions[2] = {};
  int64_t strides[2] = {};
};

struct OnednnMatrices {
  OnednnMatrix a;
  OnednnMatrix b;
  OnednnMatrix c;
};

// A multiplication's description, and a memory object for each operand, without data.
struct OnednnDescription {
  onednn::Object primitive_descriptor;
  onednn::Object a;
  onednn::Object b;
  onednn::Object c;
};

// Version 2's structures, as bytes that only the library reads: it fills dnnl_memory_desc_t (696
// bytes in 2.6) and dnnl_matmul_desc_t (2,800); the sizes here leave room to spare.
struct alignas(64) MemoryDescriptor2 {
  std::array<std::byte, 4096> bytes = {};
};
struct alignas(64) MatmulDescriptor2 {
  std::array<std::byte, 16384> bytes = {};
};

absl::StatusOr<onednn::Object> MemoryFor(const Onednn& library, void* engine,
                                         const void* descriptor) {
  void* memory = nullptr;
  SEXTANT_RETURN_IF_ERROR(library.memory_create.Checked(&memory, descriptor, engine, nullptr));
  return onednn::Object(memory, library.memory_destroy);
}

// The three operands' descriptors, by address.
struct Descriptors {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
};

absl::StatusOr<OnednnDescription> WithMemories(const Onednn& library, void* engine,
                                               onednn::Object primitive_descriptor,
                                               const Descriptors& descriptors) {
  SEXTANT_ASSIGN_OR_RETURN(auto a, MemoryFor(library, engine, descriptors.a));
  SEXTANT_ASSIGN_OR_RETURN(auto b, MemoryFor(library, engine, descriptors.b));
  SEXTANT_ASSIGN_OR_RETURN(auto c, MemoryFor(library, engine, descriptors.c));
  return OnednnDescription{std::move(primitive_descriptor), std::move(a), std::move(b),
                           std::move(c)};
}

// The functions of one version alone.
struct Onednn2 {
  LibrarySymbols symbols;
  Onednn::Function<void*, int, const int64_t*, int, const int64_t*> describe_memory =
      symbols("dnnl_memory_desc_init_by_strides");
  Onednn::Function<void*, const void*, const void*, const void*, const void*> describe =
      symbols("dnnl_matmul_desc_init");
  Onednn::Function<void**, const void*, const void*, void*, const void*> create =
      symbols("dnnl_primitive_desc_create");
};
struct Onednn3 {
  LibrarySymbols symbols;
  Onednn::Function<void**, void*, const void*, const void*, const void*, const void*, const void*>
      create = symbols("dnnl_matmul_primitive_desc_create");
  Onednn::Function<void**, int, const int64_t*, int, const int64_t*> describe_memory =
      symbols("dnnl_memory_desc_create_with_strides");
  onednn::Deleter drop_memory = symbols("dnnl_memory_desc_destroy");
};

absl::StatusOr<onednn::Object> Descriptor3(const Onednn3& library, const OnednnMatrix& matrix) {
  void* descriptor = nullptr;
  SEXTANT_RETURN_IF_ERROR(library.describe_memory.Checked(&descriptor, 2, matrix.dimensions,
                                                          matrix.data_type, matrix.strides));
  return onednn::Object(descriptor, library.drop_memory);
}

// Describes the multiplication for version 2, which uses structures where version 3 uses objects.
//
// Errors: kUnimplemented where the library has no kernel for it.
absl::StatusOr<OnednnDescription> DescribeForVersion2(const Onednn& library, void* engine,
                                                      const OnednnMatrices& matrices) {
  const Onednn2 own = {.symbols = library.symbols};
  SEXTANT_RETURN_IF_ERROR(AllFound(own.symbols));
  std::array<MemoryDescriptor2, 3> memories;
  const std::array<const OnednnMatrix*, 3> all = {&matrices.a, &matrices.b, &matrices.c};
  for (size_t i = 0; i < all.size(); ++i) {
    SEXTANT_RETURN_IF_ERROR(own.describe_memory.Checked(&memories[i], 2, all[i]->dimensions,
                                                        all[i]->data_type, all[i]->strides));
  }
  MatmulDescriptor2 matmul;
  SEXTANT_RETURN_IF_ERROR(
      own.describe.Checked(&matmul, &memories[0], &memories[1], nullptr, &memories[2]));
  void* created = nullptr;
  SEXTANT_RETURN_IF_ERROR(own.create.Checked(&created, &matmul, nullptr, engine, nullptr));
  onednn::Object descriptor(created, library.primitive_desc_destroy);
  return WithMemories(library, engine, std::move(descriptor),
                      {&memories[0], &memories[1], &memories[2]});
}

absl::StatusOr<OnednnDescription> DescribeForVersion3(const Onednn& library, void* engine,
                                                      const OnednnMatrices& matrices) {
  const Onednn3 own = {.symbols = library.symbols};
  SEXTANT_RETURN_IF_ERROR(AllFound(own.symbols));
  SEXTANT_ASSIGN_OR_RETURN(const auto a, Descriptor3(own, matrices.a));
  SEXTANT_ASSIGN_OR_RETURN(const auto b, Descriptor3(own, matrices.b));
  SEXTANT_ASSIGN_OR_RETURN(const auto c, Descriptor3(own, matrices.c));
  void* created = nullptr;
  SEXTANT_RETURN_IF_ERROR(
      own.create.Checked(&created, engine, a.get(), b.get(), nullptr, c.get(), nullptr));
  onednn::Object descriptor(created, library.primitive_desc_destroy);
  return WithMemories(library, engine, std::move(descriptor), {a.get(), b.get(), c.get()});
}

// Values of dnnl_engine_kind_t, dnnl_stream_flags_t, dnnl_query_t and the DNNL_ARG_ numbers.
constexpr int kCpu = 1;
constexpr unsigned kInOrder = 1;
constexpr int kImplementationName = 8;
constexpr int kSource = 1;
constexpr int kDestination = 17;
constexpr int kWeights = 33;

class OnednnMatmul : public PreparedMatmul {
 public:
  // `stream` and the library must outlive it.
  OnednnMatmul(const Onednn& library, void* stream, OnednnDescription description,
               onednn::Object primitive)
      : library_(library),
        stream_(stream),
        description_(std::move(description)),
        primitive_(std::move(primitive)) {
    const char* name = nullptr;
    const onednn::Status queried = library.primitive_desc_query(
        description_.primitive_descriptor.get(), kImplementationName, 0, &name);
    if (queried == 0 && name != nullptr) kernel_ = name;
  }

  const std::string& kernel() const override { return kernel_; }

  absl::Status Run(const MatmulOperands& operands) override {
    // The library's inputs are not const by type; it does not write them.
    SEXTANT_RETURN_IF_ERROR(SetData(description_.a, const_cast<void*>(operands.a)));
    SEXTANT_RETURN_IF_ERROR(SetData(description_.b, const_cast<void*>(operands.b)));
    SEXTANT_RETURN_IF_ERROR(SetData(description_.c, operands.c));
    const std::array<onednn::Argument, 3> arguments = {{{kSource, description_.a.get()},
                                                        {kWeights, description_.b.get()},
                                                        {kDestination, description_.c.get()}}};
    SEXTANT_RETURN_IF_ERROR(
        library_.primitive_execute.Checked(primitive_.get(), stream_, 3, arguments.data()));
    return library_.stream_wait.Checked(stream_);
  }

 private:
  absl::Status SetData(const onednn::Object& memory, void* data) const {
    return library_.memory_set_data_handle.Checked(memory.get(), data);
  }

  const Onednn& library_;
  void* const stream_;
  const OnednnDescription description_;
  const onednn::Object primitive_;
  std::string kernel_;
};

absl::StatusOr<OnednnMatrices> MatricesOf(const v1::MatmulShape& shape) {
  OnednnMatrices out;
  switch (shape.data_type()) {
    case v1::DATA_TYPE_FP32:
      out.a.data_type = out.b.data_type = out.c.data_type = onednn::kF32;
      break;
    case v1::DATA_TYPE_BF16:
      out.a.data_type = out.b.data_type = out.c.data_type = onednn::kBf16;
      break;
    case v1::DATA_TYPE_INT8:
      out.a.data_type = onednn::kU8;
      out.b.data_type = onednn::kS8;
      out.c.data_type = onednn::kS32;
      break;
    default:
      return absl::UnimplementedError(absl::StrCat(
          "the probe does not multiply in ", v1::DataType_Name(shape.data_type()), " on a CPU"));
  }
  const auto set = [](OnednnMatrix* matrix, std::array<int64_t, 2> dimensions,
                      std::array<int64_t, 2> strides) {
    std::copy(dimensions.begin(), dimensions.end(), matrix->dimensions);
    std::copy(strides.begin(), strides.end(), matrix->strides);
  };
  set(&out.a, {shape.m(), shape.k()}, {shape.k(), 1});
  set(&out.b, {shape.k(), shape.n()}, {1, shape.k()});
  set(&out.c, {shape.m(), shape.n()}, {shape.n(), 1});
  return out;
}

}  // namespace

absl::StatusOr<Onednn> Onednn::Load(const std::string& path, const CoreSet& cores) {
  SetEnvironment(cores);
  auto symbols = LibrarySymbols::Open("", NamesToTry(path), RTLD_NOW);
  if (!symbols.ok()) {
    return absl::NotFoundError(
        absl::StrCat("oneDNN could not be loaded (", symbols.status().message(), ")"));
  }
  Onednn library = {.symbols = *std::move(symbols)};
  if (!library.get_version) return AllFound(library.symbols);
  const onednn::Version* const found = library.get_version();
  if (found == nullptr || (found->major != 2 && found->major != 3)) {
    return absl::FailedPreconditionError(
        absl::StrCat(library.symbols.library(),
                     " is oneDNN of a version that the probe does not "
                     "know (",
                     found == nullptr ? 0 : found->major, "): install version 2 or 3"));
  }
  SEXTANT_RETURN_IF_ERROR(AllFound(library.symbols));
  library.major_version = found->major;
  library.version = absl::StrCat(found->major, ".", found->minor, ".", found->patch);
  return library;
}

absl::Status OnednnStatus(onednn::Status status, absl::string_view call) {
  switch (status) {
    case 0:
      return absl::OkStatus();
    case 1:
      return absl::ResourceExhaustedError(absl::StrCat(call, ": out of memory"));
    case 2:
      return absl::InternalError(absl::StrCat(call, ": invalid arguments"));
    case 3:
      return absl::UnimplementedError(absl::StrCat(call, ": not implemented"));
    default:
      return absl::InternalError(absl::StrCat(call, ": failed with status ", status));
  }
}

OnednnEngine::OnednnEngine(Onednn library, onednn::Object engine, onednn::Object stream)
    : library_(std::move(library)),
      name_(absl::StrCat("onednn ", library_.version)),
      engine_(std::move(engine)),
      stream_(std::move(stream)) {}

absl::StatusOr<std::unique_ptr<OnednnEngine>> OnednnEngine::Create(const std::string& path,
                                                                   const CoreSet& cores) {
  SEXTANT_ASSIGN_OR_RETURN(Onednn library, Onednn::Load(path, cores));
  void* raw_engine = nullptr;
  SEXTANT_RETURN_IF_ERROR(library.engine_create.Checked(&raw_engine, kCpu, 0));
  onednn::Object engine(raw_engine, library.engine_destroy);
  void* raw_stream = nullptr;
  SEXTANT_RETURN_IF_ERROR(library.stream_create.Checked(&raw_stream, raw_engine, kInOrder));
  onednn::Object stream(raw_stream, library.stream_destroy);
  return absl::WrapUnique(
      new OnednnEngine(std::move(library), std::move(engine), std::move(stream)));
}

absl::StatusOr<std::unique_ptr<PreparedMatmul>> OnednnEngine::Prepare(
    const v1::MatmulShape& shape) {
  SEXTANT_ASSIGN_OR_RETURN(const OnednnMatrices matrices, MatricesOf(shape));
  const auto describe = library_.major_version == 2 ? DescribeForVersion2 : DescribeForVersion3;
  SEXTANT_ASSIGN_OR_RETURN(OnednnDescription description,
                           describe(library_, engine_.get(), matrices));
  void* raw_primitive = nullptr;
  SEXTANT_RETURN_IF_ERROR(
      library_.primitive_create.Checked(&raw_primitive, description.primitive_descriptor.get()));
  onednn::Object primitive(raw_primitive, library_.primitive_destroy);
  return std::make_unique<OnednnMatmul>(library_, stream_.get(), std::move(description),
                                        std::move(primitive));
}

}  // namespace sextant::probe
