// Whose turn a request takes that shows no key.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { expect, it } from 'vitest'
import { createRequestAdmission } from '../../../src/admission.ts'
import { noProxies } from '../../../src/http/client.ts'
import { createLog } from '../../../src/http/log.ts'
import { createRequestLog } from '../../../src/http/request-log.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import type { Services } from '../../../src/services/services.ts'

const services = { apiKeys: { recallAccount: () => undefined } } as unknown as Services
const begin = createRequestLog(createLog('silent', { write: () => {} }))
const echo = { proxies: noProxies, secrets: createSecrets('a secret of tests'), now: () => new Date() }
const { admit } = createRequestAdmission({ connections: 4, services, begin, echo })

async function ownerOf(address: string) {
  const request = { method: 'GET', url: '/graphql', headers: {} } as IncomingMessage
  const admitted = await admit(request, { destroyed: false } as ServerResponse, { address })
  admitted?.place.leave()
  return admitted?.owner
}

it.each([
  ['203.0.113.7', '203.0.113.8', false],
  ['2001:db8::1', '2001:db8::2', true],
  ['2001:db8::1', '2001:db8:0:ff::1', true],
  ['2001:db8::1', '2001:db8:0:100::1', false],
])('takes turns with all addresses of its customer: %s and %s', async (one, other, areOne) => {
  expect(await ownerOf(one)).toBeTypeOf('string')
  expect((await ownerOf(one)) === (await ownerOf(other))).toBe(areOne)
})
