// Matrix multiplication by oneDNN.
#ifndef SEXTANT_GPU_PROBE_HOST_ONEDNN_MATMUL_H_
#define SEXTANT_GPU_PROBE_HOST_ONEDNN_MATMUL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gpu_probe/host/matmul_engine.h"
#include "gpu_probe/host/onednn_library.h"
#include "gpu_probe/host/usable_cores.h"

namespace sextant {

// One operand's element type, and its size and the distance between elements by dimension.
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

// What differs between versions: structures in version 2, objects in version 3.
//
// Errors: kUnimplemented where the library has no kernel for it.
absl::StatusOr<OnednnDescription> DescribeForVersion2(const OnednnLibrary& library, void* engine,
                                                      const OnednnMatrices& matrices);
absl::StatusOr<OnednnDescription> DescribeForVersion3(const OnednnLibrary& library, void* engine,
                                                      const OnednnMatrices& matrices);

class OnednnEngine : public MatmulEngine {
 public:
  // Errors: OnednnLibrary::Load()'s, and kInternal where the library refuses to start.
  static absl::StatusOr<std::unique_ptr<OnednnEngine>> Create(const std::string& path,
                                                              const CoreSet& cores);

  const std::string& name() const override { return name_; }
  absl::StatusOr<std::unique_ptr<PreparedMatmul>> Prepare(const v1::MatmulShape& shape) override;

 private:
  OnednnEngine(OnednnLibrary library, onednn::Object engine, onednn::Object stream);

  const OnednnLibrary library_;
  const std::string name_;
  const onednn::Object engine_;
  const onednn::Object stream_;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_ONEDNN_MATMUL_H_
