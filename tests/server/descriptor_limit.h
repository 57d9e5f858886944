// A process that runs out of file descriptors.
#ifndef SEXTANT_TESTS_SERVER_DESCRIPTOR_LIMIT_H_
#define SEXTANT_TESTS_SERVER_DESCRIPTOR_LIMIT_H_

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace sextant::server {

// The number that the next opened descriptor gets.
inline rlim_t FirstFreeDescriptor() {
  const int free = dup(STDERR_FILENO);
  EXPECT_GE(free, 0);
  close(free);
  return static_cast<rlim_t>(free);
}

// Descriptors from `count` on can't be opened while it lives. Make no assertions meanwhile:
// sanitizers open descriptors for their own type checks.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t count) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit lowered = {.rlim_cur = count, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &lowered), 0);
  }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;
  ~DescriptorLimit() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }

 private:
  rlimit before_ = {};
};

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_DESCRIPTOR_LIMIT_H_
