import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { constants } from 'node:os'
import { PassThrough } from 'node:stream'
import {
  type ContainerProcess,
  PortRefused,
  type ProcessSpec,
  type Provider,
  type WindowSize,
} from '../../../src/providers/provider.ts'

/** What the processes were told. */
export type Told = { sizes: WindowSize[]; terminals: ProcessSpec['terminal'][]; signals: string[]; hungUp: number }

/** Runs the processes of all containers on this machine, and connects to its ports. There are no real terminals. */
export function localProvider(told: Told): Pick<Provider, 'open' | 'connect'> {
  return {
    async open(_container, { command, terminal }) {
      told.terminals.push(terminal)
      const env = { PATH: process.env['PATH'], HOME: '/', ...(terminal && { TERM: terminal.type }) }
      const child = spawn('/bin/sh', command === null ? [] : ['-c', command], { env, detached: true })
      await once(child, 'spawn')
      const send = (name: NodeJS.Signals) => {
        try {
          process.kill(-(child.pid as number), name)
        } catch {}
      }
      const exitCode = once(child, 'exit').then(([code, name]) =>
        code === null ? 128 + constants.signals[name as NodeJS.Signals] : code,
      )
      return {
        stdin: child.stdin,
        stdout: child.stdout,
        stderr: terminal ? new PassThrough().end() : child.stderr,
        exitCode,
        resize: async size => void told.sizes.push(size),
        signal: async name => {
          told.signals.push(name)
          send(name as NodeJS.Signals)
        },
        hangUp: () => {
          told.hungUp += 1
          send('SIGHUP')
        },
      } satisfies ContainerProcess
    },
    async connect(_container, port) {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
      await once(socket, 'connect').catch(() => {
        throw new PortRefused(`Nothing listens on port ${port}.`)
      })
      return socket
    },
  }
}
