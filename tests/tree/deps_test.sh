#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# scripts/deps on machines that lack something: a compiler that lacks headers, apt-get, sudo and id are stood in for by
# scripts that write down how they were called.
set -u
top=$(realpath "$(dirname "$0")/../..")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
mkdir -p "$work/tree/scripts" "$work/bin"
cp "$top/scripts/deps" "$work/tree/scripts"
real_cc=$(command -v "${CC:-cc}")
unset CC

# The compiler knows the headers of all packages but those listed in the file `absent`; what apt-get installs leaves it.
cat >"$work/bin/cc" <<EOT
#!/bin/bash
sed -E 's/^#if !__has_include\(<(.*)>\)\$/#if !PRESENT(\1)/' | while read -r line; do
  case \$line in
    '#if !PRESENT('*) read -r package; package=\${package#missing }; read -r _
      grep -qx "\$package" "$work/absent" && echo "missing \$package" ;;
  esac
done
EOT
cat >"$work/bin/apt-get" <<EOT
#!/bin/bash
echo "apt-get \$*" >>"$work/calls"
[ "\$1" = update ] && { touch "$work/updated"; exit 0; }
[ -f "$work/needs-update" ] && [ ! -f "$work/updated" ] && exit 100
for package in "\$@"; do
  case \$package in install | -* | DPkg*) continue ;; esac
  grep -qx "\$package" "$work/unknown" && exit 100
done
for package in "\$@"; do sed -i "/^\$package\\\$/d" "$work/absent"; done
EOT
cat >"$work/bin/sudo" <<EOT
#!/bin/bash
[ -f "$work/sudo-works" ] || exit 1
shift
"\$@"
EOT
printf '#!/bin/bash\ncat "%s"\n' "$work/id" >"$work/bin/id"
chmod +x "$work"/bin/*
[ -x "$real_cc" ] || { echo 'no compiler'; exit 77; }

machine() { # UID ABSENT…
  rm -rf "$work"/{calls,updated,needs-update,sudo-works} "$work/tree/build"
  echo "$1" >"$work/id"
  shift
  printf '%s\n' "$@" >"$work/absent"
  : >"$work/unknown"
  : >"$work/calls"
}
run() { PATH=$work/bin:$PATH "$work/tree/scripts/deps" "$@" >"$work/out" 2>&1; echo $? >"$work/status"; }
holds() { # WHAT COMMAND…
  local what=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "$what: not so"
    cat "$work/out" "$work/calls"
  fi
}
status_is() { [ "$(cat "$work/status")" = "$1" ]; }
says() { grep -qF -- "$1" "$work/out"; }
called() { grep -qE -- "$1" "$work/calls"; }
silent() { [ ! -s "$work/out" ]; }
untouched() { [ ! -s "$work/calls" ]; }

machine 0
run
holds 'with all there, nothing is said' silent
holds 'and nothing is called' untouched
holds 'and all is well' status_is 0

machine 0 libcmocka-dev libnuma-dev
run
holds 'root installs what is missing' called '^apt-get install .*libcmocka-dev libnuma-dev'
holds 'without fetching lists first' bash -c "! grep -q update '$work/calls'"
holds 'and succeeds' status_is 0

machine 0 libjansson-dev
touch "$work/needs-update"
run
holds 'lists are fetched where apt needs them' called '^apt-get update'
holds 'and the package is there then' status_is 0

machine 0 libpapi-dev libcmocka-dev
echo libpapi-dev >"$work/unknown"
run
holds 'a package that is unknown keeps no other away' bash -c "! grep -q cmocka '$work/absent'"
holds 'its absence is told' says 'Could not be installed: libpapi-dev'
holds 'and goes on' status_is 0
: >"$work/calls"
run
holds 'it is not tried again' untouched
holds 'which is told' says 'make deps tries again'
run --always
holds 'but on demand' called '^apt-get install'

machine 0 libtbb-dev libstarpu-dev
run
holds 'what only benches compare with is nothing else'"'"'s need' untouched
run --bench
holds 'but theirs' called '^apt-get install .*libtbb-dev libstarpu-dev'

machine 0 libjansson-dev
echo libjansson-dev >"$work/unknown"
run
holds 'without a required library it fails' status_is 1

machine 1000 libcmocka-dev libjansson-dev
run
holds 'without rights the one line is printed' says 'sudo apt-get install -y libjansson-dev libcmocka-dev'
holds 'nothing is tried' untouched
holds 'a required library is missing' status_is 1
machine 1000 libcmocka-dev
run
holds 'an optional one does not stop' status_is 0

machine 1000 libcmocka-dev
touch "$work/sudo-works"
run
holds 'sudo without a password is used' called '^apt-get install .*libcmocka-dev'

echo "$passed passed, $failed failed"
[ $failed = 0 ]
