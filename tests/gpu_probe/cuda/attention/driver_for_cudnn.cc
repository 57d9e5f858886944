// Enough of libcuda.so.1 for cuDNN to compile kernels for a GPU that is not there: it loads what
// was compiled and finds it. No device is counted, and nothing can be run.
namespace {

constexpr int kNoDevice = 100;

int Give(void** out, void* object) {
  *out = object;
  return 0;
}

}  // namespace

extern "C" {
int cuInit(unsigned) { return kNoDevice; }
int cuDeviceGetCount(int* count) {
  *count = 0;
  return kNoDevice;
}
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cuGetErrorName(int, const char** name) {
  *name = "";
  return 0;
}
int cuGetErrorString(int, const char** text) {
  *text = "";
  return 0;
}
int cuLibraryLoadData(void** library) { return Give(library, library); }
int cuLibraryGetKernel(void** kernel, void* library, const char*) { return Give(kernel, library); }
int cuKernelGetFunction(void** function, void* kernel) { return Give(function, kernel); }
int cuLibraryUnload(void*) { return 0; }
int cuFuncSetAttribute(void*, int, int) { return 0; }
int cuKernelSetAttribute(int, int, void*, int) { return 0; }

// Looked for as it loads, never called without a GPU.
#define SEXTANT_NO_DEVICE(name) \
  int name() { return kNoDevice; }
SEXTANT_NO_DEVICE(cuCtxGetCurrent)
SEXTANT_NO_DEVICE(cuCtxGetLimit)
SEXTANT_NO_DEVICE(cuCtxPopCurrent)
SEXTANT_NO_DEVICE(cuCtxPushCurrent)
SEXTANT_NO_DEVICE(cuDeviceGet)
SEXTANT_NO_DEVICE(cuKernelGetAttribute)
SEXTANT_NO_DEVICE(cuLaunchCooperativeKernel)
SEXTANT_NO_DEVICE(cuLaunchKernel)
SEXTANT_NO_DEVICE(cuLaunchKernelEx)
SEXTANT_NO_DEVICE(cuLibraryLoadFromFile)
SEXTANT_NO_DEVICE(cuLinkAddData)
SEXTANT_NO_DEVICE(cuLinkComplete)
SEXTANT_NO_DEVICE(cuLinkCreate)
SEXTANT_NO_DEVICE(cuLinkDestroy)
SEXTANT_NO_DEVICE(cuOccupancyMaxPotentialClusterSize)
SEXTANT_NO_DEVICE(cuStreamGetCtx)
#undef SEXTANT_NO_DEVICE
}
