#include "gpu_probe/host/matmul_engine.h"

namespace sextant {

int64_t InputElementBytes(v1::DataType type) {
  switch (type) {
    case v1::DATA_TYPE_INT8:
      return 1;
    case v1::DATA_TYPE_BF16:
      return 2;
    default:
      return 4;
  }
}

int64_t OutputElementBytes(v1::DataType type) { return type == v1::DATA_TYPE_BF16 ? 2 : 4; }

}  // namespace sextant
