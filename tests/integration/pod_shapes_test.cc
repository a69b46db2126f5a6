// Pods of many shapes (tests/shapes), each as plain processes and under containerd: their programs say what they find,
// and their manifests what that must be.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cri_node.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

struct Line {
  std::string container;
  std::string text;
  bool wanted = true;
};

struct Shape {
  std::string name;  ///< of file and pod
  std::string text;
  std::string runtime;  ///< "": both
  std::string phase = "Succeeded";
  std::vector<Line> lines;
};

/// LINK(path) is where that link leads here.
std::string Filled(const std::string& text) {
  constexpr std::string_view kLink = "LINK(";
  if (!text.starts_with(kLink)) return text;
  return fs::read_symlink(text.substr(kLink.size(), text.size() - kLink.size() - 1));
}

/// "# app says: hello": of the comments above the manifest.
void Take(std::string_view comment, Shape& shape) {
  const auto after = [&](std::string_view word) {
    return std::string(comment.substr(comment.find(word) + word.size()));
  };
  const auto before = [&](std::string_view word) { return std::string(comment.substr(0, comment.find(word))); };
  if (comment.starts_with("runtime: "))
    shape.runtime = after("runtime: ");
  else if (comment.starts_with("phase: "))
    shape.phase = after("phase: ");
  else if (comment.find(" does not say: ") != std::string_view::npos)
    shape.lines.push_back({before(" does not say: "), after(" does not say: "), false});
  else if (comment.find(" says: ") != std::string_view::npos)
    shape.lines.push_back({before(" says: "), Filled(after(" says: ")), true});
}

std::vector<Shape> ShapesFor(const std::string& runtime) {
  std::vector<Shape> out;
  for (const auto& file : fs::directory_iterator(testkit::SourcePath("tests/shapes"))) {
    if (file.path().extension() != ".yaml") continue;
    Shape shape;
    shape.name = file.path().stem();
    shape.text = testkit::ReadText(file.path());
    for (const std::string_view line : Split(shape.text, '\n'))
      if (line.starts_with("# ")) Take(line.substr(2), shape);
    if (shape.runtime.empty() || shape.runtime == runtime) out.push_back(std::move(shape));
  }
  std::ranges::sort(out, {}, &Shape::name);
  return out;
}

/// With the fixture's node; only a container runtime's needs containerd.
class PodShapesTest : public testkit::CriNodeTest {
 protected:
  void StartWith(const std::string& runtime) {
    if (runtime == "cri") return Start();
    std::ofstream(berthd->Dir("berth.yaml")) << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n" + settings;
    berthd->Start({"--config", berthd->Dir("berth.yaml"), "--socket", berthd->socket()});
  }

  bool Ended(const std::string& pod) { return Phase(pod, "Succeeded") || Phase(pod, "Failed"); }

  void Expect(const Shape& shape) {
    SCOPED_TRACE(shape.name);
    ASSERT_TRUE(berthd->Until(shape.name + " has ended", [&] { return Ended(shape.name); }));
    EXPECT_TRUE(Phase(shape.name, shape.phase)) << "is not " << shape.phase << ":\n" << LogOf(shape.name, "");
    for (const Line& line : shape.lines) {
      const std::string words = "\n" + WordsOf(shape.name, line.container);
      EXPECT_EQ(words.find("\n" + line.text + "\n") != std::string::npos, line.wanted)
          << line.container << (line.wanted ? " did not say: " : " said: ") << line.text << "\nbut:" << words;
    }
  }

  void HoldsEveryShape(const std::string& runtime) {
    const std::vector<Shape> shapes = ShapesFor(runtime);
    ASSERT_GE(shapes.size(), 8U);
    StartWith(runtime);
    for (const Shape& shape : shapes) berthd->AddPod(shape.name + ".yaml", shape.text);
    for (const Shape& shape : shapes) Expect(shape);
    for (const Shape& shape : shapes) Remove(shape.name);
    ASSERT_TRUE(berthd->Until("all are gone", [&] { return NoPods(); }));
    ExpectNothingLeft();
  }
};

TEST_F(PodShapesTest, PlainProcessesFindWhatTheirManifestsSay) { HoldsEveryShape("process"); }

TEST_F(PodShapesTest, ContainersFindWhatTheirManifestsSay) { HoldsEveryShape("cri"); }

}  // namespace
}  // namespace berth
