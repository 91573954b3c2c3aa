import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { createSecrets } from '../../../src/services/secrets.ts'
import { createServices, type Services } from '../../../src/services/services.ts'
import { defaultAdmission } from '../../support/billing/admission.ts'

/** Asking is what makes a key known; the names of GPU models are for anybody, and results for who has their link. */
const withoutPermission = ['apiKeys.identify', 'gpuModels.names', 'results.read']

// Whoever reaches for the database before the permission finds none.
const services: Services = createServices({
  database: undefined as never,
  log: pino({ enabled: false }),
  secrets: createSecrets('a secret of tests'),
  sshProxy: null,
  admission: defaultAdmission,
  containerConsole: { logs: () => Promise.reject(), execute: () => Promise.reject() },
  feed: { subscribe: () => Promise.reject(new Error('no stream is opened')) },
})
const operations = Object.entries(services).flatMap(([name, service]) =>
  Object.entries(service as Record<string, (...args: unknown[]) => Promise<unknown>>).map(
    ([operation, ask]) => [`${name}.${operation}`, ask] as const,
  ),
)

describe('a key without permissions', () => {
  const actor = { accountId: 1, apiKeyId: 1, permissions: { api: {} } }

  it.each(operations.filter(([name]) => !withoutPermission.includes(name)))('may not ask %s', async (_name, ask) => {
    await expect(ask(actor, [], {})).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })
})

it('only these are open to anybody', () => {
  const names = operations.map(([name]) => name)
  expect(names).toEqual(expect.arrayContaining(withoutPermission))
  expect(names.length).toBeGreaterThan(withoutPermission.length + 5)
})
