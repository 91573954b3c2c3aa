import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import { printId } from '../domain/ids.ts'
import type { ContainerRef } from '../domain/instances/containers.ts'
import {
  ContainerNotRunning,
  type ContainerProcess,
  PortRefused,
  type ProcessSpec,
  type Provider,
} from '../providers/provider.ts'
import type { SshLogin, SshLogins } from '../services/instances/ssh/logins.ts'

/** The machine of a login. Its calls answer with a message for the client if they fail. */
export type Machine = {
  open(process: ProcessSpec, gone: AbortSignal): Promise<ContainerProcess | string>
  connect(port: number, gone: AbortSignal): Promise<Duplex | string>
}

type MachineOptions = {
  login: SshLogin
  logins: Pick<SshLogins, 'access'>
  provider: Pick<Provider, 'open' | 'connect'>
  machineMs: number
  log: Logger
}
type Call<Answer> = {
  begin(container: ContainerRef, signal: AbortSignal): Promise<Answer>
  /** Ends what began too late for its client. */
  discard(late: Answer): void
}

/** Each call first checks whether the login may still use the instance. */
export function createMachine({ login, logins, provider, machineMs, log }: MachineOptions): Machine {
  const name = printId('Instance', login.instanceId)

  async function ask<Answer>(gone: AbortSignal, { begin, discard }: Call<Answer>): Promise<Answer | string> {
    const signal = AbortSignal.any([gone, AbortSignal.timeout(machineMs)])
    try {
      const access = await logins.access(login)
      if (!access) return `Your SSH key was removed from ${name}.`
      if (access.refusal !== undefined) return access.refusal
      const answer = await begin(access.container, signal)
      if (!signal.aborted) return answer
      discard(answer)
      return silenceOf(name)
    } catch (error) {
      return explain(error, gone)
    }
  }

  function explain(error: unknown, gone: AbortSignal): string {
    if (error instanceof ContainerNotRunning) return `${name} is not running. Try again in a moment.`
    if (error instanceof PortRefused) return error.message
    if (!gone.aborted)
      log.warn({ err: error, instanceId: String(login.instanceId) }, 'Access to a container over SSH failed.')
    return silenceOf(name)
  }

  return {
    open: (spec, gone) =>
      ask(gone, {
        begin: (container, signal) => provider.open(container, spec, signal),
        discard: late => late.hangUp(),
      }),
    connect: (port, gone) =>
      ask(gone, {
        begin: (container, signal) => provider.connect(container, port, signal),
        discard: late => void late.destroy(),
      }),
  }
}

/** The machine of a login that may not use it. */
export function createRefusingMachine(refusal: string): Machine {
  return { open: async () => refusal, connect: async () => refusal }
}

function silenceOf(name: string): string {
  return `The machine of ${name} does not answer. Try again in a moment.`
}
