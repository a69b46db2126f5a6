#include "manifest/document_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "manifest/tree_builder.h"
#include "testing/fixtures.h"

namespace berth::manifest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// The tree in one line: kind initial before scalars, so that "b:true" is a bool and "s:true" a string.
std::string Show(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull: return "null";
    case Node::Kind::kBool: return "b:" + node.text;
    case Node::Kind::kNumber: return "n:" + node.text;
    case Node::Kind::kString: return "s:" + node.text;
    default: break;
  }
  std::string out;
  for (std::size_t i = 0; i < node.items.size(); ++i)
    out += (i == 0 ? "" : ",") + (node.keys.empty() ? "" : node.keys[i] + "=") + Show(node.items[i]);
  return node.kind == Node::Kind::kMap ? "{" + out + "}" : "[" + out + "]";
}

std::string ShowOnly(std::string_view text) {
  const Documents documents = ReadDocuments(text);
  if (!documents.errors.empty()) return "error: " + documents.errors.front();
  return documents.documents.size() == 1 ? Show(documents.documents.front().root)
                                         : std::to_string(documents.documents.size()) + " documents";
}

std::string ErrorOfDocuments(std::string_view text) {
  const Documents documents = ReadDocuments(text);
  return documents.errors.empty() ? "no error" : documents.errors.front();
}

TEST(TreeTest, JsonAndYamlGiveTheSameTree) {
  const std::string_view expected = "{a=[n:1,s:x,b:true,null],b={c=n:1.50}}";
  EXPECT_EQ(ShowOnly(R"({"a": [1, "x", true, null], "b": {"c": 1.50}})"), expected);
  EXPECT_EQ(ShowOnly("a:\n- 1\n- x\n- true\n-\nb:\n  c: 1.50\n"), expected);
}

TEST(TreeTest, JsonKeepsTheTextOfFractionsAndHugeNumbers) {
  EXPECT_EQ(ShowOnly("[0.10, 1e3, 12345678901234567890123, -5, 18446744073709551615]"),
            "[n:0.10,n:1e3,n:12345678901234567890123,n:-5,n:18446744073709551615]");
}

TEST(TreeTest, JsonEscapesAreResolved) {
  EXPECT_EQ(ShowOnly(R"(["a\"b\\c\/d\n\u00e9\ud83d\ude00"])"), "[s:a\"b\\c/d\n\u00e9\U0001F600]");
}

TEST(TreeTest, PlainYamlScalarsHaveTheTypesKubernetesGivesThem) {
  EXPECT_EQ(ShowOnly("[1, 1.5, 1e3, 0x10, 010, 1_000, -2, .inf]"),
            "[n:1,n:1.5,n:1e3,n:0x10,n:010,n:1_000,n:-2,n:.inf]");
  EXPECT_EQ(ShowOnly("[true, Yes, on, y, false, NO, off, n]"),
            "[b:true,b:true,b:true,b:true,b:false,b:false,b:false,b:false]");
  EXPECT_EQ(ShowOnly("[~, null, '', \"\"]"), "[null,null,s:,s:]");
  EXPECT_EQ(ShowOnly("[500m, 1Gi, 1.5.2, 2026-01-01, e5, '1', !!str 1, true-ish, .]"),
            "[s:500m,s:1Gi,s:1.5.2,s:2026-01-01,s:e5,s:1,s:1,s:true-ish,s:.]");
}

TEST(TreeTest, DocumentsAreCountedAndEmptyOnesSkipped) {
  const Documents documents = ReadDocuments("---\n# nothing\n---\na: 1\n---\n\n---\n{\"b\": 2}\n---\n");
  ASSERT_THAT(documents.documents, SizeIs(2));
  EXPECT_EQ(documents.documents[0].number, 1);
  EXPECT_EQ(Show(documents.documents[0].root), "{a=n:1}");
  EXPECT_EQ(documents.documents[1].number, 2);
  EXPECT_EQ(Show(documents.documents[1].root), "{b=n:2}");
  EXPECT_THAT(ReadDocuments("").documents, IsEmpty());
  EXPECT_THAT(ReadDocuments("\n# only a comment\n").documents, IsEmpty());
  EXPECT_THAT(ReadDocuments("---").documents, IsEmpty());
}

