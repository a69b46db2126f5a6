#include "frontend/nri_preflight/host_inspection.h"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "config/kubelet_reader.h"
#include "model/kubelet_version.h"
#include "node/checkpoint/kubelet_files.h"

namespace berth::nri_preflight {
namespace {

/// Programs that give containers their CPUs, by the beginning of their name.
constexpr std::array<std::string_view, 3> kRivals = {"nri-resource-policy-", "dracpu", "dra-driver-cpu"};
constexpr std::string_view kPluginFolder = "/opt/nri/plugins";  // containerd's and CRI-O's usual one
constexpr std::size_t kLongestName = 60;

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// "/var/run" is a link to "/run": sockets are known by either.
std::string_view WithoutVar(std::string_view path) { return path.starts_with("/var/run/") ? path.substr(4) : path; }

std::vector<std::string> WordsOf(std::string_view cmdline) {
  std::vector<std::string> out;
  for (const std::string_view word : Split(cmdline, '\0'))
    if (!word.empty()) out.emplace_back(word);
  return out;
}

using Version = std::pair<int, int>;
Version FirstTwo(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  const std::size_t dot = std::min(text.find('.'), text.size());
  const std::string_view rest = text.substr(std::min(dot + 1, text.size()));
  return {ParseDecimal<int>(text.substr(0, dot)).value_or(0),
          ParseDecimal<int>(rest.substr(0, rest.find_first_not_of("0123456789"))).value_or(0)};
}

template <class Parse>
StateFile ReadState(os::Fs& root, std::string path, Parse parse) {
  StateFile out{.path = std::move(path), .policy = "", .problem = ""};
  const auto text = root.Read(out.path);
  if (!text) {
    if (text.error().code != Code::kNotFound) out.problem = text.error().message;
    return out;
  }
  const auto state = parse(*text);
  if (state) {
    out.policy = state->policy;
    out.pods = state->entries.size();
  } else {
    out.problem = state.error().message;
  }
  return out;
}

/// Of the first version that takes it: which one the kubelet is cannot be told from its files.
Result<config::ParsedKubeletConfiguration> ParseOfAnyVersion(std::string_view text, std::string_view file) {
  auto out = config::ParseKubeletConfiguration(text, file, kKubeletVersions.front());
  for (std::size_t i = 1; i < kKubeletVersions.size() && !out; ++i)
    out = config::ParseKubeletConfiguration(text, file, kKubeletVersions[i]);
  return out;
}

}  // namespace

Programs FindPrograms(os::Fs& root) {
  Programs out;
  for (const std::string& name : root.List("/proc").value_or(std::vector<std::string>())) {
    const auto pid = ParseDecimal<int>(name);
    if (!pid) continue;
    const auto cmdline = root.Read("/proc/" + name + "/cmdline");
    if (!cmdline) continue;
    std::vector<std::string> words = WordsOf(*cmdline);
    if (words.empty()) continue;
    const std::string_view program = BaseName(words.front());
    if (program == "kubelet" && out.kubelet == 0) {
      out.kubelet = *pid;
      out.kubelet_flags.assign(words.begin() + 1, words.end());
    } else if (program == "berthd" && out.berthd == 0) {
      out.berthd = *pid;
    } else if (std::ranges::any_of(kRivals, [&](std::string_view rival) { return program.starts_with(rival); })) {
      out.rivals.push_back({.pid = *pid, .name = Printable(program, kLongestName)});
    }
  }
  return out;
}

std::string FlagOf(const std::vector<std::string>& flags, std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    std::string_view flag = flags[i];
    if (!flag.starts_with("--")) continue;
    flag.remove_prefix(2);
    if (!flag.starts_with(name)) continue;
    flag.remove_prefix(name.size());
    if (flag.starts_with('=')) out = flag.substr(1);
    if (flag.empty() && i + 1 < flags.size()) out = flags[i + 1];
  }
  return out;
}

