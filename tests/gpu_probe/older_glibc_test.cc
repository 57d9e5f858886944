// The program's own definitions of newer glibc's functions, in a program that is linked as the
// probe is.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace sextant::probe {
namespace {

#if __GLIBC_PREREQ(2, 36)

using FindObject = int (*)(void*, dl_find_object*);

const void* AddressOf(int (*function)(const void*, const void*)) {
  return reinterpret_cast<const void*>(function);
}

int ThrowingOrder(const void*, const void*) { throw std::out_of_range("no order"); }

TEST(FindObjectTest, IsTheProgramsOwnAndHiddenFromLibraries) {
  void* const glibcs = dlsym(RTLD_DEFAULT, "_dl_find_object");
  ASSERT_NE(glibcs, nullptr);
  EXPECT_NE(glibcs, reinterpret_cast<void*>(&_dl_find_object));
  Dl_info home = {};
  ASSERT_NE(dladdr(glibcs, &home), 0);
  EXPECT_NE(std::string(home.dli_fname).find("/libc.so"), std::string::npos) << home.dli_fname;
  EXPECT_NE(dlsym(RTLD_DEFAULT, "arc4random"), reinterpret_cast<void*>(&arc4random));
}

TEST(FindObjectTest, FindsAsGlibcDoes) {
  const auto glibcs = reinterpret_cast<FindObject>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
  ASSERT_NE(glibcs, nullptr);
  void* const library = dlopen("libm.so.6", RTLD_NOW);
  ASSERT_NE(library, nullptr);
  int on_stack = 0;
  const std::vector<int> on_heap(1);
  const void* const in_objects[] = {AddressOf(ThrowingOrder), dlsym(library, "cos"),
                                    dlsym(RTLD_DEFAULT, "qsort"),
                                    dlsym(RTLD_DEFAULT, "_dl_find_object")};
  for (const void* address : in_objects) {
    dl_find_object ours = {}, theirs = {};
    ASSERT_EQ(glibcs(const_cast<void*>(address), &theirs), 0);
    ASSERT_EQ(_dl_find_object(const_cast<void*>(address), &ours), 0);
    EXPECT_EQ(ours.dlfo_flags, theirs.dlfo_flags);
    EXPECT_EQ(ours.dlfo_map_start, theirs.dlfo_map_start);
    EXPECT_EQ(ours.dlfo_map_end, theirs.dlfo_map_end);
    EXPECT_EQ(ours.dlfo_eh_frame, theirs.dlfo_eh_frame);
  }
  for (const void* address : std::vector<const void*>{&on_stack, on_heap.data(), nullptr}) {
    dl_find_object ours = {}, theirs = {};
    EXPECT_NE(glibcs(const_cast<void*>(address), &theirs), 0);
    EXPECT_NE(_dl_find_object(const_cast<void*>(address), &ours), 0);
  }
}

TEST(FindObjectTest, ExceptionsAreCaughtAcrossFramesOfTheProgramAndOfLibraries) {
  EXPECT_THROW(std::stoi("none"), std::invalid_argument);
  // libc's frames are between the throw and the catch, and qsort() has a table for the unwinder.
  int two[] = {2, 1};
  EXPECT_THROW(std::qsort(two, 2, sizeof(int), ThrowingOrder), std::out_of_range);
}

TEST(Arc4RandomTest, EachBitIsRandom) {
  constexpr int kDraws = 1024;
  std::random_device device;
  for (const bool by_device : {false, true}) {
    std::vector<int> ones(32);
    for (int i = 0; i < kDraws; ++i) {
      const uint32_t value = by_device ? device() : arc4random();
      for (size_t bit = 0; bit < ones.size(); ++bit) ones[bit] += value >> bit & 1;
    }
    // Eight standard deviations (16 each) from the mean of a fair coin.
    for (const int count : ones) EXPECT_NEAR(count, kDraws / 2, 8 * 16);
  }
}

#else
TEST(OlderGlibcTest, NothingIsMissing) { GTEST_SKIP() << "built with glibc 2.35 or older"; }
#endif

}  // namespace
}  // namespace sextant::probe
