// Matrix multiplication by oneDNN.
#ifndef SEXTANT_GPU_PROBE_HOST_ONEDNN_MATMUL_H_
#define SEXTANT_GPU_PROBE_HOST_ONEDNN_MATMUL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gpu_probe/host/host_facts.h"
#include "gpu_probe/host/matmul_engine.h"
#include "gpu_probe/host/onednn_library.h"

namespace sextant::probe {

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

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_ONEDNN_MATMUL_H_
