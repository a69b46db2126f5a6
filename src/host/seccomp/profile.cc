#include "host/seccomp/profile.h"

#include <fcntl.h>
#include <seccomp.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "host/os/beneath.h"
#include "host/os/unique_fd.h"
#include "host/seccomp/builder.h"

namespace berth::seccomp {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestProfile = std::size_t{1} << 20;
constexpr unsigned kMostArguments = 6;
constexpr int kMostErrno = 4095;
constexpr std::size_t kMostTests = 64;  // of one call

/// The first thing that is wrong with a profile; reading goes on to its end with empty values.
class Faults {
 public:
  void Refuse(std::string text) {
    if (first_.empty()) first_ = std::move(text);
  }
  const std::string& first() const { return first_; }

 private:
  std::string first_;
};

void OnlyFields(Faults& faults, const Json& object, const std::string& where,
                std::initializer_list<std::string_view> known) {
  if (!object.is_object()) faults.Refuse(where + " is no object");
  for (const auto& [key, value] : object.items())
    if (std::ranges::find(known, key) == known.end() && !value.is_null())
      faults.Refuse(where + "." + Printable(key, 40) + " is not carried out");
}

const Json& FieldOf(const Json& object, const char* key) {
  static const Json kNothing;
  const auto it = object.find(key);
  return it == object.end() ? kNothing : *it;
}

std::string TextOf(Faults& faults, const Json& value, const std::string& where) {
  if (!value.is_string()) {
    faults.Refuse(where + " is no text");
    return "";
  }
  return value.get<std::string>();
}

std::uint64_t NumberOf(Faults& faults, const Json& value, const std::string& where) {
  if (!value.is_number_unsigned()) {
    faults.Refuse(where + " is no whole number");
    return 0;
  }
  return value.get<std::uint64_t>();
}

std::vector<std::string> TextsOf(Faults& faults, const Json& list, const std::string& where) {
  std::vector<std::string> out;
  if (list.is_null()) return out;
  if (!list.is_array()) faults.Refuse(where + " is no list");
  for (const Json& item : list) out.push_back(TextOf(faults, item, where));
  return out;
}

std::uint32_t ActionOf(Faults& faults, const Json& name, const Json& answer, const std::string& where) {
  static const std::map<std::string, std::uint32_t> kActions = {{"SCMP_ACT_KILL", SCMP_ACT_KILL_THREAD},
                                                                {"SCMP_ACT_KILL_THREAD", SCMP_ACT_KILL_THREAD},
                                                                {"SCMP_ACT_KILL_PROCESS", SCMP_ACT_KILL_PROCESS},
                                                                {"SCMP_ACT_TRAP", SCMP_ACT_TRAP},
                                                                {"SCMP_ACT_ALLOW", SCMP_ACT_ALLOW},
                                                                {"SCMP_ACT_LOG", SCMP_ACT_LOG}};
  const std::string text = TextOf(faults, name, where);
  std::uint64_t number = EPERM;
  if (!answer.is_null()) number = NumberOf(faults, answer, where + "'s errnoRet");
  if (number > kMostErrno) faults.Refuse(where + "'s errnoRet is no error number");
  if (text == "SCMP_ACT_ERRNO") return SCMP_ACT_ERRNO(static_cast<std::uint16_t>(number));
  const auto it = kActions.find(text);
  if (it != kActions.end()) return it->second;
  faults.Refuse(where + " \"" + Printable(text, 40) +
                "\" is not carried out; there are SCMP_ACT_ALLOW, ERRNO, LOG, TRAP, KILL_PROCESS and KILL_THREAD");
  return SCMP_ACT_KILL_PROCESS;
}

std::uint32_t ArchitectureOf(Faults& faults, const std::string& name) {
  static const std::map<std::string, std::uint32_t> kTokens = {{"SCMP_ARCH_X86_64", SCMP_ARCH_X86_64},
                                                               {"SCMP_ARCH_X86", SCMP_ARCH_X86},
                                                               {"SCMP_ARCH_X32", SCMP_ARCH_X32},
                                                               {"SCMP_ARCH_ARM", SCMP_ARCH_ARM},
                                                               {"SCMP_ARCH_AARCH64", SCMP_ARCH_AARCH64},
                                                               {"SCMP_ARCH_MIPS", 0},
                                                               {"SCMP_ARCH_MIPS64", 0},
                                                               {"SCMP_ARCH_MIPS64N32", 0},
                                                               {"SCMP_ARCH_MIPSEL", 0},
                                                               {"SCMP_ARCH_MIPSEL64", 0},
                                                               {"SCMP_ARCH_MIPSEL64N32", 0},
                                                               {"SCMP_ARCH_PPC", 0},
                                                               {"SCMP_ARCH_PPC64", 0},
                                                               {"SCMP_ARCH_PPC64LE", 0},
                                                               {"SCMP_ARCH_S390", 0},
                                                               {"SCMP_ARCH_S390X", 0},
                                                               {"SCMP_ARCH_RISCV64", 0},
                                                               {"SCMP_ARCH_PARISC", 0},
                                                               {"SCMP_ARCH_PARISC64", 0},
                                                               {"SCMP_ARCH_LOONGARCH64", 0}};
  const auto it = kTokens.find(name);
  if (it != kTokens.end()) return it->second;
  faults.Refuse("architecture \"" + Printable(name, 40) + "\" is unknown");
  return 0;
}

/// Whether this machine's kernel runs programs of that architecture.
bool RunsHere(std::uint32_t token) {
#if defined(__x86_64__)
  return token == SCMP_ARCH_X86_64 || token == SCMP_ARCH_X86 || token == SCMP_ARCH_X32;
#else
  return token == SCMP_ARCH_AARCH64 || token == SCMP_ARCH_ARM;
#endif
}

int OperatorOf(Faults& faults, const std::string& name, const std::string& where) {
  constexpr std::array<std::pair<std::string_view, int>, 7> kOperators = {{{"SCMP_CMP_NE", SCMP_CMP_NE},
                                                                           {"SCMP_CMP_LT", SCMP_CMP_LT},
                                                                           {"SCMP_CMP_LE", SCMP_CMP_LE},
                                                                           {"SCMP_CMP_EQ", SCMP_CMP_EQ},
                                                                           {"SCMP_CMP_GE", SCMP_CMP_GE},
                                                                           {"SCMP_CMP_GT", SCMP_CMP_GT},
                                                                           {"SCMP_CMP_MASKED_EQ", SCMP_CMP_MASKED_EQ}}};
  for (const auto& [text, op] : kOperators)
    if (text == name) return op;
  faults.Refuse(where + " \"" + Printable(name, 40) + "\" is no operator");
  return SCMP_CMP_EQ;
}

std::vector<ArgumentTest> TestsOf(Faults& faults, const Json& list, const std::string& where) {
  std::vector<ArgumentTest> out;
  if (list.is_null()) return out;
  if (!list.is_array() || list.size() > kMostTests) {
    faults.Refuse(where + " is no list of at most " + std::to_string(kMostTests));
    return out;
  }
  for (const Json& item : list) {
    OnlyFields(faults, item, where, {"index", "value", "valueTwo", "op"});
    ArgumentTest test;
    const std::uint64_t index = NumberOf(faults, FieldOf(item, "index"), where + ".index");
    if (index >= kMostArguments) faults.Refuse(where + ".index is above 5");
    test.index = static_cast<unsigned>(index);
    test.op = OperatorOf(faults, TextOf(faults, FieldOf(item, "op"), where + ".op"), where + ".op");
    test.value = NumberOf(faults, FieldOf(item, "value"), where + ".value");
    if (const Json& second = FieldOf(item, "valueTwo"); !second.is_null())
      test.second = NumberOf(faults, second, where + ".valueTwo");
    out.push_back(test);
  }
  return out;
}

/// As runc: several tests of one argument are rules of their own, each of which is enough.
std::vector<std::vector<ArgumentTest>> RulesOf(const std::vector<ArgumentTest>& tests) {
  for (std::size_t i = 0; i < tests.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (tests[i].index == tests[j].index) {
        std::vector<std::vector<ArgumentTest>> out;
        for (const ArgumentTest& test : tests) out.push_back({test});
        return out;
      }
  return {tests};
}

// ---- docker's conditions ----

bool HasAny(const std::vector<std::string>& names, os::CapabilitySet capabilities) {
  return std::ranges::any_of(names, [&](const std::string& name) {
    const std::optional<int> number = os::CapabilityNumber(name);
    return number && (capabilities & os::CapabilityBit(*number)) != 0;
  });
}

bool IsHere(const std::vector<std::string>& architectures) {
#if defined(__x86_64__)
  constexpr std::array<std::string_view, 3> kHere = {"amd64", "x86", "x32"};
#else
  constexpr std::array<std::string_view, 2> kHere = {"arm64", "arm"};
#endif
  return std::ranges::any_of(architectures,
                             [&](const std::string& name) { return std::ranges::find(kHere, name) != kHere.end(); });
}

/// "4.8" is at or below this kernel's version.
bool KernelIsAtLeast(Faults& faults, const std::string& text, const std::string& where) {
  const auto read = [&](std::string_view version) -> std::optional<std::pair<int, int>> {
    const std::vector<std::string_view> parts = Split(version, '.');
    if (parts.size() < 2) return std::nullopt;
    const std::string_view minor = parts[1].substr(0, parts[1].find_first_not_of("0123456789"));
    const auto first = ParseDecimal<int>(parts[0]);
    const auto second = ParseDecimal<int>(minor);
    if (!first || !second) return std::nullopt;
    return std::pair(*first, *second);
  };
  const auto wanted = read(text);
  if (!wanted) {
    faults.Refuse(where + " \"" + Printable(text, 20) + "\" is no version");
    return false;
  }
  utsname name{};
  ::uname(&name);
  const auto here = read(name.release);
  return here && *here >= *wanted;
}

bool Applies(Faults& faults, const Json& rule, const std::string& where, os::CapabilitySet capabilities) {
  const Json& in = FieldOf(rule, "includes");
  if (!in.is_null()) {
    OnlyFields(faults, in, where + ".includes", {"caps", "arches", "minKernel"});
    const auto caps = TextsOf(faults, FieldOf(in, "caps"), where + ".includes.caps");
    const auto arches = TextsOf(faults, FieldOf(in, "arches"), where + ".includes.arches");
    if (!caps.empty() && !std::ranges::all_of(caps, [&](const auto& c) { return HasAny({c}, capabilities); }))
      return false;
    if (!arches.empty() && !IsHere(arches)) return false;
    if (const Json& kernel = FieldOf(in, "minKernel"); !kernel.is_null())
      if (!KernelIsAtLeast(faults, TextOf(faults, kernel, where), where + ".includes.minKernel")) return false;
  }
  const Json& out = FieldOf(rule, "excludes");
  if (out.is_null()) return true;
  OnlyFields(faults, out, where + ".excludes", {"caps", "arches", "minKernel"});
  if (HasAny(TextsOf(faults, FieldOf(out, "caps"), where + ".excludes.caps"), capabilities)) return false;
  if (IsHere(TextsOf(faults, FieldOf(out, "arches"), where + ".excludes.arches"))) return false;
  const Json& kernel = FieldOf(out, "minKernel");
  return kernel.is_null() || !KernelIsAtLeast(faults, TextOf(faults, kernel, where), where + ".excludes.minKernel");
}

// ---- a profile ----

void Succeed(Faults& faults, Result<void> done) {
  if (!done) faults.Refuse(std::move(done).error().message);
}

void AddArchitectures(Faults& faults, const Json& profile, Builder& builder) {
  const auto add = [&](const std::string& name) {
    if (const std::uint32_t token = ArchitectureOf(faults, name); RunsHere(token))
      Succeed(faults, builder.AddArchitecture(token));
  };
  for (const std::string& name : TextsOf(faults, FieldOf(profile, "architectures"), "architectures")) add(name);
  const Json& map = FieldOf(profile, "archMap");
  if (map.is_null()) return;
  if (!map.is_array()) faults.Refuse("archMap is no list");
  for (const Json& entry : map) {
    OnlyFields(faults, entry, "archMap[]", {"architecture", "subArchitectures"});
    const std::string main = TextOf(faults, FieldOf(entry, "architecture"), "archMap[].architecture");
    const std::uint32_t token = ArchitectureOf(faults, main);
    if (token == 0 || token != ::seccomp_arch_native()) continue;
    for (const std::string& name : TextsOf(faults, FieldOf(entry, "subArchitectures"), "archMap[].subArchitectures"))
      add(name);
  }
}

void AddCalls(Faults& faults, const Json& rule, const std::string& where, os::CapabilitySet capabilities,
              Builder& builder) {
  OnlyFields(faults, rule, where, {"names", "name", "action", "errnoRet", "args", "includes", "excludes", "comment"});
  const std::uint32_t action = ActionOf(faults, FieldOf(rule, "action"), FieldOf(rule, "errnoRet"), where + ".action");
  std::vector<std::string> names = TextsOf(faults, FieldOf(rule, "names"), where + ".names");
  if (const Json& name = FieldOf(rule, "name"); !name.is_null()) names.push_back(TextOf(faults, name, where + ".name"));
  if (names.empty()) faults.Refuse(where + ".names is empty");
  const std::vector<ArgumentTest> tests = TestsOf(faults, FieldOf(rule, "args"), where + ".args");
  if (!Applies(faults, rule, where, capabilities)) return;
  for (const std::string& name : names)
    for (const std::vector<ArgumentTest>& each : RulesOf(tests)) Succeed(faults, builder.AddRule(action, name, each));
}

Result<os::SeccompProgram> Compile(Faults& faults, const Json& profile, os::CapabilitySet capabilities) {
  OnlyFields(faults, profile, "the profile",
             {"defaultAction", "defaultErrnoRet", "architectures", "archMap", "syscalls", "comment"});
  const std::uint32_t fallback =
      ActionOf(faults, FieldOf(profile, "defaultAction"), FieldOf(profile, "defaultErrnoRet"), "defaultAction");
  BERTH_TRY(Builder builder, Builder::Make(fallback));
  AddArchitectures(faults, profile, builder);
  const Json& calls = FieldOf(profile, "syscalls");
  if (!calls.is_null() && !calls.is_array()) faults.Refuse("syscalls is no list");
  std::size_t at = 0;
  for (const Json& rule : calls)
    AddCalls(faults, rule, "syscalls[" + std::to_string(at++) + "]", capabilities, builder);
  return builder.Compile();
}

Result<std::string> TextOfProfile(const std::string& root, const std::string& name) {
  BERTH_TRY(const os::UniqueFd place, os::OpenBeneath(root, name));
  struct stat of{};
  const std::string path = root + "/" + name;
  if (::fstat(place.get(), &of) != 0) return FailErrno("look at", path, errno);
  if (!S_ISREG(of.st_mode)) return Fail(Code::kInvalid, Printable(path) + " is no regular file");
  const std::string again = "/proc/self/fd/" + std::to_string(place.get());
  const os::UniqueFd file(::open(again.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return FailErrno("open", path, errno);
  std::string out(kLongestProfile + 1, '\0');
  std::size_t size = 0;
  for (ssize_t n = 0; size < out.size(); size += static_cast<std::size_t>(n)) {
    n = ::read(file.get(), out.data() + size, out.size() - size);
    if (n < 0) return FailErrno("read", path, errno);
    if (n == 0) break;
  }
  if (size > kLongestProfile) return Fail(Code::kInvalid, Printable(path) + " is larger than 1 MiB");
  out.resize(size);
  return out;
}

}  // namespace

Result<os::SeccompProgram> CompileProfile(std::string_view json, os::CapabilitySet capabilities) {
  const Json profile = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (profile.is_discarded()) return Fail(Code::kInvalid, "seccomp profile: it is no JSON");
  Faults faults;
  Result<os::SeccompProgram> program = Compile(faults, profile, capabilities);
  if (!faults.first().empty()) return Fail(Code::kInvalid, "seccomp profile: " + faults.first());
  return program;
}

Result<os::SeccompProgram> Localhost(const std::string& root, const std::string& name, os::CapabilitySet capabilities) {
  BERTH_TRY(const std::string text, TextOfProfile(root, name));
  auto program = CompileProfile(text, capabilities);
  if (!program) return Wrap(std::move(program).error(), Printable(root + "/" + name));
  return program;
}

}  // namespace berth::seccomp
