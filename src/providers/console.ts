import type { Logger } from 'pino'
import type { CommandOutput, ContainerRef } from '../domain/instances/containers.ts'
import { ContainerNotRunning, type Provider } from './provider.ts'

/**
 * Access to the logs and the shell of containers. Logs failures for the operator; callers learn only that a call failed.
 */
export function createConsole(provider: Pick<Provider, 'logs' | 'exec'>, log: Logger) {
  const logFailure = ({ machineId, instanceId }: ContainerRef, err: unknown): never => {
    log.warn({ err, machineId, instanceId: String(instanceId) }, 'Access to a container failed.')
    throw err
  }
  return {
    logs: (...args: Parameters<Provider['logs']>) => provider.logs(...args).catch(error => logFailure(args[0], error)),
    execute: (...args: Parameters<Provider['exec']>): Promise<CommandOutput | undefined> =>
      provider.exec(...args).catch(error => {
        if (error instanceof ContainerNotRunning) return undefined
        return logFailure(args[0], error)
      }),
  }
}
