import type { Logger } from 'pino'
import type { CommandOutput } from '../domain/instances/containers.ts'
import { ContainerNotRunning, type Provider } from './provider.ts'

/**
 * What of a driver serves those who look into containers. What goes wrong with a machine is for the operator: whoever asked
 * is told no more than that it did.
 */
export function createConsole(provider: Pick<Provider, 'logs' | 'exec'>, log: Logger) {
  const logFailure = (instanceId: bigint, err: unknown): never => {
    log.warn({ err, instanceId: String(instanceId) }, 'A container could not be looked into.')
    throw err
  }
  return {
    logs: (...asked: Parameters<Provider['logs']>) =>
      provider.logs(...asked).catch(error => logFailure(asked[0], error)),
    execute: (...asked: Parameters<Provider['exec']>): Promise<CommandOutput | undefined> =>
      provider.exec(...asked).catch(error => {
        if (error instanceof ContainerNotRunning) return undefined
        return logFailure(asked[0], error)
      }),
  }
}
