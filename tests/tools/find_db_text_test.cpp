#include "tools/find_db_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace hone::tools {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

FindDbText read(const std::string& text) {
  std::istringstream input(text);
  return read_find_db(input);
}

TEST(FindDbText, ReadsRecordsWithTheirEntries) {
  const FindDbText text = read("1-2-3-F=ConvA:0.5,1024,algoA;ConvB<3-2>:1e1,0,algoB\r\n\nk=ConvC:0,0,algo\n");
  EXPECT_THAT(text.rejected, IsEmpty());
  ASSERT_THAT(text.records, SizeIs(2));
  EXPECT_EQ(text.records[0].key, "1-2-3-F");
  ASSERT_THAT(text.records[0].entries, SizeIs(2));
  EXPECT_EQ(text.records[0].entries[0].solver, "ConvA");
  EXPECT_EQ(text.records[0].entries[0].milliseconds, 0.5);
  EXPECT_EQ(text.records[0].entries[0].workspace, 1024u);
  EXPECT_EQ(text.records[0].entries[1].solver, "ConvB<3-2>");
  EXPECT_EQ(text.records[0].entries[1].milliseconds, 10);
  EXPECT_EQ(text.records[1].entries[0].milliseconds, 0);
}

TEST(FindDbText, RejectsALineWithItsNumberAndReasonAndUsesTheRest) {
  const FindDbText text = read(
      "good=A:1,0,x\n"
      "no equals sign\n"
      "=A:1,0,x\n"
      "k1=\n"
      "k2=A\n"
      "k3=A:fast,0,x\n"
      "k4=A:-1,0,x\n"
      "k5=A:nan,0,x\n"
      "k6=A:1,many,x\n"
      "k7=A:1,0\n"
      "good=A:2,0,x\n"
      "last=A:1,0,x\n");
  ASSERT_THAT(text.records, SizeIs(2));
  EXPECT_EQ(text.records[0].entries[0].milliseconds, 1);
  ASSERT_THAT(text.rejected, SizeIs(10));
  EXPECT_EQ(text.rejected.front().line, 2u);
  EXPECT_EQ(text.rejected.back().line, 11u);
  EXPECT_THAT(text.rejected[4].reason, HasSubstr("the time of 'A' is 'fast'"));
  EXPECT_THAT(text.rejected[7].reason, HasSubstr("the workspace of 'A' is 'many'"));
  EXPECT_THAT(text.rejected.back().reason, HasSubstr("given before"));
}

}  // namespace
}  // namespace hone::tools
