// A session of a connection: one command, shell or file transfer, with or without a terminal.

import type { Socket } from 'node:net'
import type { ServerChannel, Session } from 'ssh2'
import type { ContainerProcess, Terminal } from '../providers/provider.ts'
import type { Machine } from './machine.ts'
import { carryProcess, refuseProcess } from './process-channel.ts'
import { signalName, terminalOf, windowSizeOf } from './terminal.ts'

/** Real containers have this program, whatever their image has. */
const sftpServer = '/.berth/bin/sftp-server'

export type OpenSession = {
  /** Ends the session with a message to its client. */
  end(message: string): void
  /** How much of the client's input has not been read. */
  bufferedBytes(): number
}

/** Serves a session until `gone`, when its client has closed it. */
export function serveSession(session: Session, machine: Machine, socket: Socket, gone: AbortSignal): OpenSession {
  let terminal: Terminal | null = null
  let channel: ServerChannel | undefined
  let running: ContainerProcess | undefined

  async function run(command: string | null): Promise<void> {
    if (!channel) return
    const asked = terminal
    const opened = await machine.open({ command, terminal: asked }, gone)
    if (typeof opened === 'string') return refuseProcess(channel, asked !== null, opened)
    running = opened
    // The window may have changed while the process began.
    if (terminal && terminal !== asked) void resize(opened, terminal)
    await carryProcess(channel, opened, { hasTerminal: asked !== null, socket, gone })
    running = undefined
  }

  const start = (accept: () => ServerChannel | undefined, command: string | null) => {
    const accepted = accept()
    // A session runs one process.
    if (!accepted) return
    channel = accepted
    channel.on('error', () => {})
    run(command).catch(() => channel?.destroy())
  }

  session.on('pty', (accept, _reject, info) => {
    terminal = terminalOf(info)
    accept?.()
  })
  session.on('window-change', (accept, _reject, info) => {
    terminal = terminal && { ...terminal, ...windowSizeOf(info) }
    if (running && terminal) void resize(running, terminal)
    accept?.()
  })
  session.on('signal', (accept, reject, info) => {
    const name = signalName(info.name)
    if (!name || !running) return reject?.()
    running.signal(name).catch(() => {})
    accept?.()
  })
  session.on('shell', accept => start(accept, null))
  session.on('exec', (accept, _reject, { command }) => start(accept, command))
  session.on('subsystem', (accept, reject, { name }) => (name === 'sftp' ? start(accept, sftpServer) : reject?.()))

  return {
    end(message) {
      if (channel) refuseProcess(channel, terminal !== null, message)
      running?.hangUp()
    },
    bufferedBytes: () => channel?.readableLength ?? 0,
  }
}

async function resize(resized: ContainerProcess, { columns, rows }: Terminal): Promise<void> {
  // A process that has ended has no window.
  await resized.resize({ columns, rows }).catch(() => {})
}
