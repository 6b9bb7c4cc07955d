# SPDX-License-Identifier: MIT
#
# For test scripts, which source it: a root folder that has these packages of this machine, what they need, and nothing else; dpkg
# in it knows them.  Needs Debian, root, and leave to mount; no network.
#
#   clean_root_is_possible            whether; says why not
#   clean_root FOLDER PACKAGE…        makes it
#   in_root FOLDER COMMAND…           runs in it, with no environment
clean_root_is_possible() {
  unshare --mount mount --bind /proc /proc 2>/dev/null || { echo 'no clean root: that needs root, and leave to mount'; return 1; }
  command -v apt-cache >/dev/null && command -v dpkg-query >/dev/null || { echo 'no clean root: this is no Debian'; return 1; }
}

clean_root() {
  local root=$1 lists=$1.lists folder package name essential
  shift
  for folder in bin sbin lib lib64; do mkdir -p "$root/usr/$folder" && ln -s "usr/$folder" "$root/$folder"; done
  mkdir -p "$lists" "$root"/{tmp,dev,proc,var/lib/dpkg/info,var/lib/dpkg/updates,var/lib/dpkg/triggers}
  mapfile -t essential < <(dpkg-query -W -f '${Essential} ${Package}\n' | sed -n 's/^yes //p')
  apt-cache depends --recurse --installed --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances \
    "${essential[@]}" "$@" | grep '^[a-z0-9]' | sort -u >"$lists/wanted"
  dpkg-query -W -f '${binary:Package} ${db:Status-Status}\n' $(cat "$lists/wanted") 2>/dev/null | sed -n 's/ installed$//p' >"$lists/packages"
  : >"$lists/files"
  while read -r package; do
    dpkg-query -s "$package" && echo
    for name in /var/lib/dpkg/info/"$package".* /var/lib/dpkg/info/"${package%:*}".*; do
      case $name in *.list | *.md5sums | *.triggers | *.shlibs | *.conffiles) cp "$name" "$root/var/lib/dpkg/info" 2>/dev/null ;; esac
    done
    dpkg-query -L "$package" | sed -n 's/^\/\(.\)/\1/p' >>"$lists/files"
  done <"$lists/packages" >"$root/var/lib/dpkg/status"
  printf '%s\n' etc/alternatives usr/bin/awk usr/bin/cc etc/passwd etc/group >>"$lists/files"
  tar -C / --no-recursion --ignore-failed-read -cf - -T "$lists/files" 2>/dev/null | tar -C "$root" --keep-directory-symlink -xf -
  cp -a /etc/alternatives/. "$root/etc/alternatives"
  mknod -m 666 "$root/dev/null" c 1 3 || : >"$root/dev/null"
  ln -s /proc/self/fd "$root/dev/fd"
  in_root "$root" ldconfig
}

in_root() {
  local root=$1
  shift
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive unshare --mount sh -c 'mount --bind /proc "$1/proc" && exec chroot "$@"' - "$root" "$@"
}
