// Functions that a program gets from its own file instead of libraries newer than those of RHEL 9
// and Ubuntu 22.04: glibc 2.34, and libstdc++ of GCC 11 (GLIBCXX_3.4.29). Compiled against newer
// ones, it would start with newer ones alone. Hidden: libraries that it loads find their own.
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>

// The same functions by the names that older libraries have for them, and newer ones keep.
extern "C" {
#ifdef __x86_64__
double SextantOlderHypot(double x, double y);
__asm__(".symver SextantOlderHypot, hypot@GLIBC_2.2.5");
#endif
void SextantOlderWait(std::condition_variable* condition, std::unique_lock<std::mutex>* lock);
__asm__(
    ".symver SextantOlderWait, "
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");

#ifdef __x86_64__
// glibc 2.35 has one that no longer sets errno; the result is as exact.
__attribute__((visibility("hidden"))) double SextantHypot(double x, double y) __asm__("hypot");
double SextantHypot(double x, double y) { return SextantOlderHypot(x, y); }
#endif

// GCC 12's is not declared noexcept, and does the same.
__attribute__((visibility("hidden"))) void
SextantWait(std::condition_variable* condition, std::unique_lock<std::mutex>* lock) __asm__(
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");
void SextantWait(std::condition_variable* condition, std::unique_lock<std::mutex>* lock) {
  SextantOlderWait(condition, lock);
}

// _GLIBCXX_ASSERTIONS calls it from GCC 12 on.
[[noreturn]] __attribute__((visibility("hidden"))) void SextantAssertFail(
    const char* file, int line, const char* function,
    const char* condition) __asm__("_ZSt21__glibcxx_assert_failPKciS0_S0_");
void SextantAssertFail(const char* file, int line, const char* function, const char* condition) {
  std::fprintf(stderr, "%s:%d: %s: Assertion '%s' failed.\n", file, line, function, condition);
  std::abort();
}
}
