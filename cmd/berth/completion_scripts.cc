// One small script per shell. They know no command: every word comes from `berth __complete`.
#include "berth/registry.h"

namespace berth::cli {
namespace {

constexpr std::string_view kBash = R"(# bash completion for berth: save as /usr/share/bash-completion/completions/berth
# or: source <(berth completion bash)
_berth() {
  local current=${COMP_WORDS[COMP_CWORD]} line
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current")
    else
      COMPREPLY+=("${line%%$'\t'*}")
    fi
  done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _berth berth
)";

constexpr std::string_view kZsh = R"(#compdef berth
# zsh completion for berth: save as _berth in a folder of $fpath
# or: source <(berth completion zsh)
_berth() {
  local line files=0
  local -a candidates
  for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ $line == :files ]]; then
      files=1
    elif [[ $line == *$'\t'* ]]; then
      candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    elif [[ -n $line ]]; then
      candidates+=("${line//:/\\:}")
    fi
  done
  (( files )) && _files
  (( ${#candidates} )) && _describe 'berth' candidates
}
if [[ ${funcstack[1]} == _berth ]]; then
  _berth "$@"
else
  compdef _berth berth
fi
)";

constexpr std::string_view kFish = R"(# fish completion for berth: save as ~/.config/fish/completions/berth.fish
# or: berth completion fish | source
function __berth_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    test -n "$current"; or set current ""
    for line in ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path "$current"
        else
            echo "$line"
        end
    end
end
complete -c berth -f -a '(__berth_complete)'
)";

}  // namespace

std::string_view CompletionScript(std::string_view shell) {
  if (shell == "zsh") return kZsh;
  return shell == "fish" ? kFish : kBash;
}

}  // namespace berth::cli
