#include "tests/gpu_probe/cuda/fake_cublaslt.h"

#include <algorithm>

namespace sextant::probe {
namespace {

constexpr int kInvalid = 7;

// Fixed cost of a kernel.
constexpr double kFloorSeconds = 2e-6;

FakeDescriptor& DescriptorAt(void* object) { return *static_cast<FakeDescriptor*>(object); }

int SetAttribute(void* object, int attribute, const void* value, std::size_t size) {
  if (value == nullptr || size == 0) return kInvalid;
  const auto* const bytes = static_cast<const unsigned char*>(value);
  DescriptorAt(object).attributes[attribute] = {bytes, bytes + size};
  return 0;
}

// FLOP/s relative to bf16's, by the types of the elements and of sums.
double RelativeRate(int64_t input_type, int64_t compute_type) {
  if (compute_type == 77) return 0.5;  // tf32
  if (input_type == 28) return 2;      // e4m3
  if (input_type == 3) return 2;       // int8
  if (input_type == 33) return 4;      // e2m1
  if (input_type <= 1) return 0.07;    // fp32, fp64
  return 1;
}

}  // namespace

double FakeCublasLt::SecondsOf(const FakeMatmulCall& call, const FakeGpu& gpu) const {
  const std::vector<int64_t>& c = call.layouts[2].made_of;  // type, rows, columns, leading
  const std::vector<int64_t>& a = call.layouts[0].made_of;
  const bool transposed = call.matmul.Get<int>(3) == 1;
  const auto batches = std::max<int>(call.layouts[2].Get<int32_t>(5), 1);
  const double operations = 2.0 * batches * static_cast<double>(c[1]) * static_cast<double>(c[2]) *
                            static_cast<double>(transposed ? a[1] : a[2]);
  const double rate = gpu.bf16_flops_per_second * RelativeRate(a[0], call.matmul.made_of[0]);
  return (kFloorSeconds + operations / rate) *
         slowness[static_cast<std::size_t>(call.choice) % slowness.size()];
}

void FakeCublasLt::AddDescriptors(CublasLt* table) {
  const auto make = [this](void** object, std::vector<int64_t> made_of) {
    *object = new FakeDescriptor{.made_of = std::move(made_of)};
    ++live_object_count;
    return 0;
  };
  const auto drop = [this](void* object) {
    delete static_cast<FakeDescriptor*>(object);
    --live_object_count;
    return 0;
  };
  table->create = [=, this](void** handle) {
    return create_code != 0 ? create_code : make(handle, {});
  };
  table->destroy = drop;
  table->matmul_create = [=](void** object, int compute, int scale) {
    return make(object, {compute, scale});
  };
  table->matmul_set = SetAttribute;
  table->matmul_destroy = drop;
  table->layout_create = [=](void** object, int type, uint64_t rows, uint64_t columns,
                             int64_t leading) {
    return make(object, {type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), leading});
  };
  table->layout_set = SetAttribute;
  table->layout_destroy = drop;
  table->preference_create = [=](void** object) { return make(object, {}); };
  table->preference_set = SetAttribute;
  table->preference_destroy = drop;
}

void FakeCublasLt::AddChoices(CublasLt* table) {
  table->choose = [this](void*, void* matmul, void*, void*, void*, void*, void* preference,
                         int wanted, CublasLtChoice* choices, int* found) {
    *found = 0;
    const int code = choose_code ? choose_code(DescriptorAt(matmul)) : 0;
    if (code != 0) return code;
    *found = std::min(wanted, static_cast<int>(slowness.size()));
    for (int i = 0; i < *found; ++i) {
      choices[i] = {.algorithm = {static_cast<uint64_t>(i)},
                    .workspace_bytes = DescriptorAt(preference).Get<uint64_t>(1),
                    .status = 0,
                    .wave_count = 3.9F};
    }
    return 0;
  };
  table->describe = [](const uint64_t* algorithm, int attribute, void* value, std::size_t size,
                       std::size_t* written) {
    // Tile 128x256 and the next; 64x4; no split; cluster 2x1.
    const std::map<int, std::pair<uint32_t, std::size_t>> told = {
        {1, {23 + static_cast<uint32_t>(algorithm[0]), 4}}, {2, {1, 4}}, {6, {16, 4}}, {8, {3, 2}}};
    const auto one = told.find(attribute);
    if (one == told.end() || size != one->second.second) return kInvalid;
    __builtin_memcpy(value, &one->second.first, size);
    *written = size;
    return 0;
  };
  table->multiply = [this](void*, void* matmul, const void*, const void* a, void* a_layout,
                           const void* b, void* b_layout, const void*, const void* c,
                           void* c_layout, void* d, void* d_layout, const uint64_t* algorithm,
                           void*, std::size_t workspace_bytes, void* stream) {
    const auto address = [](const void* memory) { return reinterpret_cast<cuda::Address>(memory); };
    last_call = {.matmul = DescriptorAt(matmul),
                 .layouts = {DescriptorAt(a_layout), DescriptorAt(b_layout), DescriptorAt(c_layout),
                             DescriptorAt(d_layout)},
                 .operands = {address(a), address(b), address(c), address(d)},
                 .workspace_bytes = workspace_bytes,
                 .choice = algorithm[0]};
    ++call_count;
    if (const int code = multiply_code ? multiply_code(last_call) : 0; code != 0) return code;
    const double seconds = SecondsOf(last_call, host_.cuda.GpuOf(stream));
    const int spent = host_.cuda.Queue(
        stream, [this, stream, seconds] { return host_.cuda.Spend(stream, seconds); });
    constexpr int kExecutionFailed = 13;
    return spent == 0 ? 0 : kExecutionFailed;
  };
}

CublasLt FakeCublasLt::Table() {
  CublasLt table;
  table.version = version;
  AddDescriptors(&table);
  AddChoices(&table);
  return table;
}

}  // namespace sextant::probe