TEST(TreeTest, ASeparatorMayCarryAValueAndDirectivesBelongToTheNextDocument) {
  EXPECT_EQ(ShowOnly("--- {a: 1}\n"), "{a=n:1}");
  EXPECT_EQ(ShowOnly("--- # comment\na: 1\n"), "{a=n:1}");
  EXPECT_EQ(ShowOnly("%YAML 1.2\n---\na: 1\n"), "{a=n:1}");
  EXPECT_EQ(ShowOnly("a: 1\n...\n---\nb: 2\n"), "2 documents");
  EXPECT_EQ(ShowOnly("a: |\n  ---\n  x\n"), "{a=s:---\nx\n}") << "inside a block it is text";
  EXPECT_EQ(ShowOnly("a: ---x\n"), "{a=s:---x}");
}

TEST(TreeTest, JsonValuesMayFollowEachOther) {
  EXPECT_EQ(ShowOnly("{\"a\":\"}{\"}\n{\"b\":2}"), "2 documents");
  EXPECT_EQ(ShowOnly("{a: 1, b: [x]}"), "{a=n:1,b=[s:x]}") << "YAML's bracket notation";
}

TEST(TreeTest, ABrokenDocumentDoesNotHideTheOthers) {
  const Documents documents = ReadDocuments("a: 1\n---\nb: [1\n---\nc: 3\n");
  EXPECT_THAT(documents.documents, SizeIs(2));
  ASSERT_THAT(documents.errors, SizeIs(1));
  EXPECT_THAT(documents.errors[0], HasSubstr("document 2: line "));
}

TEST(TreeTest, ErrorsCarryTheLineOfTheFile) {
  EXPECT_THAT(ErrorOfDocuments("a: 1\n---\nb: 2\nc: 'x\n"), HasSubstr("document 2: line "));
  EXPECT_THAT(ErrorOfDocuments("{\n  \"a\": 1,\n  \"b\" 2\n}"),
              HasSubstr("document 1: line 3, column 7: not valid JSON"));
  EXPECT_THAT(ErrorOfDocuments("{\"a\": [1, 2"), HasSubstr("ends too early"));
  EXPECT_THAT(ErrorOfDocuments("a:\n\t- b\n"), HasSubstr("line 2"));
}

TEST(TreeTest, HalfWrittenTextIsAnError) {
  for (const std::string_view text :
       {"a: 'x\n", "a: \"x\n", "a: 'x", "a: [1, 2\n", "a: {b: 1\n", "{\"a\": \"x\n", "[{\"a\": 1}"})
    EXPECT_THAT(ErrorOfDocuments(text), HasSubstr("document 1: line ")) << text;
  EXPECT_EQ(ShowOnly("a: |\n  x\n"), "{a=s:x\n}");
  EXPECT_EQ(ShowOnly("a: |\n  x"), "{a=s:x}");
  EXPECT_EQ(ShowOnly("a: |+\n  x\n\n"), "{a=s:x\n\n}");
}

TEST(TreeTest, TextAfterTheEndOfADocumentIsAnError) {
  EXPECT_THAT(ErrorOfDocuments("a: {b: 1}, c\n"), HasSubstr("document 1: line 1, column"));
  EXPECT_THAT(ErrorOfDocuments("--- {a: 1} {b: 2}\n"), HasSubstr("unexpected text after the end"));
  EXPECT_THAT(ErrorOfDocuments("- a\n]\n"), HasSubstr("document 1: line"));
  EXPECT_THAT(ErrorOfDocuments("{\"a\": 1}, \"b\": 2}\n"), HasSubstr("document 1: line 1, column"));
  EXPECT_THAT(ErrorOfDocuments("{}]"), HasSubstr("document 1: line 1"));
  EXPECT_EQ(ShowOnly("a: 1\n...\nb: 2\n"), "2 documents");
  EXPECT_EQ(ShowOnly("...\n...\na: 1\n...\n"), "{a=n:1}");
}

TEST(TreeTest, DuplicateKeysAreNamedAndTheLastOneCounts) {
  for (const std::string_view text : {"a: {x: 1}\nb:\n- c: 1\n- c: 1\n  c: 2\na: 3\n",
                                      R"({"a": {"x": 1}, "b": [{"c": 1}, {"c": 1, "c": 2}], "a": 3})"}) {
    const Documents documents = ReadDocuments(text);
    ASSERT_THAT(documents.documents, SizeIs(1)) << text;
    EXPECT_EQ(Show(documents.documents[0].root), "{a=n:3,b=[{c=n:1},{c=n:2}]}");
    EXPECT_THAT(documents.documents[0].duplicates, ElementsAre("b[1].c", "a"));
  }
}

