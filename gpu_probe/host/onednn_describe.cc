#include <array>
#include <cstddef>
#include <utility>

#include "engine/base/status_macros.h"
#include "gpu_probe/host/onednn_matmul.h"

namespace sextant {
namespace {

// Version 2's structures, as bytes that only the library reads: it fills dnnl_memory_desc_t
// (696 bytes in 2.6) and dnnl_matmul_desc_t (2,800), which here have room to spare.
struct alignas(64) MemoryDescriptor2 {
  std::array<std::byte, 4096> bytes = {};
};
struct alignas(64) MatmulDescriptor2 {
  std::array<std::byte, 16384> bytes = {};
};

absl::StatusOr<onednn::Object> MemoryFor(const OnednnLibrary& library, void* engine,
                                         const void* descriptor) {
  void* memory = nullptr;
  SEXTANT_RETURN_IF_ERROR(
      OnednnStatus(library.functions().memory_create(&memory, descriptor, engine, nullptr),
                   "dnnl_memory_create"));
  return onednn::Object(memory, library.functions().memory_destroy);
}

// The three operands' descriptors, by address.
struct Descriptors {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
};

absl::StatusOr<OnednnDescription> WithMemories(const OnednnLibrary& library, void* engine,
                                               onednn::Object primitive_descriptor,
                                               const Descriptors& descriptors) {
  SEXTANT_ASSIGN_OR_RETURN(auto a, MemoryFor(library, engine, descriptors.a));
  SEXTANT_ASSIGN_OR_RETURN(auto b, MemoryFor(library, engine, descriptors.b));
  SEXTANT_ASSIGN_OR_RETURN(auto c, MemoryFor(library, engine, descriptors.c));
  return OnednnDescription{std::move(primitive_descriptor), std::move(a), std::move(b),
                           std::move(c)};
}

absl::StatusOr<onednn::Object> Descriptor3(const OnednnLibrary& library,
                                           const OnednnMatrix& matrix) {
  onednn::Status (*create)(void**, int, const int64_t*, int, const int64_t*) = nullptr;
  onednn::Deleter destroy = nullptr;
  SEXTANT_RETURN_IF_ERROR(library.Find("dnnl_memory_desc_create_with_strides", &create));
  SEXTANT_RETURN_IF_ERROR(library.Find("dnnl_memory_desc_destroy", &destroy));
  void* descriptor = nullptr;
  SEXTANT_RETURN_IF_ERROR(
      OnednnStatus(create(&descriptor, 2, matrix.dimensions, matrix.data_type, matrix.strides),
                   "dnnl_memory_desc_create_with_strides"));
  return onednn::Object(descriptor, destroy);
}

}  // namespace

absl::StatusOr<OnednnDescription> DescribeForVersion2(const OnednnLibrary& library, void* engine,
                                                      const OnednnMatrices& matrices) {
  onednn::Status (*init)(void*, int, const int64_t*, int, const int64_t*) = nullptr;
  onednn::Status (*matmul_init)(void*, const void*, const void*, const void*, const void*) =
      nullptr;
  onednn::Status (*create)(void**, const void*, const void*, void*, const void*) = nullptr;
  SEXTANT_RETURN_IF_ERROR(library.Find("dnnl_memory_desc_init_by_strides", &init));
  SEXTANT_RETURN_IF_ERROR(library.Find("dnnl_matmul_desc_init", &matmul_init));
  SEXTANT_RETURN_IF_ERROR(library.Find("dnnl_primitive_desc_create", &create));

  std::array<MemoryDescriptor2, 3> memories;
  const std::array<const OnednnMatrix*, 3> all = {&matrices.a, &matrices.b, &matrices.c};
  for (size_t i = 0; i < all.size(); ++i) {
    SEXTANT_RETURN_IF_ERROR(
        OnednnStatus(init(&memories[i], 2, all[i]->dimensions, all[i]->data_type, all[i]->strides),
                     "dnnl_memory_desc_init_by_strides"));
  }
  MatmulDescriptor2 matmul;
  SEXTANT_RETURN_IF_ERROR(
      OnednnStatus(matmul_init(&matmul, &memories[0], &memories[1], nullptr, &memories[2]),
                   "dnnl_matmul_desc_init"));
  void* created = nullptr;
  SEXTANT_RETURN_IF_ERROR(OnednnStatus(create(&created, &matmul, nullptr, engine, nullptr),
                                       "dnnl_primitive_desc_create"));
  onednn::Object descriptor(created, library.functions().primitive_desc_destroy);
  return WithMemories(library, engine, std::move(descriptor),
                      {&memories[0], &memories[1], &memories[2]});
}

absl::StatusOr<OnednnDescription> DescribeForVersion3(const OnednnLibrary& library, void* engine,
                                                      const OnednnMatrices& matrices) {
  onednn::Status (*create)(void**, void*, const void*, const void*, const void*, const void*,
                           const void*) = nullptr;
  SEXTANT_RETURN_IF_ERROR(library.Find("dnnl_matmul_primitive_desc_create", &create));
  SEXTANT_ASSIGN_OR_RETURN(const auto a, Descriptor3(library, matrices.a));
  SEXTANT_ASSIGN_OR_RETURN(const auto b, Descriptor3(library, matrices.b));
  SEXTANT_ASSIGN_OR_RETURN(const auto c, Descriptor3(library, matrices.c));
  void* created = nullptr;
  SEXTANT_RETURN_IF_ERROR(
      OnednnStatus(create(&created, engine, a.get(), b.get(), nullptr, c.get(), nullptr),
                   "dnnl_matmul_primitive_desc_create"));
  onednn::Object descriptor(created, library.functions().primitive_desc_destroy);
  return WithMemories(library, engine, std::move(descriptor), {a.get(), b.get(), c.get()});
}

}  // namespace sextant
