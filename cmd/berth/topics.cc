#include "berth/topics.h"

namespace berth::cli {
namespace {

constexpr const char* kAnnotations =
    R"(On pods of a node that berthd runs itself Berth knows no annotations that place containers: what a
container gets follows from its requests and limits, and from the node's policies (help policies).

Beside a kubelet it knows those of nri-plugins' resource policies, with .resource-policy.nri.io behind
the key, for one container (KEY/container.NAME) or for all (KEY/pod, or KEY alone):

  prefer-shared-cpus: "true"    no CPUs of its own, whatever it asks for
  cpu.preserve: "true"          the same

All others have no effect, and the event AnnotationIgnored says so.

Workloads that become pods by apply --as-pods keep the annotations of their templates.
More: docs/reference/annotations.md
)";

constexpr const char* kEnvironment =
    R"(BERTH_SOCKET    berthd's socket, unless --socket says another; else /run/berth/berth.sock
NO_COLOR        not empty: no colours, unless --color always
TERM            "dumb" or not set: berth top prints text instead of filling the screen
LANG, LC_ALL    whether the locale's characters are UTF-8; if not, berth map draws with ASCII

PATH, HOME, USER, LANG, LC_ALL and TZ are what berth run -d hands on of yours; more with -e.
)";

constexpr const char* kExitStatus = R"(0    done; for simulate, explain and apply --wait: every pod was admitted
1    failed; also: something differs (diff, tree --wrong), a promise is broken (state verify)
2    the command line was wrong
3    a pod was not admitted (run, simulate, explain, apply --wait); something is in the way (check)
4    berthd is not reachable on its socket; for check: no container runtime is

run and exec end with the status of the command they ran: 126 it cannot be executed, 127 it was not
found, 128 + N it was killed by signal N; exec also 124 after --timeout.

A command on several files or pods goes on after an error; the highest status counts.
)";

constexpr const char* kOutput = R"(-o table       for people (default), cut to the terminal's width
-o wide        more columns, never cut
-o json, yaml  for programs: stable field names, described by docs/reference/schema
-o jsonpath=T  what paths find in the JSON, in kubectl's words
-o name        NAMESPACE/NAME of pods, NAME:TAG of images, for other commands
-o svg, png    a drawing (map, simulate --cluster); png takes librsvg2-2
-o html        a page with the drawing (map)

Paths begin at the whole answer:
  {.pods[*].name}                            all names, a blank between
  {.pods[0].containers[-1].cpus}             first pod, last container
  {.pods[?(@.phase=="Running")].name}        those that run; == != < <= > >=
  {.pods[0].labels['example.com/zone']}      a name with dots
  {range .pods[*]}{.name}{"\t"}{.uid}{"\n"}{end}

Messages go to standard error, so that what is piped is only the answer.
)";

constexpr const char* kPolicies =
    R"(A node's policies are the kubelet's, in a KubeletConfiguration (berthd --kubelet-config, simulate -c);
berth node shows those in force.

cpuManagerPolicy       none: everybody shares all CPUs. static: a container of a Guaranteed pod that asks
                       for whole CPUs has them for itself; all others share the rest
cpuManagerPolicyOptions  full-pcpus-only, distribute-cpus-across-numa, align-by-socket,
                       distribute-cpus-across-cores, strict-cpu-reservation, prefer-align-cpus-by-uncorecache
memoryManagerPolicy    None, or Static: Guaranteed pods' memory comes from their NUMA nodes
topologyManagerPolicy  none; best-effort: CPUs, memory and devices from the same NUMA nodes if that can be;
                       restricted: else the pod is rejected; single-numa-node: from one, or rejected
topologyManagerScope   container: one by one; pod: all containers of a pod together
reservedSystemCPUs     never anybody's own

Guaranteed: every container's requests equal its limits, for CPU and memory.
More: docs/rules
)";

constexpr const char* kReasons =
    R"(Why a pod was not admitted (berth describe POD; berth explain -f FILE says what would help):

OutOfcpu, OutOfmemory, OutOfpods, OutOf...  more than the node has left for pods
TopologyAffinityError     not from NUMA nodes as the topology policy wants it
SMTAlignmentError         no whole cores, and full-pcpus-only asks for them
UnexpectedAdmissionError  not enough CPUs, memory or devices to take, or something unforeseen

Why it waits: LedgerNotSaved, NodeUnderPressure, WaitingForRelease, PoolNotInForce: berth describe node.
Why it ended: Evicted, DeadlineExceeded.

Why a container waits: PodInitializing, ContainerCreating, CrashLoopBackOff, ErrImagePull,
ErrImageNeverPull, CreateContainerConfigError, CreateContainerError.
Why it ended: Completed, Error, OOMKilled, StartError, ContainerStatusUnknown.
)";

constexpr const char* kSelectors =
    R"(-l chooses pods by their labels (pods, delete, restart), as kubectl does. All parts have to fit:

  app=web  app==web      the label has this value
  tier!=db               it has not, or there is no such label
  env in (test,stage)    one of these
  env notin (prod)       none of these, or no such label
  gpu                    there is such a label
  !old                   there is none

Parts are separated by commas: -l 'app=web,env in (test,stage),!old'.
)";

constexpr const char* kUnits = R"(CPU       1 is a CPU, that is a hardware thread; 500m is half of one
memory    bytes; Ki, Mi, Gi, Ti are powers of 1024, k, M, G, T of 1000: 512Mi, 4Gi, 1.5G
CPU sets  the kernel's lists: 0-3,8 is CPUs 0, 1, 2, 3 and 8, by the numbers the kernel gives them
times     durations 90s, 10m, 2h, 1h30m; points in time as RFC 3339: 2026-01-02T03:04:05Z
ages      12s, 5m, 3h20m, 4d

top shows CPU in thousandths of one (1500m are one and a half) and memory in KiB, MiB, GiB.
)";

}  // namespace

const std::vector<Topic>& AllTopics() {
  static const std::vector<Topic> topics = {
      {"annotations", "What annotations of pods do", kAnnotations},
      {"environment", "Variables that berth heeds", kEnvironment},
      {"exit-status", "What each exit status means", kExitStatus},
      {"output", "Formats of answers, and jsonpath", kOutput},
      {"policies", "What decides where containers run", kPolicies},
      {"reasons", "Why pods are rejected, wait or have ended", kReasons},
      {"selectors", "Pods by their labels", kSelectors},
      {"units", "Amounts, CPU sets and times", kUnits},
  };
  return topics;
}

}  // namespace berth::cli
