// Stands in for libFuzzer where the compiler has none: replay_NAME FOLDER tries every file of the
// folder (seeds.py makes it), and a few changes of each where the target has changes of its own,
// always the same ones.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

#pragma weak LLVMFuzzerCustomMutator

namespace {

constexpr size_t kMaxBytes = 16'384;
constexpr unsigned kChanges = 16;

std::minstd_rand& Random() {
  static std::minstd_rand random(1);
  return random;
}

std::vector<uint8_t> ContentOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Try(const std::filesystem::path& path) {
  const std::vector<uint8_t> content = ContentOf(path);
  LLVMFuzzerTestOneInput(content.data(), content.size());
  if (LLVMFuzzerCustomMutator == nullptr) return;
  for (unsigned seed = 1; seed <= kChanges; ++seed) {
    std::vector<uint8_t> changed = content;
    changed.resize(std::max(kMaxBytes, content.size()));
    changed.resize(LLVMFuzzerCustomMutator(changed.data(), content.size(), changed.size(), seed));
    LLVMFuzzerTestOneInput(changed.data(), changed.size());
  }
}

}  // namespace

size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size) {
  if (size < max_size && (size == 0 || Random()() % 2 == 0)) data[size++] = 'a';
  data[Random()() % size] = static_cast<uint8_t>(Random()());
  return size;
}

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::printf("%s\n", entry.path().filename().c_str());  // the failing one is the last
    std::fflush(stdout);
    Try(entry.path());
    ++count;
  }
  std::printf("%d files\n", count);
  return count > 0 ? 0 : 1;
}
