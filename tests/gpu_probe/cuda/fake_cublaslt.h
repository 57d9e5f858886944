// cuBLASLt on a fake host: it offers scripted algorithms, and takes the time given by the GPU's
// rates. It computes nothing.
#ifndef SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_CUBLASLT_H_
#define SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_CUBLASLT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gpu_probe/cuda/cuda_libraries.h"
#include "tests/gpu_probe/cuda/fake_host.h"

namespace sextant::probe {

// A descriptor or a layout: its arguments, and the attributes set since.
struct FakeDescriptor {
  std::vector<int64_t> made_of = {};
  std::map<int, std::vector<unsigned char>> attributes = {};

  // An attribute of that type; 0 where it was not set, or has another type.
  template <typename Value>
  Value Get(int attribute) const {
    Value value = {};
    const auto found = attributes.find(attribute);
    if (found == attributes.end() || found->second.size() != sizeof(value)) return value;
    __builtin_memcpy(&value, found->second.data(), sizeof(value));
    return value;
  }
};

// One multiplication as the library saw it.
struct FakeMatmulCall {
  FakeDescriptor matmul;
  std::vector<FakeDescriptor> layouts;  // of A, B, C, D in the library's order
  std::vector<cuda::Address> operands;  // A, B, C, D
  std::size_t workspace_bytes = 0;
  uint64_t choice = 0;
};

class FakeCublasLt {
 public:
  explicit FakeCublasLt(FakeHost& host) : host_(host) {}

  // Must not outlive this.
  CublasLt Table();

  std::string version = "13.1.0";
  int create_code = 0;
  // Statuses of choosing and of multiplying, by descriptor: 0 for success.
  std::function<int(const FakeDescriptor& matmul)> choose_code = {};
  std::function<int(const FakeMatmulCall& call)> multiply_code = {};
  // Times of the offered algorithms, relative to the time given by the rates.
  std::vector<double> slowness = {1, 1.1, 0.9, 1.2, 0.5};

  FakeMatmulCall last_call;
  int64_t call_count = 0;
  int64_t live_object_count = 0;

 private:
  void AddDescriptors(CublasLt* table);
  void AddChoices(CublasLt* table);
  double SecondsOf(const FakeMatmulCall& call, const FakeGpu& gpu) const;

  FakeHost& host_;
};

}  // namespace sextant::probe

#endif  // SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_CUBLASLT_H_
