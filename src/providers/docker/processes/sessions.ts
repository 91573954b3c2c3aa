// The shell scripts that begin processes in a container and signal them. Only the toolbox's shell is known to exist there.

import { randomUUID } from 'node:crypto'
import type { ContainerProcess, ProcessSpec } from '../../provider.ts'
import type { Machine } from '../machine.ts'
import { openProcess, runInContainer } from './process.ts'

const shell = ['/.berth/bin/busybox', 'sh', '-c']

/** Records the process in the name of a file, and removes the files of processes that have ended. $1 names the session. */
const record = `mkdir -p /.berth/run
for file in /.berth/run/*; do [ -d "/proc/\${file##*.}" ] || rm -f "$file"; done
: >"/.berth/run/$1.$$"`

/** A session sees no variable of the container, like a login over SSH. */
const beginSession = `{ ${record}
} 2>/dev/null
if [ -n "$2" ]; then set -- "SSH_ORIGINAL_COMMAND=$2"; else set --; fi
exec env -i \${TERM:+"TERM=$TERM"} "$@" sh /.berth/bin/session`

/** Says on stderr that something listens on port $2, then connects. $3 is the port in the notation of /proc/net/tcp. */
const beginConnection = `{ ${record}
} 2>/dev/null
grep -Eq "^ *[0-9]+: (0{8}|[0-9A-F]{6}7F):$3 0+:0+ 0A " /proc/net/tcp ||
grep -Eq "^ *[0-9]+: (0{32}|0{16}FFFF0000(0{8}|[0-9A-F]{6}7F)):$3 0+:0+ 0A " /proc/net/tcp6 || exit 1
echo >&2
exec nc 127.0.0.1 "$2"`

/** Signals each process of a session: the one recorded under $1, and all that it began. $2 is the name of the signal. */
const signalSession = `for file in /.berth/run/"$1".*; do leader=\${file##*.}; done
for process in /proc/[0-9]*; do
  read -r line <"$process/stat" || continue
  set -- "$1" "$2" \${line##*) }
  [ "$6" != "$leader" ] || kill -"$2" "\${process#/proc/}"
done 2>/dev/null`

export async function openSession(
  machine: Machine,
  containerId: string,
  { command, terminal }: ProcessSpec,
  signal: AbortSignal,
): Promise<ContainerProcess> {
  return await open(machine, containerId, beginSession, { arguments: [command ?? ''], terminal }, signal)
}

/** A process whose input and output are those of a connection. Its first output to stderr says that there is one. */
export async function openConnection(
  machine: Machine,
  containerId: string,
  port: number,
  signal: AbortSignal,
): Promise<ContainerProcess> {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  return await open(machine, containerId, beginConnection, { arguments: [String(port), hex], terminal: null }, signal)
}

async function open(
  machine: Machine,
  containerId: string,
  script: string,
  { arguments: given, terminal }: Pick<ProcessSpec, 'terminal'> & { arguments: string[] },
  signal: AbortSignal,
): Promise<ContainerProcess> {
  const session = randomUUID()
  const sendSignal = async (name: string) => {
    if (!/^[A-Z0-9]+$/.test(name)) return
    const words = [...shell, signalSession, 'berth', session, name]
    await runInContainer(machine, containerId, words, AbortSignal.timeout(10_000))
  }
  const words = [...shell, script, 'berth', session, ...given]
  const opened = await openProcess(machine, containerId, { words, terminal }, sendSignal, signal)
  if (terminal) await opened.resize(terminal).catch(() => {})
  return opened
}