TEST(TreeTest, DuplicatesAreFoundInLargeMapsToo) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "key" + std::to_string(i % 19'999) + ": 1\n";
  const Documents documents = ReadDocuments(text);
  ASSERT_THAT(documents.documents, SizeIs(1));
  EXPECT_THAT(documents.documents[0].duplicates, ElementsAre("key0"));
}

TEST(TreeTest, AliasesAreCopies) {
  EXPECT_EQ(ShowOnly("a: &x {k: [1]}\nb: *x\n"), "{a={k=[n:1]},b={k=[n:1]}}");
  EXPECT_EQ(ShowOnly("a: &x 5\nb: [*x, *x]\n"), "{a=n:5,b=[n:5,n:5]}");
}

TEST(TreeTest, MergeKeysFillWhatIsMissing) {
  EXPECT_EQ(ShowOnly("a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  l: 3\n"), "{a={k=n:1,l=n:2},b={l=n:3,k=n:1}}");
  EXPECT_EQ(ShowOnly("a: &x {k: 1}\nb: &y {k: 2, m: 4}\nc: {<<: [*x, *y]}\n"),
            "{a={k=n:1},b={k=n:2,m=n:4},c={k=n:1,m=n:4}}");
  EXPECT_THAT(ErrorOfDocuments("a: {<<: 5}"), HasSubstr("'<<' merges objects only"));
}

TEST(TreeTest, NothingIsReadBehindTheFirstProblem) {
  EXPECT_THAT(ErrorOfDocuments("a: {<<: 5}\nb: 1\nc: [}\n"), HasSubstr("line 1, column 9: '<<' merges objects only"));
  EXPECT_THAT(ErrorOfDocuments("a: !!binary x\nb: [}\n"), HasSubstr("a tag of this kind is not supported"));
}

TEST(TreeTest, AliasBombsAreRefused) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + below;
    for (int j = 1; j < 10; ++j) text += ", " + below;
    text += "]\n";
  }
  EXPECT_THAT(ErrorOfDocuments(text), HasSubstr("too many values"));
}

TEST(TreeTest, LoopsOfAliasesAreRefused) {
  EXPECT_THAT(ErrorOfDocuments("a: &x [*x]\n"), HasSubstr("alias refers to a value"));
}

