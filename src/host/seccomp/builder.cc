#include "host/seccomp/builder.h"

#include <linux/filter.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "host/os/unique_fd.h"

namespace berth::seccomp {
namespace {

constexpr std::size_t kMostInstructions = BPF_MAXINSNS;
constexpr int kEnoughNumbers = 1024;  // calls have numbers below that, on all architectures with Linux's common table

/// libseccomp answers negative error numbers.
std::unexpected<Error> Failed(const char* what, const std::string& name, int answer) {
  return FailErrno(what, name, -answer);
}

}  // namespace

struct Builder::Context {
  scmp_filter_ctx filter = nullptr;
  ~Context() { ::seccomp_release(filter); }
};

Builder::Builder(std::unique_ptr<Context> context) : context_(std::move(context)) {}
Builder::Builder(Builder&&) noexcept = default;
Builder& Builder::operator=(Builder&&) noexcept = default;
Builder::~Builder() = default;

Result<Builder> Builder::Make(std::uint32_t default_action) {
  auto context = std::make_unique<Context>();
  context->filter = ::seccomp_init(default_action);
  if (context->filter == nullptr) return Fail(Code::kInvalid, "make a seccomp filter: its default action is unknown");
  constexpr std::uint32_t kBinaryTree = 2;  // some ten steps a call, not hundreds
  if (const int answer = ::seccomp_attr_set(context->filter, SCMP_FLTATR_CTL_OPTIMIZE, kBinaryTree); answer != 0)
    return Failed("make a seccomp filter", "", answer);
  Builder out(std::move(context));
  out.default_action_ = default_action;
  return out;
}

Result<void> Builder::AddArchitecture(std::uint32_t token) {
  const int answer = ::seccomp_arch_add(context_->filter, token);
  if (answer != 0 && answer != -EEXIST) return Failed("add an architecture to a seccomp filter", "", answer);
  return {};
}

Result<void> Builder::AddRule(std::uint32_t action, const std::string& call, const std::vector<ArgumentTest>& tests) {
  if (action == default_action_) return {};
  const int number = ::seccomp_syscall_resolve_name(call.c_str());
  if (number == __NR_SCMP_ERROR) return {};
  std::vector<scmp_arg_cmp> compared;
  for (const ArgumentTest& test : tests)
    compared.push_back({test.index, static_cast<scmp_compare>(test.op), test.value, test.second});
  const int answer = ::seccomp_rule_add_array(context_->filter, action, number, static_cast<unsigned>(compared.size()),
                                              compared.data());
  if (answer != 0) return Failed("add a rule to a seccomp filter for", call, answer);
  return {};
}

Result<os::SeccompProgram> Builder::Compile() {
  const os::UniqueFd file(::memfd_create("seccomp", MFD_CLOEXEC));
  if (!file.valid()) return FailErrno("make a file in memory", "", errno);
  if (const int answer = ::seccomp_export_bpf(context_->filter, file.get()); answer != 0)
    return Failed("compile a seccomp filter", "", answer);
  const off_t bytes = ::lseek(file.get(), 0, SEEK_END);
  os::SeccompProgram out(static_cast<std::size_t>(bytes) / sizeof(os::SeccompProgram::value_type));
  if (out.empty() || out.size() > kMostInstructions)
    return Fail(Code::kInvalid, "the seccomp filter has " + std::to_string(out.size()) +
                                    " instructions; the kernel takes 1 to " + std::to_string(kMostInstructions));
  if (::pread(file.get(), out.data(), static_cast<std::size_t>(bytes), 0) != bytes)
    return FailErrno("read a seccomp filter", "", errno);
  return out;
}

std::vector<std::string> KnownCalls(std::uint32_t architecture) {
  std::vector<std::string> out;
  for (int number = 0; number < kEnoughNumbers; ++number) {
    const std::unique_ptr<char, decltype(&std::free)> name(::seccomp_syscall_resolve_num_arch(architecture, number),
                                                           &std::free);
    if (name != nullptr) out.emplace_back(name.get());
  }
  return out;
}

std::uint32_t LastKnownCall(std::uint32_t architecture) {
  std::uint32_t last = 0;
  for (int number = 0; number < kEnoughNumbers; ++number) {
    const std::unique_ptr<char, decltype(&std::free)> name(::seccomp_syscall_resolve_num_arch(architecture, number),
                                                           &std::free);
    if (name != nullptr) last = static_cast<std::uint32_t>(number);
  }
  return last;
}

}  // namespace berth::seccomp
