# SPDX-License-Identifier: MIT
#
# Bash completes what ptosim says that there is: verbs and options (--help), programs, kernels, chips, models, policies (list),
# and cases and settings of the program that the line names (list programs NAME).  Files are for bash itself.

_ptosim_names() { "$ptosim" list "$1" 2>/dev/null | sed 's/ .*//'; }
# The words of one program's lines that begin with an option: "--case 256x16" of bgemm.
_ptosim_of_program() {
  local word
  for word in "${COMP_WORDS[@]:2}"; do
    [[ $word == -* ]] || "$ptosim" list programs "$word" 2>/dev/null | sed -n "s/^ *--$1 \\([^ =]*=\\{0,1\\}\\).*/\\1/p"
  done
}
_ptosim_verbs() { "$ptosim" --help | sed -n 's/^  ptosim \([a-z-]*\) .*/\1/p'; }
_ptosim_options() { "$ptosim" "$verb" --help 2>/dev/null | sed -n 's/^  \(--[a-z0-9-]*\).*/\1/p'; }

_ptosim() {
  local ptosim=${COMP_WORDS[0]} verb=${COMP_WORDS[1]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=''
  [ "$word" = = ] && word=''
  [ "$before" = = ] && before=${COMP_WORDS[COMP_CWORD - 2]}
  if [ "$COMP_CWORD" = 1 ]; then
    words="$(_ptosim_verbs) --help --version"
  else
    case $before in
      --engine) words='threads virtual' ;;
      --chip) words=$(_ptosim_names chips) ;;
      --policy) words=$(_ptosim_names policies) ;;
      --deps) words='exact pto' ;;
      --model) words=$(_ptosim_names models) ;;
      --case) words=$(_ptosim_of_program case) ;;
      --set) words=$(_ptosim_of_program set) && compopt -o nospace ;;
      *)
        case $verb:$word in
          *:-*) words=$(_ptosim_options) ;;
          list:*) [ "$COMP_CWORD" = 2 ] && words='programs kernels ops fusions models chips policies' || words=$(_ptosim_names "${COMP_WORDS[2]}") ;;
          op:*) [ "$COMP_CWORD" = 2 ] && words='test perf support' || words=$(_ptosim_names kernels; _ptosim_names ops) ;;
          run:* | check:* | why:* | explore:* | perf:* | suite:* | predict:* | what-if:* | compare:* | diff:*) words=$(_ptosim_names programs) ;;
        esac
        ;;
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _ptosim ptosim