TEST(TreeTest, DepthIsBounded) {
  for (const char open : {'[', '{'}) {
    std::string text;
    for (int i = 0; i < 101; ++i) text += open == '[' ? "[" : "{\"a\":";
    text += "1";
    for (int i = 0; i < 101; ++i) text += open == '[' ? "]" : "}";
    EXPECT_THAT(ErrorOfDocuments(text), HasSubstr("nested more than 100 levels deep"));
  }
  EXPECT_THAT(ErrorOfDocuments(std::string(100'000, '[')), HasSubstr("document 1: "));
}

TEST(TreeTest, BracketsThatAreNotClosedTakeLittleMemory) {
  const long before = testkit::PeakKib();
  for (const std::string start : {"", "a: "})
    for (const std::string again : {"[", "[\n", "[]", ": ", "\"\" "}) {
      std::string text = start + "[";
      while (text.size() < 3'000'000) text += again;
      EXPECT_THAT(ErrorOfDocuments(text), HasSubstr("document 1: ")) << start << again;
    }
  EXPECT_LT(testkit::PeakKib() - before, 600 * 1024) << "unbounded: 700 MB and more";
}

TEST(TreeTest, ABlockOfTextMayBeLargeButNotEndless) {
  const std::string line = "  " + std::string(98, 'x') + "\n";
  std::string text = "a: |\n";
  while (text.size() < 200'000) text += line;
  EXPECT_EQ(ShowOnly(text + "b: 1\n").substr(0, 10), "{a=s:xxxxx");
  while (text.size() < 400'000) text += line;
  EXPECT_THAT(ErrorOfDocuments(text), HasSubstr("takes more than 256 KiB of YAML"));
}

TEST(TreeTest, BracketsOfOneValueAreCounted) {
  EXPECT_THAT(ErrorOfDocuments("a: " + std::string(70'000, '[')), HasSubstr("more than 65536 brackets"));
}

/// Documents of `text` that are visited, `most` at most, and the errors.
std::pair<std::size_t, std::vector<std::string>> Visit(std::string_view text, Budget& budget, std::size_t most) {
  std::size_t visited = 0;
  auto errors = VisitDocuments(text, budget, [&](const Document&) { return ++visited < most; });
  return {visited, std::move(errors)};
}

std::string Repeat(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST(TreeTest, ReadingEndsWhereItsVisitorSaysSo) {
  constexpr std::size_t kCost = 4 * kNodeCost + 2;  // the document, an object, a key and a value
  Budget yaml(100 * kCost);
  EXPECT_EQ(Visit(Repeat("a: 1\n---\n", 50), yaml, 2).first, 2U);
  EXPECT_EQ(yaml.left(), 98 * kCost);
  Budget json(100 * kCost);
  EXPECT_EQ(Visit(Repeat("{\"a\":1}", 50), json, 2).first, 2U);
  EXPECT_EQ(json.left(), 98 * kCost + kNodeCost) << "they follow each other in one piece";
}

TEST(TreeTest, OneBudgetHoldsForAllDocumentsOfAText) {
  constexpr std::size_t kCost = 4 * kNodeCost + 2;
  for (const std::string_view document : {"a: 1\n---\n", "{\"a\":1}\n---\n", "---\n{\"a\":1}\n...\n"}) {
    Budget budget(10 * kCost);
    const auto [visited, errors] = Visit(Repeat(document, 50), budget, 1000);
    EXPECT_LE(visited, 10U) << document;
    EXPECT_THAT(errors, ElementsAre(HasSubstr("the text holds too many values"))) << document;
    EXPECT_TRUE(budget.is_spent());
  }
  Budget empty(10 * kNodeCost);
  EXPECT_THAT(Visit(Repeat("---\n", 50), empty, 1000).second, SizeIs(1)) << "empty documents count too";
}

TEST(TreeTest, ASmallTextHasASmallBudget) {
  EXPECT_EQ(Budget::For("").left(), std::size_t{1} << 20);
  EXPECT_EQ(Budget::For(std::string(8192, ' ')).left(), std::size_t{2} << 20);
  EXPECT_EQ(Budget::For(std::string(kMaxTextBytes, ' ')).left(), std::size_t{32} << 20);
}

TEST(TreeTest, ErrorsAndDuplicatesOfATextAreBounded) {
  const Documents broken = ReadDocuments(Repeat("a: [\n---\n", 1000));
  ASSERT_THAT(broken.errors, SizeIs(kMaxErrors + 1));
  EXPECT_EQ(broken.errors.back(), "and more from here on");
  const Documents twice = ReadDocuments("{\"a\":0" + Repeat(",\"a\":1", 1000) + "}");
  ASSERT_THAT(twice.documents, SizeIs(1));
  EXPECT_THAT(twice.documents[0].duplicates, SizeIs(kMaxErrors));
}

TEST(TreeTest, CommentsMayFollowJson) { EXPECT_EQ(ShowOnly("{\"a\": 1} # one\n\n# two\n"), "{a=n:1}"); }

TEST(TreeTest, SizeIsBounded) {
  EXPECT_THAT(ErrorOfDocuments(std::string(kMaxTextBytes + 1, ' ')), HasSubstr("larger than 10 MiB"));
}

TEST(TreeTest, TextMustBeUtf8WithoutNul) {
  EXPECT_THAT(ErrorOfDocuments("a: \"\\0\""), HasSubstr("UTF-8 without NUL"));
  EXPECT_THAT(ErrorOfDocuments(R"({"a": "\u0000"})"), HasSubstr("UTF-8 without NUL"));
  EXPECT_THAT(ErrorOfDocuments("a: \xff\n"), HasSubstr("document 1"));
  EXPECT_TRUE(IsCleanText("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"));
  for (const std::string_view bad : {"\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                     "\xf0\x80\x80\x80", "\xff", "a\xe2\x82"})
    EXPECT_FALSE(IsCleanText(bad));
}

TEST(TreeTest, KeysAreTextAndUnknownTagsAreRefused) {
  EXPECT_THAT(ErrorOfDocuments("? [a, b]\n: 1\n"), HasSubstr("a key must be plain text"));
  EXPECT_THAT(ErrorOfDocuments("? {a: b}\n: 1\n"), HasSubstr("a key must be plain text"));
  EXPECT_THAT(ErrorOfDocuments("a: !!binary aGVsbG8=\n"), HasSubstr("is not supported; remove it"));
  EXPECT_EQ(ShowOnly("1: x\ntrue: z\n"), "{1=s:x,true=s:z}");
}

}  // namespace
}  // namespace berth::manifest
