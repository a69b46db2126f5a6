// First act of a container with CPUs of its own: who else may run on them at this moment? Static, so that it runs in
// any image.
//
//   overlap_probe PROC ROOT    PROC: where the host's /proc is mounted; ROOT: part of the cgroup paths to look at
//
// Prints "cpus LIST overlaps N" and a line for each process that may run on a CPU of LIST and is in a group below ROOT
// that is not the probe's own pod's, or is in its pod's and is no sandbox. Then sleeps until it is ended.
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
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
  const std::size_t at = cgroups.find(root + "/");
  return at == std::string::npos ? "" : cgroups.substr(at, cgroups.find('\n', at) - at);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string proc = argv[1];
  const std::string root = argv[2];
  const std::string mine = LineOf(ReadAll("/proc/self/status"), "Cpus_allowed_list:");
  const std::vector<bool> cpus = Parse(mine);
  std::vector<std::string> found;
  std::string own_group;
  // Our own pid out there is not known in here: the process called as we are, with our CPUs alone.
  DIR* const dir = ::opendir(proc.c_str());
  if (dir == nullptr) return 3;
  std::vector<std::string> pids;
  while (const dirent* entry = ::readdir(dir))
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') pids.emplace_back(entry->d_name);
  ::closedir(dir);
  for (const std::string& pid : pids) {
    const std::string status = ReadAll(proc + "/" + pid + "/status");
    const std::string group = GroupOf(ReadAll(proc + "/" + pid + "/cgroup"), root);
    const std::string name = LineOf(status, "Name:");
    if (group.empty() || name.rfind("runc", 0) == 0) continue;  // runc is on its way to becoming a container
    if (!Meet(cpus, Parse(LineOf(status, "Cpus_allowed_list:")))) continue;
    if (name == "overlap_probe" && own_group.empty()) {
      own_group = group;
      continue;
    }
    found.push_back(pid + " " + name + " " + group);
  }
  const std::string pod = own_group.substr(0, own_group.rfind('/'));
  std::string lines;
  int overlaps = 0;
  for (const std::string& line : found) {
    const bool sandbox =
        !pod.empty() && line.find(pod + "/") != std::string::npos && line.find(" sleep ") != std::string::npos;
    if (sandbox) continue;
    ++overlaps;
    lines += line + "\n";
  }
  std::printf("cpus %s overlaps %d\n%s", mine.c_str(), overlaps, lines.c_str());
  std::fflush(stdout);
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  int signal = 0;
  ::sigwait(&set, &signal);
  return 0;
}
