#include "gpu_probe/host/onednn_matmul.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

// Of dnnl_engine_kind_t, dnnl_stream_flags_t, dnnl_query_t and the DNNL_ARG_ numbers.
constexpr int kCpu = 1;
constexpr unsigned kInOrder = 1;
constexpr int kImplementationName = 8;
constexpr int kSource = 1;
constexpr int kDestination = 17;
constexpr int kWeights = 33;

class OnednnMatmul : public PreparedMatmul {
 public:
  // `stream` and the library must outlive it.
  OnednnMatmul(const OnednnFunctions& functions, void* stream, OnednnDescription description,
               onednn::Object primitive)
      : functions_(functions),
        stream_(stream),
        description_(std::move(description)),
        primitive_(std::move(primitive)) {
    const char* name = nullptr;
    const onednn::Status queried = functions.primitive_desc_query(
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
        OnednnStatus(functions_.primitive_execute(primitive_.get(), stream_, 3, arguments.data()),
                     "dnnl_primitive_execute"));
    return OnednnStatus(functions_.stream_wait(stream_), "dnnl_stream_wait");
  }

 private:
  absl::Status SetData(const onednn::Object& memory, void* data) const {
    return OnednnStatus(functions_.memory_set_data_handle(memory.get(), data),
                        "dnnl_memory_set_data_handle");
  }

  const OnednnFunctions functions_;
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

OnednnEngine::OnednnEngine(OnednnLibrary library, onednn::Object engine, onednn::Object stream)
    : library_(std::move(library)),
      name_(absl::StrCat("onednn ", library_.version())),
      engine_(std::move(engine)),
      stream_(std::move(stream)) {}

absl::StatusOr<std::unique_ptr<OnednnEngine>> OnednnEngine::Create(const std::string& path,
                                                                   const CoreSet& cores) {
  SEXTANT_ASSIGN_OR_RETURN(OnednnLibrary library, OnednnLibrary::Load(path, cores));
  const OnednnFunctions& functions = library.functions();
  void* raw_engine = nullptr;
  SEXTANT_RETURN_IF_ERROR(
      OnednnStatus(functions.engine_create(&raw_engine, kCpu, 0), "dnnl_engine_create"));
  onednn::Object engine(raw_engine, functions.engine_destroy);
  void* raw_stream = nullptr;
  SEXTANT_RETURN_IF_ERROR(OnednnStatus(functions.stream_create(&raw_stream, raw_engine, kInOrder),
                                       "dnnl_stream_create"));
  onednn::Object stream(raw_stream, functions.stream_destroy);
  return absl::WrapUnique(
      new OnednnEngine(std::move(library), std::move(engine), std::move(stream)));
}

absl::StatusOr<std::unique_ptr<PreparedMatmul>> OnednnEngine::Prepare(
    const v1::MatmulShape& shape) {
  SEXTANT_ASSIGN_OR_RETURN(const OnednnMatrices matrices, MatricesOf(shape));
  const auto describe = library_.major_version() == 2 ? DescribeForVersion2 : DescribeForVersion3;
  SEXTANT_ASSIGN_OR_RETURN(OnednnDescription description,
                           describe(library_, engine_.get(), matrices));
  const OnednnFunctions& functions = library_.functions();
  void* raw_primitive = nullptr;
  SEXTANT_RETURN_IF_ERROR(OnednnStatus(
      functions.primitive_create(&raw_primitive, description.primitive_descriptor.get()),
      "dnnl_primitive_create"));
  onednn::Object primitive(raw_primitive, functions.primitive_destroy);
  return std::make_unique<OnednnMatmul>(functions, stream_.get(), std::move(description),
                                        std::move(primitive));
}

}  // namespace sextant