LookedAtKubelet LookAtKubelet(os::Fs& root, const std::string& config_file, const std::string& folder) {
  LookedAtKubelet out;
  KubeletFacts& facts = out.facts;
  facts.cpu_state = ReadState(root, folder + "/cpu_manager_state",
                              [](const std::string& text) { return checkpoint::ParseKubeletCpuState(text); });
  facts.memory_state = ReadState(root, folder + "/memory_manager_state",
                                 [](const std::string& text) { return checkpoint::ParseKubeletMemoryState(text); });
  const auto text = root.Read(config_file);
  if (!text) {
    if (text.error().code != Code::kNotFound) {
      facts.config_file = config_file;
      facts.problem = text.error().message;
    }
    return out;
  }
  facts.config_file = config_file;
  auto parsed = ParseOfAnyVersion(*text, config_file);
  if (!parsed) {
    facts.problem = parsed.error().message;
    return out;
  }
  facts.cpu_policy = parsed->config.cpu_manager_policy;
  facts.memory_policy = parsed->config.memory_manager_policy;
  facts.topology_policy = parsed->config.topology_manager_policy;
  facts.cgroup_driver = parsed->config.cgroup_driver;
  out.config = std::move(parsed->config);
  return out;
}

std::size_t CountJoined(std::string_view unix_sockets, std::string_view socket) {
  // Num RefCount Protocol Flags Type St Inode Path: a listener has a flag, who was let in has the listener's path.
  constexpr std::size_t kFlags = 3;
  constexpr std::size_t kState = 5;
  constexpr std::size_t kPath = 7;
  std::size_t out = 0;
  for (const std::string_view line : Split(unix_sockets, '\n')) {
    const auto words = SplitWords(line);
    if (words.size() == kPath + 1 && words[kFlags] == "00000000" && words[kState] == "03" &&
        WithoutVar(words[kPath]) == WithoutVar(socket))
      ++out;
  }
  return out;
}

std::optional<bool> SaysNriDisabled(std::string_view toml) {
  toml::table file;
  try {
    file = toml::parse(toml);
  } catch (const toml::parse_error&) {
    return std::nullopt;
  }
  if (const auto disabled = file["plugins"]["io.containerd.nri.v1.nri"]["disable"].value<bool>()) return disabled;
  const auto enabled = file["crio"]["nri"]["enable_nri"].value<bool>();
  return enabled ? std::optional(!*enabled) : std::nullopt;
}

std::string NriVersionOf(std::string_view runtime, std::string_view version) {
  const Version v = FirstTwo(version);
  if (runtime != "containerd") return "";
  if (v < Version(1, 7)) return "";
  if (v < Version(2, 0)) return "0.3 to 0.8";
  if (v < Version(2, 2)) return "0.8";
  if (v < Version(2, 3)) return "0.10 or later";
  return "0.12 or later";
}

NriFacts LookAtNri(os::Fs& root, const std::string& socket, const std::string& config_file) {
  NriFacts out{.socket = socket, .version = "", .config_file = ""};
  out.there = root.Exists(socket).value_or(false);
  if (out.there)
    if (const auto sockets = root.Read("/proc/net/unix")) out.joined = CountJoined(*sockets, socket);
  if (const auto toml = root.Read(config_file)) {
    out.config_file = config_file;
    out.disabled = SaysNriDisabled(*toml);
  }
  for (const std::string& name : root.List(kPluginFolder).value_or(std::vector<std::string>()))
    out.launched.push_back(Printable(name, kLongestName));
  return out;
}

std::optional<std::string> CpusetGroupIn(std::string_view groups) {
  std::optional<std::string> out;
  for (const std::string_view line : Split(groups, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first == std::string_view::npos ? first : first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::vector<std::string_view> names = Split(controllers, ',');
    if (std::ranges::find(names, "cpuset") != names.end()) return std::string(line.substr(second + 1));
    if (controllers.empty() && line.starts_with("0:")) out = line.substr(second + 1);
  }
  return out;
}

}  // namespace berth::nri_preflight
