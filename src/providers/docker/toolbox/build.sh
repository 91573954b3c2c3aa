#!/usr/bin/env bash
# Builds the toolbox from Debian packages: a shell, an SSH server and an SFTP server that run in any image of this
# machine's architecture. Installs nothing. Usage: build.sh OUT.tar
set -euo pipefail
fail() { echo "build.sh: $*" >&2; exit 1; }
[ $# = 1 ] || fail 'usage: build.sh OUT.tar'
for tool in apt-get dpkg-deb patchelf tar; do
  command -v "$tool" >/dev/null || fail "$tool is missing; the toolbox is built on Debian or Ubuntu with patchelf installed."
done
out=$(realpath -m "$1")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# As root, apt downloads as its own user, which must be able to enter the folder.
chmod 755 . && mkdir debs x
if [ "$(id -u)" = 0 ]; then chown _apt debs 2>/dev/null || true; fi
packages='busybox-static dropbear-bin openssh-sftp-server libc6 libcrypt1 libgmp10 libtomcrypt1 libtommath1 zlib1g'
# shellcheck disable=SC2086 # a word for each package
(cd debs && apt-get download -qq $packages >../apt.log 2>&1) \
  || fail "apt-get cannot download $packages; run apt-get update. It said: $(tail -1 apt.log)"
for deb in debs/*.deb; do dpkg-deb -x "$deb" x; done

mkdir -p .berth/bin .berth/lib
cp "$(find x -type f -path '*bin/busybox')" x/usr/sbin/dropbear x/usr/bin/dropbearkey x/usr/lib/openssh/sftp-server .berth/bin/
programs='.berth/bin/dropbear .berth/bin/dropbearkey .berth/bin/sftp-server'
interpreter=$(patchelf --print-interpreter .berth/bin/dropbear)
loader=${interpreter##*/}

# Copies a library, and the libraries that it needs.
copy_library() {
  [ ! -e ".berth/lib/$1" ] || return 0
  local found needed
  found=$(find x -name "$1" | head -1)
  [ -n "$found" ] || fail "no downloaded package has the library $1."
  cp -L "$found" ".berth/lib/$1"
  needed=$(patchelf --print-needed ".berth/lib/$1")
  for name in $needed; do copy_library "$name"; done
}
copy_library "$loader"
for program in $programs; do
  needed=$(patchelf --print-needed "$program")
  for name in $needed; do copy_library "$name"; done
  patchelf --set-interpreter "/.berth/lib/$loader" "$program"
done

# A library that is named by its path is searched nowhere else: neither in LD_LIBRARY_PATH nor in what an image has.
for file in $programs .berth/lib/*; do
  for name in $(patchelf --print-needed "$file"); do
    [ "$name" = "$loader" ] || patchelf --replace-needed "$name" "/.berth/lib/$name" "$file"
  done
done
# The loader would load what /etc/ld.so.preload of the image names. Both paths become ones that cannot exist.
LC_ALL=C sed -i 's#/etc/ld\.so\.preload#/proc/no/ldpreload#; s#/etc/ld\.so\.cache#/proc/no/ldcache#' ".berth/lib/$loader"
if grep -qa '/etc/ld\.so\.' ".berth/lib/$loader"; then fail 'the loader still reads files of the image.'; fi

cp "$here/entry.sh" .berth/
cp "$here/prepare" "$here/sshd" "$here/session" "$here/apply-keys" .berth/bin/
ln -s busybox .berth/bin/sh
chmod 755 .berth .berth/* .berth/bin/* .berth/lib/*
mkdir -p "$(dirname "$out")"
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf "$out.part" .berth
mv "$out.part" "$out"
