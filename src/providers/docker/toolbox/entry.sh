#!/.berth/bin/busybox sh
# The entrypoint of an instance in every mode with SSH. The driver reads its lines that start with [berth].
#
# Before "ready", no code of the image or the renter may run: it could keep the instance from ever being ready, and so
# from being charged. Until then only programs of /.berth run, with an empty environment.
# This shell passes its environment on to the notebook and to onstart.sh, so it assigns no variables.

# Becomes an SSH server. A proxy mode reaches it through the container's loopback.
serve_ssh() {
  case $BERTH_MODE in
    *Direct) set -- 22 ;;
    *) set -- 127.0.0.1:22 ;;
  esac
  exec /.berth/bin/busybox env -i /.berth/bin/sshd "$@" 2>/dev/null
}

# Keeps a notebook running, in the modes that have one.
serve_notebook() {
  case $BERTH_MODE in
    jupyterDirect) set -- --ip=0.0.0.0 ;;
    jupyterProxy) set -- --ip=127.0.0.1 ;;
    *) return ;;
  esac
  if ! command -v jupyter >/dev/null; then
    echo '[berth] the image has no jupyter, so no notebook runs'
    return
  fi
  if [ "$BERTH_JUPYTER_LAB" = 1 ]; then set -- lab "$@"; else set -- notebook "$@"; fi
  # A proxy sends its own host name. The token guards the notebook, also when it is known by another name.
  set -- "$@" --port=8080 --no-browser --allow-root --ServerApp.allow_remote_access=True
  cd /root || return
  if [ -n "$BERTH_JUPYTER_DIR" ]; then
    mkdir -p "$BERTH_JUPYTER_DIR" && cd "$BERTH_JUPYTER_DIR" || echo '[berth] the directory of the notebook is missing'
  fi
  # Other processes can read arguments, so the token is not one.
  export JUPYTER_TOKEN="$BERTH_JUPYTER_TOKEN"
  unset BERTH_MODE BERTH_JUPYTER_DIR BERTH_JUPYTER_LAB BERTH_JUPYTER_TOKEN
  while :; do
    jupyter "$@"
    echo '[berth] the notebook ended and starts again'
    sleep 5
  done
}

# Becomes the renter's script. Its failure does not end the instance.
run_onstart() {
  [ -s /.berth/instance/onstart.sh ] || return 0
  unset BERTH_MODE BERTH_JUPYTER_DIR BERTH_JUPYTER_LAB BERTH_JUPYTER_TOKEN
  cd /root || return
  if command -v bash >/dev/null; then exec bash /.berth/instance/onstart.sh; fi
  exec /bin/sh /.berth/instance/onstart.sh
}

# Ends all processes of the container but this shell and the init process, then this shell.
stop() {
  trap '' TERM INT
  echo '[berth] stopping'
  # The shell would report each child that it ends.
  exec 2>/dev/null
  kill -TERM -1
  for tenth in $(seq 50); do
    # A child that is not built in makes the shell collect those that have ended.
    /.berth/bin/busybox sleep 0.1
    set -- /proc/[0-9]*
    [ $# -gt 2 ] || break
    # Interactive shells ignore SIGTERM.
    [ "$tenth" != 10 ] || kill -HUP -1
  done
  exit 0
}
trap stop TERM INT

echo '[berth] starting'
if ! /.berth/bin/busybox env -i /.berth/bin/busybox timeout -s KILL 30 /.berth/bin/busybox sh /.berth/bin/prepare; then
  echo '[berth] SSH could not be started'
  exit 1
fi
echo '[berth] ready'

# The first argument is the process of the SSH server.
serve_ssh & set -- $!
serve_notebook &
run_onstart &
while :; do
  wait "$1"
  echo '[berth] the SSH server ended and starts again'
  sleep 1
  serve_ssh & set -- $!
done
