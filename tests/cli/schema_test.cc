// What berth prints with -o json is what docs/reference/schema says, and nothing else.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <sstream>
#include <thread>

#include "api/codec/views.h"
#include "berthd_fixture.h"
#include "model/operation_results.h"
#include "testing/seen_groups.h"

namespace berth {
namespace {

using codec::Json;

/// The part of JSON Schema that the file uses. Unknown words in it are a problem, too.
class Schema {
 public:
  explicit Schema(Json root) : root_(std::move(root)) {}

  /// Why `value` does not fit, with the place; "": it does.
  std::string WhyNot(const Json& schema, const Json& value, const std::string& at) const {
    for (const auto& [word, rule] : schema.items()) {
      std::string why;
      if (word == "$ref") {
        why = WhyNot(root_.at("$defs").at(rule.get<std::string>().substr(std::string("#/$defs/").size())), value, at);
      } else if (word == "type") {
        const Json types = rule.is_array() ? rule : Json::array({rule});
        const bool fits =
            std::ranges::any_of(types, [&](const Json& type) { return IsA(value, type.get<std::string>()); });
        if (!fits) why = at + ": is no " + rule.dump() + ": " + value.dump().substr(0, 100);
      } else if (word == "enum") {
        if (std::ranges::find(rule, value) == rule.end())
          why = at + ": is none of " + rule.dump() + ": " + value.dump();
      } else if (word == "anyOf") {
        if (std::ranges::none_of(rule, [&](const Json& one) { return WhyNot(one, value, at).empty(); }))
          why = at + ": fits none of several";
      } else if (word == "items" && value.is_array()) {
        for (std::size_t i = 0; i < value.size() && why.empty(); ++i)
          why = WhyNot(rule, value[i], at + "[" + std::to_string(i) + "]");
      } else if (word == "properties" && value.is_object()) {
        for (const auto& [name, item] : value.items())
          if (why.empty() && rule.contains(name)) why = WhyNot(rule.at(name), item, at + "." + name);
      } else if (word == "required" && value.is_object()) {
        for (const Json& name : rule)
          if (!value.contains(name.get<std::string>())) why = at + ": has no " + name.get<std::string>();
      } else if (word == "additionalProperties" && value.is_object()) {
        why = WhyNotMore(schema, rule, value, at);
      } else if (word != "description" && word != "items" && word != "properties" && word != "required" &&
                 word != "additionalProperties") {
        why = "the schema has an unknown word " + word;
      }
      if (!why.empty()) return why;
    }
    return "";
  }
  const Json& root() const { return root_; }

 private:
  std::string WhyNotMore(const Json& schema, const Json& rule, const Json& value, const std::string& at) const {
    const Json named = schema.value("properties", Json::object());
    for (const auto& [name, item] : value.items()) {
      if (named.contains(name)) continue;
      if (rule.is_boolean()) return at + ": the schema knows no " + name;
      if (std::string why = WhyNot(rule, item, at + "." + name); !why.empty()) return why;
    }
    return "";
  }
  static bool IsA(const Json& value, const std::string& type) {
    if (type == "string") return value.is_string();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "boolean") return value.is_boolean();
    if (type == "array") return value.is_array();
    return type == "object" ? value.is_object() : type == "null" && value.is_null();
  }

