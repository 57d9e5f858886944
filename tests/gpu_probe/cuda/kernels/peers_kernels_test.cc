// The kernels of peers.cu, on a processor.
#include "tests/gpu_probe/cuda/kernels/emulation.h"
// After what it stands on.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "gpu_probe/cuda/kernels/peers.cu"

namespace sextant::probe {
namespace {

using Vectors = std::vector<uint4>;

// Which peers.cu has no use for.
[[maybe_unused]] constexpr auto kNormal = &RandomNormal;

Vectors DataOf(unsigned rank, size_t count) {
  Vectors out(count, uint4{~0u, ~0u, ~0u, ~0u});
  Emulate(fill_peer_data, 2, 8, out.data(), out.size(), rank);
  return out;
}

std::vector<float> NumbersOf(const Vectors& vectors) {
  std::vector<float> out;
  for (const uint4& v : vectors) {
    for (const unsigned pair : {v.x, v.y, v.z, v.w}) {
      out.push_back(FromBf16(static_cast<unsigned short>(pair)));
      out.push_back(FromBf16(static_cast<unsigned short>(pair >> 16)));
    }
  }
  return out;
}

// The result of a kernel that adds in bf16, rank by rank.
Vectors SumOf(const std::vector<Vectors>& all) {
  Vectors out = all.front();
  for (size_t i = 0; i < out.size(); ++i) {
    unsigned* const words = &out[i].x;
    for (size_t rank = 1; rank < all.size(); ++rank) {
      const unsigned* const more = &all[rank][i].x;
      for (int w = 0; w < 4; ++w) {
        unsigned sum = 0;
        for (const int shift : {0, 16}) {
          const float a = FromBf16(static_cast<unsigned short>(words[w] >> shift));
          const float b = FromBf16(static_cast<unsigned short>(more[w] >> shift));
          sum |= static_cast<unsigned>(ToBf16(a + b)) << shift;
        }
        words[w] = sum;
      }
    }
  }
  return out;
}

Report SumReport(const Vectors& got, unsigned long long first, unsigned rank_count) {
  return ReportOf(check_peer_sum, 2, 8, got.data(), got.size(), first, rank_count);
}

Report PartsReport(const Vectors& got, unsigned long long part, unsigned long long first,
                   unsigned first_rank) {
  return ReportOf(check_peer_parts, 3, 4, got.data(), got.size(), part, first, first_rank);
}

TEST(PeersKernelsTest, DataAreSmallIntegersThatDifferFromRankToRank) {
  const std::vector<float> numbers = NumbersOf(DataOf(5, 300));
  EXPECT_EQ(std::set<float>(numbers.begin(), numbers.end()),
            (std::set<float>{-3, -2, -1, 0, 1, 2, 3, 4}));
  EXPECT_NE(NumbersOf(DataOf(6, 300)), numbers);
}

TEST(PeersKernelsTest, SumsOf64RanksAreExactInBf16) {
  constexpr unsigned kRankCount = 64;
  std::vector<Vectors> all;
  for (unsigned rank = 0; rank < kRankCount; ++rank) all.push_back(DataOf(rank, 33));
  Vectors sum = SumOf(all);
  EXPECT_EQ(SumReport(sum, 0, kRankCount).wrong_count, 0u);
  // A rank that was left out, and one bit of one number.
  EXPECT_GT(SumReport(sum, 0, kRankCount - 1).wrong_count, 0u);
  sum[17].z ^= 1u << 16;
  const Report wrong = SumReport(sum, 0, kRankCount);
  EXPECT_EQ(wrong.wrong_count, 1u);
  EXPECT_EQ(wrong.first_wrong, 17u);
}

TEST(PeersKernelsTest, APartOfTheSumIsThatOfItsPlaces) {
  const Vectors sum = SumOf({DataOf(0, 32), DataOf(1, 32)});
  const Vectors second_half(sum.begin() + 16, sum.end());
  EXPECT_EQ(SumReport(second_half, 16, 2).wrong_count, 0u);
  EXPECT_GT(SumReport(second_half, 0, 2).wrong_count, 0u);
}

TEST(PeersKernelsTest, PartsAreHeldAgainstTheirRanks) {
  Vectors gathered;
  for (const unsigned rank : {0u, 1u, 2u}) {
    const Vectors data = DataOf(rank, 10);
    gathered.insert(gathered.end(), data.begin() + 4, data.begin() + 9);
  }
  EXPECT_EQ(PartsReport(gathered, 5, 4, 0).wrong_count, 0u);
  EXPECT_GT(PartsReport(gathered, 5, 3, 0).wrong_count, 10u) << "other places";
  EXPECT_GT(PartsReport(gathered, 5, 4, 1).wrong_count, 10u) << "other ranks";
  gathered[12] = uint4{~0u, ~0u, ~0u, ~0u};
  const Report poisoned = PartsReport(gathered, 5, 4, 0);
  EXPECT_EQ(poisoned.wrong_count, 1u);
  EXPECT_EQ(poisoned.first_wrong, 12u);
}

}  // namespace
}  // namespace sextant::probe
