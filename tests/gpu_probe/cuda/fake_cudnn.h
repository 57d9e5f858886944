// cuDNN on a fake host: accepts graphs as the library does, and runs them in the time of their
// products of matrices at the GPU's rate. Computes nothing.
#ifndef SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_CUDNN_H_
#define SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_CUDNN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gpu_probe/cuda/cuda_libraries.h"
#include "tests/gpu_probe/cuda/fake_host.h"

namespace sextant::probe {

// Must outlive its tables.
class FakeCudnn {
 public:
  // A descriptor. Attributes are those of cudnn_numbers.h.
  struct Object {
    int kind = 0;
    bool finished = false;
    std::map<int, std::vector<int64_t>> numbers = {};
    std::map<int, std::vector<Object*>> objects = {};
    std::map<int, std::vector<void*>> pointers = {};
    bool compiled = false;  // for a cache: it has a kernel
  };

  explicit FakeCudnn(FakeHost& host) : host_(host) {}
  Cudnn Table();

  std::size_t version_number = 91900;
  std::string version = "9.19.0";
  int create_code = 0;                        // the status of cudnnCreate
  int execute_code = 0;                       // the status of cudnnBackendExecute
  bool dynamic_shapes = true;                 // it has kernels for graphs of dynamic shapes
  std::set<int64_t> unknown_head_sizes = {};  // without kernels
  int64_t workspace_bytes = 256;
  std::function<void()> on_compile = {};  // called for each compilation of a kernel

  int64_t live_object_count() const { return live_object_count_; }
  int64_t compiled_count() const { return compiled_count_; }

 private:
  struct Handle {
    cuda::Stream stream = nullptr;
  };

  int Fail(int code, const std::string& why);
  int Set(Object* object, int attribute, int type, int64_t count, const void* elements);
  int Get(Object* object, int attribute, int64_t room, int64_t* count, void* elements);
  int Finalize(Object* object);
  int FinalizePlan(Object* plan);
  void Compile();
  int Execute(Handle* handle, Object* plan, Object* pack);
  const std::vector<Object*>& OperationsOf(const Object* graph) const;
  bool HasKernelFor(const Object* graph) const;
  // The ids of all operations' tensors that are not virtual.
  std::set<int64_t> OperandsOf(const Object* graph) const;
  double FlopsOf(const Object* graph) const;

  FakeHost& host_;
  std::string last_error_;
  int64_t live_object_count_ = 0;  // descriptors and handles
  int64_t compiled_count_ = 0;
};

}  // namespace sextant::probe

#endif  // SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_CUDNN_H_
