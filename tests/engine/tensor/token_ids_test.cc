#include "engine/tensor/token_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using testing::ElementsAre;

TEST(TokenIdBytes, AreTwoWhileEveryIdFits) {
  EXPECT_EQ(*TokenIdBytes(1), 2);
  EXPECT_EQ(*TokenIdBytes(65536), 2);  // the last id is 65535
  EXPECT_EQ(*TokenIdBytes(65537), 4);
  EXPECT_EQ(*TokenIdBytes(int64_t{1} << 32), 4);
}

TEST(TokenIdBytes, RefuseVocabulariesThatAreNone) {
  for (const int64_t size : {int64_t{0}, int64_t{-1}, (int64_t{1} << 32) + 1, INT64_MAX}) {
    EXPECT_THAT(TokenIdBytes(size), NamesFields(ElementsAre("vocabulary_size"))) << size;
  }
}

TEST(TokenBytes, AreAProductThatIsChecked) {
  EXPECT_EQ(*TokenBytes(32 * 4096, 8), Bytes(1048576));
  EXPECT_EQ(*TokenBytes(0, 2), Bytes(0));
  EXPECT_EQ(*TokenBytes(INT64_MAX, 1), Bytes(INT64_MAX));
  EXPECT_THAT(TokenBytes(INT64_MAX, 2), NamesFields(ElementsAre("token_count")));
  EXPECT_THAT(TokenBytes(-1, 2), NamesFields(ElementsAre("token_count")));
  for (const int64_t bytes : {int64_t{0}, int64_t{-2}, int64_t{3}, int64_t{16}, INT64_MAX}) {
    EXPECT_THAT(TokenBytes(1, bytes), NamesFields(ElementsAre("bytes_per_id"))) << bytes;
  }
}

}  // namespace
}  // namespace sextant
