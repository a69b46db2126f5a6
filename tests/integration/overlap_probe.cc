// First act of a container with CPUs of its own: who else may run on them at this moment? Static, so that it runs in
// any image.
//
//   overlap_probe PROC ROOT [watch]
//
// PROC is where the host's /proc is mounted, ROOT a part of the cgroup paths to look at.
// Prints "cpus LIST overlaps N" and a line for each process that may run on a CPU of LIST and is in a group below ROOT
// that is not the probe's own pod's, or is in its pod's and is no sandbox. Then sleeps until it is ended; `watch`:
// looks on until then, and prints "later PID NAME GROUP" for each process that comes to run there. It has to see at
// least itself: where groups are hidden by a cgroup namespace (v2, containers that are not privileged) it fails.
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string LineOf(const std::string& text, const std::string& key) {
  const std::size_t at = text.find(key);
  if (at == std::string::npos) return "";
  const std::size_t begin = text.find_first_not_of(" \t", at + key.size());
  return text.substr(begin, text.find('\n', begin) - begin);
}

std::vector<bool> Parse(const std::string& list) {
  std::vector<bool> out(4096);
  for (const char* p = list.c_str(); *p != '\0';) {
    char* end = nullptr;
    const unsigned long first = std::strtoul(p, &end, 10);
    if (end == p) break;
    unsigned long last = first;
    if (*end == '-') last = std::strtoul(end + 1, &end, 10);
    for (unsigned long i = first; i <= last && i < out.size(); ++i) out[i] = true;
    p = *end == ',' ? end + 1 : end;
  }
  return out;
}

bool Meet(const std::vector<bool>& a, const std::vector<bool>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] && b[i]) return true;
  return false;
}

/// The cpuset group of a process below ROOT; "" when it is elsewhere.
std::string GroupOf(const std::string& cgroups, const std::string& root) {
  std::istringstream lines(cgroups);
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("0::", 0) == 0 || line.find("cpuset") != std::string::npos)
      if (const std::size_t at = line.find(root + "/"); at != std::string::npos) return line.substr(at);
  return "";
}

/// A process as it is out there, if it may run on one of our CPUs.
struct Seen {
  std::string pid;
  std::string name;
  std::string group;
};

std::vector<Seen> Look(const std::string& proc, const std::string& root, const std::vector<bool>& cpus) {
  std::vector<Seen> out;
  DIR* const dir = ::opendir(proc.c_str());
  if (dir == nullptr) return out;
  while (const dirent* entry = ::readdir(dir)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    const std::string pid = entry->d_name;
    std::string group = GroupOf(ReadAll(proc + "/" + pid + "/cgroup"), root);
    if (group.empty()) continue;
    const std::string status = ReadAll(proc + "/" + pid + "/status");
    if (Meet(cpus, Parse(LineOf(status, "Cpus_allowed_list:")))) out.push_back({pid, LineOf(status, "Name:"), group});
  }
  ::closedir(dir);
  return out;
}

bool IsRunc(const Seen& seen) { return seen.name.rfind("runc", 0) == 0; }

/// Whether it belongs there: the probe itself, its pod's sandbox, or runc that is making one of both.
bool IsOurs(const Seen& seen, const std::string& pod) {
  return seen.group.rfind(pod, 0) == 0 && (IsRunc(seen) || seen.name == "overlap_probe" || seen.name == "sleep");
}

/// Until `ends` comes. Of runc that starts something else nobody can say yet where that will be.
void Watch(const std::string& proc, const std::string& root, const std::vector<bool>& cpus, const std::string& pod,
           const sigset_t& ends) {
  std::set<std::string> told;
  const timespec pause{.tv_sec = 0, .tv_nsec = 5'000'000};
  while (::sigtimedwait(&ends, nullptr, &pause) < 0)
    for (const Seen& seen : Look(proc, root, cpus)) {
      if (IsRunc(seen) || IsOurs(seen, pod) || !told.insert(seen.pid).second) continue;
      std::printf("later %s %s %s\n", seen.pid.c_str(), seen.name.c_str(), seen.group.c_str());
      std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) {
  const bool watches = argc == 4 && std::strcmp(argv[3], "watch") == 0;
  if (argc != 3 && !watches) return 2;
  const std::string mine = LineOf(ReadAll("/proc/self/status"), "Cpus_allowed_list:");
  const std::vector<bool> cpus = Parse(mine);
  const std::vector<Seen> found = Look(argv[1], argv[2], cpus);
  // runc puts what it starts into its group while it is called runc: its CPUs follow a moment after its group.
  const std::vector<Seen> again = Look(argv[1], argv[2], cpus);
  // Our own pid out there is not known in here: the process called as we are, with our CPUs alone.
  std::string pod;
  for (const Seen& seen : found)
    if (pod.empty() && seen.name == "overlap_probe") pod = seen.group.substr(0, seen.group.rfind('/') + 1);
  if (pod.empty()) {
    std::puts("saw not even itself");
    return 3;
  }
  std::string lines;
  int overlaps = 0;
  for (const Seen& seen : found) {
    if (IsOurs(seen, pod)) continue;
    const bool stays = std::any_of(again.begin(), again.end(),
                                   [&](const Seen& other) { return other.pid == seen.pid && other.name == seen.name; });
    if (IsRunc(seen) && !stays) continue;
    ++overlaps;
    lines += seen.pid + " " + seen.name + " " + seen.group + "\n";
  }
  std::printf("cpus %s overlaps %d\n%s", mine.c_str(), overlaps, lines.c_str());
  std::fflush(stdout);
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  if (watches) {
    Watch(argv[1], argv[2], cpus, pod, set);
    return 0;
  }
  int signal = 0;
  ::sigwait(&set, &signal);
  return 0;
}
