// What people type who come from other tools or slip, and the first line they see: what is wrong, and what to type
// instead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "berthd_fixture.h"

namespace berth {
namespace {

struct Mistake {
  std::vector<std::string> words;
  std::string line;  ///< the first on the error stream
};

constexpr int kWrongUsage = 2;

/// Wrong command lines, which need no berthd.
const std::vector<Mistake>& WrongLines() {
  static const std::string outputs = "table|wide|json|yaml|jsonpath=TEMPLATE|name";
  static const std::vector<Mistake> all{
      // Commands.
      {{"aply", "-f", "x.yaml"}, "berth: unknown command 'aply', did you mean apply?"},
      {{"desrcibe", "web"}, "berth: unknown command 'desrcibe', did you mean describe?"},
      {{"get", "pods"}, "berth: unknown command 'get': say 'berth pods'"},
      {{"get", "po", "-A"}, "berth: unknown command 'get': say 'berth pods'"},
      {{"get", "nodes"}, "berth: unknown command 'get': say 'berth node'"},
      {{"get", "events", "-n", "edge"}, "berth: unknown command 'get': say 'berth events'"},
      {{"get", "-n", "edge", "events"}, "berth: unknown command 'get': say 'berth events'"},
      {{"get", "-o", "wide", "nodes"}, "berth: unknown command 'get': say 'berth node'"},
      {{"ps"}, "berth: unknown command 'ps': say 'berth pods'"},
      {{"create", "-f", "x.yaml"}, "berth: unknown command 'create': say 'berth apply -f FILE'"},
      {{"rm", "web"}, "berth: unknown command 'rm': say 'berth delete POD'"},
      {{"rollout", "restart", "web"}, "berth: unknown command 'rollout': say 'berth restart POD'"},
      {{"lstopo"}, "berth: unknown command 'lstopo': say 'berth map'"},
      {{"htop"}, "berth: unknown command 'htop': say 'berth top'"},
      {{"taskset", "-c", "2,3", "./server"}, "berth: unknown command 'taskset': say 'berth run --cpus 2 -- COMMAND'"},
      {{"numactl", "-N", "1", "./server"}, "berth: unknown command 'numactl': say 'berth run --numa 0 -- COMMAND'"},
      {{"-n", "edge", "pods"}, "berth: options stand behind the command: say 'berth pods -n edge'"},
      {{"-n", "edge", "describe", "web"}, "berth: options stand behind the command: say 'berth describe -n edge web'"},
      {{"-v"}, "berth: unknown option -v, did you mean -V?"},
      {{"--verison"}, "berth: unknown option --verison, did you mean --version?"},
      // Options.
      {{"pods", "--format", "json"}, "berth pods: unknown option --format, did you mean -o?"},
      {{"pods", "--json"}, "berth pods: unknown option --json, did you mean -o json?"},
      {{"pods", "--label", "app=web"}, "berth pods: unknown option --label, did you mean -l?"},
      {{"pods", "--show-labels"}, "berth pods: unknown option --show-labels, did you mean -o wide?"},
      {{"pods", "-a"}, "berth pods: unknown option -a, did you mean -A?"},
      {{"pods", "--all"}, "berth pods: unknown option --all, did you mean --all-namespaces?"},
      {{"pods", "--context", "prod"},
       "berth pods: unknown option --context: berth asks the berthd of its own node: leave it out, or name a socket "
       "with "
       "--socket"},
      {{"pods", "-o", "jsn"}, "berth pods: --output: 'jsn' is none of " + outputs + ", did you mean json?"},
      {{"pods", "-o"}, "berth pods: --output takes a value: " + outputs},
      {{"pods", "-n"}, "berth pods: --namespace takes a value: NAMESPACE"},
      {{"pods", "-n", "a", "-n", "b"}, "berth pods: --namespace is given more than once"},
      {{"top", "--sort-by", "cpu"}, "berth top: unknown option --sort-by, did you mean --sort?"},
      {{"map", "--from", "host"}, "berth map: unknown option --from, did you mean -m?"},
      {{"map", "--width", "7"}, "berth map: --width: Value 7 not in range 40 to 1000"},
      {{"apply", "-f", "x.yaml", "--dry-run=server"}, "berth apply: --dry-run takes no value: leave '=server' out"},
      {{"apply", "-w", "-f", "x.yaml"}, "berth apply: unknown option -w, did you mean --wait?"},
      {{"apply", "-f"}, "berth apply: --filename takes a value: FILE"},
      {{"delete", "web", "--force"},
       "berth delete: unknown option --force: a pod has the grace period of its manifest: leave it out"},
      {{"delete", "-f", "x.yaml", "-n", "edge"}, "berth delete: --filename excludes --namespace"},
      {{"logs", "web", "--lines", "5"}, "berth logs: unknown option --lines, did you mean --tail?"},
      {{"logs", "web", "--tail", "many"}, "berth logs: --tail: Value many not in range 0 to 1000000"},
      {{"logs", "web", "-f", "-p"}, "berth logs: --previous excludes --follow"},
      {{"simulate", "-f", "x.yaml", "--replicas", "0"}, "berth simulate: --replicas: must be max, or 1 to 100000"},
      // Arguments.
      {{"describe"}, "berth describe: POD is required"},
      {{"describe", "pod", "web"}, "berth describe: pods are named without 'pod': say 'berth describe web'"},
      {{"describe", "node", "n1"}, "berth describe: unexpected argument 'n1': say 'berth describe node'"},
      {{"delete"}, "berth delete: a POD, -f FILE or -l LABELS is required"},
      {{"delete", "pod", "web"}, "berth delete: pods are named without 'pod': say 'berth delete web'"},
      {{"restart"}, "berth restart: a POD or -l LABELS is required"},
      {{"apply"}, "berth apply: -f FILE is required"},
      {{"apply", "x.yaml"}, "berth apply: -f FILE is required, did you mean -f x.yaml?"},
      {{"explain", "x.yaml"}, "berth explain: -f FILE is required, did you mean -f x.yaml?"},
      {{"diff", "x.yaml"}, "berth diff: unexpected argument 'x.yaml', did you mean -f x.yaml?"},
      {{"map", "topo.xml"}, "berth map: unexpected argument 'topo.xml', did you mean -m topo.xml?"},
      {{"map", "--", "topo.xml"}, "berth map: unexpected argument 'topo.xml', did you mean -m topo.xml?"},
      {{"machine", "host"}, "berth machine: unexpected argument 'host', did you mean -m host?"},
      {{"top", "pods"}, "berth top: unexpected argument 'pods': say 'berth top'"},
      {{"top", "web"}, "berth top: unexpected argument 'web', did you mean --filter web?"},
      {{"events", "web"}, "berth events: unexpected argument 'web', did you mean --pod web?"},
      {{"logs", "web", "app"}, "berth logs: unexpected argument 'app', did you mean -c app?"},
      {{"simulate"}, "berth simulate: -f FILE or a step is required"},
      {{"state"}, "berth state: one of show|verify|import|export is required"},
      {{"images", "import"}, "berth images: FILE is required"},
      {{"help", "unit"}, "berth help: no command or topic 'unit', did you mean units?"},
      // Commands that are to be run.
      {{"exec", "web"}, "berth exec: COMMAND is required"},
      {{"exec", "-it", "web", "--", "sh"},
       "berth exec: unknown option -it: exec has no terminal and no standard input: leave it out"},
      {{"exec", "web", "ls", "-l"}, "berth exec: unknown option -l: what belongs to the command stands behind --"},
      {{"exec", "web", "ls", "--", "-l"},
       "berth exec: unknown option -l: what belongs to the command stands behind --"},
      {{"exec", "pod", "web", "--", "sh"}, "berth exec: pods are named without 'pod': say 'berth exec web -- sh'"},
      {{"run", "--cpus", "1"}, "berth run: a command after --, or --pid is required"},
      {{"run", "./server", "-p", "80"}, "berth run: unknown option -p: what belongs to the command stands behind --"},
      {{"run", "-p", "4711"}, "berth run: unknown option -p, did you mean --pid?"},
      {{"run", "-m", "1Gi", "--", "./server"}, "berth run: unknown option -m, did you mean --memory?"},
      {{"run", "--cpu", "2", "--", "./server"}, "berth run: unknown option --cpu, did you mean --cpus?"},
      {{"run", "--name", "server", "--cpu=2", "--", "server"}, "berth run: unknown option --cpu, did you mean --cpus?"},
      {{"run", "-d=3", "--", "./server"}, "berth run: -d takes no value: leave '=3' out"},
      {{"run", "-qx", "--", "sleep", "1"}, "berth run: unknown option -x"},
      {{"run", "--pid", "x"}, "berth run: --pid: Value x not in range 1 to 4194304"},
      {{"run", "-c", "2,3", "./server"},
       "berth run: unknown option -c: Berth chooses which CPUs: say how many with --cpus"},
      {{"run", "--cpunodebind", "1", "./server"}, "berth run: unknown option --cpunodebind, did you mean --numa?"},
      {{"run", "web", "--image=nginx"},
       "berth run: unknown option --image: run takes a program of this host: for an image say 'berth apply -f FILE'"},
      {{"run", "-o", "json", "--", "./server"},
       "berth run: -o is for -d and --dry-run: in the foreground the output is the command's own"}};
  return all;
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

TEST(MistakesTest, AWrongCommandLineIsAnsweredWithWhatToTypeInstead) {
  EXPECT_GE(WrongLines().size(), 60U);
  for (const Mistake& mistake : WrongLines()) {
    const Ran ran = Berth(mistake.words);
    EXPECT_EQ(kWrongUsage, ran.status) << mistake.line;
    EXPECT_EQ("", ran.out) << mistake.line;
    EXPECT_EQ(mistake.line, FirstLine(ran.err));
  }
}

TEST(MistakesTest, TheDaemonNamesTheOptionThatWasPerhapsMeant) {
  const Ran ran = RunProgram(BERTHD, {"--pod-dri", "x"});
  EXPECT_EQ(kWrongUsage, ran.status);
  EXPECT_EQ("berthd: unknown option --pod-dri, did you mean --pod-dir?\nSee 'berthd --help'.\n", ran.err);
  EXPECT_EQ("berthd: unexpected argument 'start'", FirstLine(RunProgram(BERTHD, {"start"}).err));
}

using MistakesOnANodeTest = BerthdTest;

TEST_F(MistakesOnANodeTest, WhatIsNotThereIsAnsweredWithWhatIsNear) {
  AddPod("web", "2");
  const std::vector<Mistake> all{
      {{"describe", "wbe"}, "berth: no pod 'wbe' on this node, did you mean web?"},
      {{"describe", "pod/web"}, "berth: no pod 'pod/web' on this node, did you mean default/web-n1?"},
      {{"describe", "edge/web"}, "berth: no pod 'edge/web' on this node, did you mean default/web-n1?"},
      {{"describe", "web", "-n", "edge"}, "berth: no pod 'web' in namespace edge, did you mean default/web-n1?"},
      {{"logs", "web", "-c", "ap"}, "berth: pod default/web-n1 has no container 'ap', did you mean app?"},
      {{"delete", "we"},
       "berth: no pod 'we' in namespace default; did you mean default/web-n1? What changes a pod takes its whole name, "
       "of "
       "another namespace with -n"},
      {{"run", "--dry-run", "--cpus", "two"},
       "berth: --cpus: bad quantity \"two\": no digits; write a number such as 2, 500m or 1.5Gi"},
      {{"run", "--dry-run", "--numa", "left"}, "berth: --numa left: must be numbers of NUMA nodes, as 1 or 0,2-3"},
      {{"run", "--dry-run", "--device", "gpu"}, "berth: --device gpu: must be VENDOR/NAME or VENDOR/NAME=COUNT"}};
  for (const Mistake& mistake : all) {
    const Ran ran = Ask(mistake.words);
    EXPECT_EQ(1, ran.status) << mistake.line;
    EXPECT_EQ(mistake.line, FirstLine(ran.err));
  }
}

}  // namespace
}  // namespace berth
