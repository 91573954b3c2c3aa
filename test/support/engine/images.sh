#!/usr/bin/env bash
# Builds the file systems of the test images from Debian's busybox-static, as tar files. Usage: images.sh FOLDER
set -euo pipefail
out=$(realpath -m "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
chmod 755 . && mkdir debs x
if [ "$(id -u)" = 0 ]; then chown _apt debs 2>/dev/null || true; fi
(cd debs && apt-get download -qq busybox-static) >&2
dpkg-deb -x debs/*.deb x
busybox=$(find x -type f -path '*bin/busybox')
mkdir -p "$out"
pack() { tar -C "$1" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf "$out/$1.tar" .; }

# A system with a shell and little else. Its entrypoint prints its arguments, and runs them.
mkdir -p tiny/{bin,etc,root,tmp,usr/bin}
chmod 1777 tiny/tmp
chmod 700 tiny/root
cp "$busybox" tiny/bin/busybox
for applet in $("$busybox" --list); do [ "$applet" = busybox ] || ln -s busybox "tiny/bin/$applet"; done
echo 'root:x:0:0:root:/root:/bin/sh' >tiny/etc/passwd
echo 'root:x:0:' >tiny/etc/group
cat >tiny/usr/bin/entrypoint <<'SH'
#!/bin/sh
echo "entrypoint: $# arguments:$(printf ' [%s]' "$@")"
[ $# -gt 0 ] || set -- sleep 3600
exec "$@"
SH
chmod 755 tiny/usr/bin/entrypoint

# No shell, no libraries, no files but one program.
mkdir scratch
cp "$busybox" scratch/sleep

# A notebook that prints how it was started, and serves its directory.
cp -a tiny notebook
cat >notebook/usr/bin/jupyter <<'SH'
#!/bin/sh
echo "jupyter $* in $PWD with token [$JUPYTER_TOKEN]"
for argument; do
  case $argument in
    --ip=*) ip=${argument#*=} ;;
    --port=*) port=${argument#*=} ;;
  esac
done
exec httpd -f -p "$ip:$port" -h "$PWD"
SH
chmod 755 notebook/usr/bin/jupyter
for image in tiny scratch notebook; do pack "$image"; done
