// libcublasLt.so.13 on the host of scripted_host.h, under the library's own names.
#include "tests/gpu_probe/cuda/fake_cublaslt.h"
#include "tests/gpu_probe/cuda/scripted_host.h"

namespace sextant::probe {
namespace {

const CublasLt& ScriptedCublasLt() {
  static FakeCublasLt* const fake = new FakeCublasLt(ScriptedHost());
  static const CublasLt* const table = new CublasLt(fake->Table());
  return *table;
}

}  // namespace
}  // namespace sextant::probe

using sextant::probe::ScriptedCublasLt;

extern "C" {
std::size_t cublasLtGetVersion() { return 130100; }
int cublasLtCreate(void** a) { return ScriptedCublasLt().create(a); }
int cublasLtDestroy(void* a) { return ScriptedCublasLt().destroy(a); }
int cublasLtMatmulDescCreate(void** a, int b, int c) {
  return ScriptedCublasLt().matmul_create(a, b, c);
}
int cublasLtMatmulDescSetAttribute(void* a, int b, const void* c, std::size_t d) {
  return ScriptedCublasLt().matmul_set(a, b, c, d);
}
int cublasLtMatmulDescDestroy(void* a) { return ScriptedCublasLt().matmul_destroy(a); }
int cublasLtMatrixLayoutCreate(void** a, int b, uint64_t c, uint64_t d, int64_t e) {
  return ScriptedCublasLt().layout_create(a, b, c, d, e);
}
int cublasLtMatrixLayoutSetAttribute(void* a, int b, const void* c, std::size_t d) {
  return ScriptedCublasLt().layout_set(a, b, c, d);
}
int cublasLtMatrixLayoutDestroy(void* a) { return ScriptedCublasLt().layout_destroy(a); }
int cublasLtMatmulPreferenceCreate(void** a) { return ScriptedCublasLt().preference_create(a); }
int cublasLtMatmulPreferenceSetAttribute(void* a, int b, const void* c, std::size_t d) {
  return ScriptedCublasLt().preference_set(a, b, c, d);
}
int cublasLtMatmulPreferenceDestroy(void* a) { return ScriptedCublasLt().preference_destroy(a); }
int cublasLtMatmulAlgoGetHeuristic(void* a, void* b, void* c, void* d, void* e, void* f, void* g,
                                   int h, sextant::probe::CublasLtChoice* i, int* j) {
  return ScriptedCublasLt().choose(a, b, c, d, e, f, g, h, i, j);
}
int cublasLtMatmulAlgoConfigGetAttribute(const uint64_t* a, int b, void* c, std::size_t d,
                                         std::size_t* e) {
  return ScriptedCublasLt().describe(a, b, c, d, e);
}
int cublasLtMatmul(void* a, void* b, const void* c, const void* d, void* e, const void* f, void* g,
                   const void* h, const void* i, void* j, void* k, void* l, const uint64_t* m,
                   void* n, std::size_t o, void* p) {
  return ScriptedCublasLt().multiply(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
}
}