  Json root_;
};

class SchemaTest : public BerthdTest {
 protected:
  void ExpectFits(const std::string& command, const Json& answer) {
    const std::string name = schema_.root().at("x-commands").at(command).get<std::string>();
    EXPECT_EQ("", schema_.WhyNot(schema_.root().at("$defs").at(name), answer, command));
    seen_.push_back(command);
  }
  /// What needs no berthd, or places nothing.
  void ExpectPaperFits(const std::string& web, const std::string& huge) {
    const std::string machine = "pack:2 numa:1 core:4 pu:2";
    const auto on_paper = [&](std::vector<std::string> words) {
      words.insert(words.end(), {"-o", "json"});
      const Ran ran = Berth(words);
      const auto json = codec::ParseJson(ran.out, words.front());
      EXPECT_TRUE(json) << ran.out << ran.err;
      return json ? *json : Json();
    };
    for (const std::string& file : {web, huge}) {
      ExpectFits("explain", on_paper({"explain", "-m", machine, "-f", file}));
      ExpectFits("explain", on_paper({"explain", "--socket", socket(), "-f", file}));
    }
    ExpectFits("simulate", on_paper({"simulate", "-m", machine, "-f", web, huge, "remove:web"}));
    const std::string settings = File("queue.yaml",
                                      "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nwaiting: {}\n"
                                      "preemption: critical\n");
    ExpectFits("simulate", on_paper({"simulate", "-m", machine, "--berth-config", settings, Manifest("most", "12"), web,
                                     Manifest("later", "16"), "remove:most", "remove:later"}));
    ExpectFits("run --dry-run",
               on_paper({"run", "--socket", socket(), "--dry-run", "--cpus", "1", "--memory", "64Mi"}));
    ExpectFits("machine", on_paper({"machine", "-m", machine}));
    ExpectFits("machine", on_paper({"machine"}));
    ExpectFits("check", on_paper({"check"}));
    ExpectFits("defrag", on_paper({"defrag", "-m", machine, "-f", web}));
    ExpectFits("version", on_paper({"version"}));
    ExpectFits("simulate --kubelet-version",
               on_paper({"simulate", "-m", machine, "--kubelet-version", "1.36,1.38", web, huge, "remove:web"}));
    ExpectFits("simulate --cluster",
               on_paper({"simulate", "--cluster", "2=" + machine, "--pods", "20", "--rule", "default"}));
  }
  /// Lines of `berth <arguments> -o json`, which goes on, until one has `last`.
  void ExpectLinesFit(const std::string& command, std::vector<std::string> arguments, const std::string& last,
                      const std::function<void()>& meanwhile) {
    const std::string log = File("lines.out", "");
    arguments.insert(arguments.end(), {"-o", "json", "--socket", socket()});
    const int pid = Spawn(BERTH, arguments, {}, log);
    const auto until = [&](std::string_view text) {
      for (int i = 0; i < 400 && !testkit::ReadIfThere(log).contains(text); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    };
    until("\n");
    meanwhile();
    until(last);
    ::kill(pid, SIGTERM);
    ::waitpid(pid, nullptr, 0);
    const std::string text = testkit::ReadIfThere(log);
    EXPECT_THAT(text, testing::HasSubstr(last));
    std::istringstream lines(text.substr(0, text.rfind('\n')));
    for (std::string line; std::getline(lines, line);) {
      const auto json = codec::ParseJson(line, command);
      ASSERT_TRUE(json) << line;
      ExpectFits(command, *json);
    }
  }
  /// The state of this berthd as a kubelet would have it, and back again.
  void ExpectStateFits() {
    const testkit::TempDir folder;
    ExpectFits("state export", AskJson({"state", "export", "--to", folder / "kubelet"}));
    ExpectFits("state import", AskJson({"state", "import", "--kubelet-dir", folder / "kubelet", "--state-dir",
                                        folder / "state", "--cgroup-root", "none"}));
  }
  const Schema schema_{*codec::ParseJson(testkit::ReadText(BERTH_SCHEMA), "schema")};
  std::vector<std::string> seen_;
};

TEST_F(SchemaTest, RealAnswersAreWhatItSays) {
  const std::string web = Manifest("web", "2");
  ExpectFits("apply", AskJson({"apply", "--wait", "-f", web}));
  AddPod("logger", "");
  Ask({"apply", "--wait", "-f", Manifest("huge", "64")});
  ExpectFits("restart", AskJson({"restart", "web", "--wait"}));
  ExpectFits("pods", AskJson({"pods"}));
  ExpectFits("describe POD", AskJson({"describe", "web"}));
  ExpectFits("describe POD", AskJson({"describe", "huge"}));
  ExpectFits("describe node", AskJson({"describe", "node"}));
  ExpectFits("node", AskJson({"node"}));
  ExpectFits("status", AskJson({"status"}));
  ExpectFits("tree", AskJson({"tree"}));
  ExpectFits("events", AskJson({"events"}));
  ExpectFits("top", AskJson({"top"}));
  ExpectFits("map", AskJson({"map"}));
  ExpectFits("map", AskJson({"map", "--with", Manifest("new", "1")}));
  ExpectFits("diff", *codec::ParseJson(Ask({"diff", "-o", "json"}).out, "diff"));
  ExpectFits("state verify", AskJson({"state", "verify"}));
  ExpectFits("simulate --replicas",
             *codec::ParseJson(
                 Berth({"simulate", "-m", "pack:1 core:4 pu:2", "--replicas", "max", "-o", "json", "-f", web}).out,
                 "simulate"));
  ExpectFits("resize", AskJson({"resize", "web", "--cpus", "4"}));
  Ask({"resize", "web", "--cpus", "64"});
  const Json resized = AskJson({"describe", "web"});
  ExpectFits("describe POD", resized);
  EXPECT_THAT(resized.dump(), ::testing::HasSubstr("PodResizePending"));
  ExpectFits("state show", AskJson({"state", "show"}));
  ExpectStateFits();
  ExpectLinesFit("events --watch", {"events", "-w"}, "second-n1", [&] { AddPod("second", ""); });
  ExpectLinesFit("pods --watch", {"pods", "-w"}, "\"gone\"",
                 [&] { ExpectFits("delete", AskJson({"delete", "web", "--wait"})); });
  ExpectPaperFits(web, Manifest("huge", "64"));
  ExpectFits("images", codec::ToJson(ImageList{
                           .runtime = "containerd 1.7",
                           .endpoint = "/run/c.sock",
                           .images = {{.id = "sha256:1", .tags = {"a:1"}, .digests = {"a@sha256:2"}, .size = 1}}}));
  ExpectFits("images import", codec::ToJson(ImportedImages{.names = {"a:1"}}));
  ExpectFits("logs --follow", codec::ToJson(LogEntry{"2026-01-01T00:00:00Z", "stdout", "x", true}));
  ExpectFits("logs", codec::ToJson(LogPage{.path = "/l",
                                           .running = true,
                                           .entries = {{"2026-01-01T00:00:00Z", "stdout", "x", false},
                                                       {"2026-01-01T00:00:00Z", "stderr", "y", true}},
                                           .next = "2",
                                           .more = false,
                                           .gap = false}));
  for (const auto& [command, name] : schema_.root().at("x-commands").items())
    EXPECT_THAT(seen_, testing::Contains(command)) << "is described and was not tried";
}

TEST_F(SchemaTest, FindsWhatDoesNotFit) {
  Json answer = AskJson({"node"});
  const Json& node = schema_.root().at("$defs").at("Node");
  answer["more"] = 1;
  EXPECT_EQ("x: the schema knows no more", schema_.WhyNot(node, answer, "x"));
  answer.erase("more");
  answer["cpuPolicy"] = 1;
  EXPECT_EQ("x.cpuPolicy: is no \"string\": 1", schema_.WhyNot(node, answer, "x"));
  answer.erase("cpuPolicy");
  EXPECT_EQ("x: has no cpuPolicy", schema_.WhyNot(node, answer, "x"));
}

}  // namespace
}  // namespace berth
