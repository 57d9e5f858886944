// Random data, generated in place, since copying it would take longer: arrays of normal numbers,
// and operands of multiplications with their scales.
#include "gpu_probe/cuda/kernels/matmul_formats.cuh"
#include "gpu_probe/cuda/kernels/places.cuh"
#include "gpu_probe/cuda/kernels/random.cuh"

// out[i] = the normal number of place seed + i.
extern "C" __global__ void fill_normal_fp32(float* out, unsigned long long count,
                                            unsigned long long seed) {
  for (unsigned long long i = FirstPlace(); i < count; i += Stride()) {
    out[i] = RandomNormal(seed + i);
  }
}

extern "C" __global__ void fill_normal_bf16(unsigned short* out, unsigned long long count,
                                            unsigned long long seed) {
  for (unsigned long long i = FirstPlace(); i < count; i += Stride()) {
    out[i] = ToBf16(RandomNormal(seed + i));
  }
}

// A whole number from -4 to 4, all equally frequent.
static __device__ float SmallInteger(unsigned long long place) {
  return (float)(int)(RandomBits(place) % 9) - 4.0f;
}

static __device__ float NumberOf(unsigned long long place, int integers, float deviation) {
  return integers != 0 ? SmallInteger(place) : RandomNormal(place) * deviation;
}

static __device__ float Rounded(float value, float most) {
  return fminf(fmaxf(rintf(value), -most), most);
}

// out[i] = a number by place seed + i, rounded to `format`: small and whole, or normally
// distributed with mean 0 and that standard deviation. `count` elements; an even number for 4-bit
// formats.
extern "C" __global__ void fill_matrix(void* out, unsigned long long count, unsigned long long seed,
                                       int format, int integers, float deviation) {
  const long long words = (long long)(format == kNvE2m1Elements ? count / 2 : count);
  for (long long i = FirstOfGrid(); i < words; i += GridStep()) {
    if (format == kNvE2m1Elements) {
      const unsigned low = ToE2m1(NumberOf(seed + 2 * i, integers, deviation));
      const unsigned high = ToE2m1(NumberOf(seed + 2 * i + 1, integers, deviation));
      ((unsigned char*)out)[i] = (unsigned char)(low | high << 4);
      continue;
    }
    const float value = NumberOf(seed + i, integers, deviation);
    switch (format) {
      case kFp64Elements:
        ((double*)out)[i] = value;
        break;
      case kFp32Elements:
        ((float*)out)[i] = value;
        break;
      case kTf32Elements:
        ((float*)out)[i] = ToTf32(value);
        break;
      case kFp16Elements:
        ((unsigned short*)out)[i] = ToFp16(value);
        break;
      case kBf16Elements:
        ((unsigned short*)out)[i] = ToBf16(value);
        break;
      case kInt8Elements:
        ((signed char*)out)[i] = (signed char)Rounded(value, 127.0f);
        break;
      default:
        ((unsigned char*)out)[i] = ToE4m3(value);
    }
  }
}

// Random bytes from `lowest` on, `kinds` different ones: scales of blocks.
extern "C" __global__ void fill_scales(unsigned char* out, unsigned long long count,
                                       unsigned long long seed, int lowest, int kinds) {
  for (long long i = FirstOfGrid(); i < (long long)count; i += GridStep()) {
    out[i] = (unsigned char)(lowest + (int)(RandomBits(seed + i) % kinds));
  }
}
