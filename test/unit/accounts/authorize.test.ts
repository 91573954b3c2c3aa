import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { createRememberedKeys } from '../../../src/services/accounts/api-keys/remembered-keys.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { createServices, type Services } from '../../../src/services/services.ts'
import { defaultAdmission } from '../../support/billing/admission.ts'

/** Operations that need no permission: `identify` runs before a key is known, every key may read itself, names of GPU models
 * and places are public, and a link is enough to read a result. */
const withoutPermission = [
  'apiKeys.current',
  'apiKeys.identify',
  'apiKeys.recallAccount',
  'gpuModels.names',
  'offers.hints',
  'results.read',
]

// There is no database, so an operation that reads it before the permission check fails.
const services: Services = createServices({
  database: undefined as never,
  log: pino({ enabled: false }),
  secrets: createSecrets('a secret of tests'),
  rememberedKeys: createRememberedKeys(),
  sshProxy: null,
  notebookProxy: null,
  admission: defaultAdmission,
  containerConsole: { logs: () => Promise.reject(), execute: () => Promise.reject() },
  simulation: {
    realMachines: () => Promise.reject(),
    statsAt: () => undefined as never,
    runsOf: () => Promise.reject(),
  },
  feed: { subscribe: () => Promise.reject(new Error('no stream is opened')) },
})
const operations = Object.entries(services).flatMap(([name, service]) =>
  Object.entries(service as Record<string, (...args: unknown[]) => Promise<unknown>>).map(
    ([operation, ask]) => [`${name}.${operation}`, ask] as const,
  ),
)

describe('a key without permissions', () => {
  const actor = { accountId: 1, apiKeyId: 1, permissions: { api: {} } }

  it.each(operations.filter(([name]) => !withoutPermission.includes(name)))('may not call %s', async (_name, ask) => {
    await expect(ask(actor, [], {})).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })
})

it('the services require a permission for all but six operations', () => {
  const names = operations.map(([name]) => name)
  expect(names).toEqual(expect.arrayContaining(withoutPermission))
  expect(names.length).toBeGreaterThan(withoutPermission.length + 5)
})
