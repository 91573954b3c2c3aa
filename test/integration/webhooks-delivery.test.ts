// Events arrive at a real server: signed, at least once, again when they did not arrive, and not where they must not.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../support/app.ts'
import { openReceiver, type Receiver, signersOf } from '../support/receiver.ts'
import { rentalsOf, someCredit } from '../support/rentals.ts'
import { aPublicKey } from '../support/ssh-keys.ts'
import { webhooksOf } from '../support/webhooks.ts'

let app: TestApp
let webhooks: ReturnType<typeof webhooksOf>
let receiver: Receiver
let key: string

beforeAll(async () => {
  app = await startApp({ privateWebhooks: true })
  webhooks = webhooksOf(app)
})

afterAll(() => app.close())

beforeEach(async () => {
  key = await app.newKey(null, someCredit)
  receiver = await openReceiver()
  return () => receiver.close()
})

/** Something that happens, and its event. */
async function happen(name: string, by = key): Promise<void> {
  const { data } = await app.graphql(
    by,
    `mutation { registerSshKey(input: { publicKey: "${aPublicKey(name)}", name: "${name}" }) {
      ... on RegisterSshKeySuccess { sshKey { id } } } }`,
  )
  expect(data.registerSshKey.sshKey.id).toMatch(/^ssh_/)
}

const names = () => receiver.received.map(({ event }) => event.after.name as string)

describe('an event', () => {
  it('arrives signed, once, in the words of the GraphQL face', async () => {
    const { id, secret } = await webhooks.create(key, `${receiver.url}/hooks?of=mine`)
    await happen('first')
    await app.idle()
    await app.idle()
    expect(receiver.received).toHaveLength(1)
    const [one] = receiver.received
    const [delivery] = await webhooks.deliveries(key, id)
    const now = app.clock.now()
    expect(one).toMatchObject({
      path: '/hooks?of=mine',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Berth-Webhooks',
        'berth-event': delivery?.event.id,
        'berth-delivery': delivery?.id,
      },
      event: {
        id: delivery?.event.id,
        type: 'SSH_KEY_REGISTERED',
        createdAt: now.toISOString(),
        accountId: expect.stringMatching(/^acc_\d+$/),
        apiKeyId: expect.stringMatching(/^key_\d+$/),
        after: { sshKeyId: expect.stringMatching(/^ssh_\d+$/), name: 'first', fingerprint: expect.any(String) },
      },
    })
    expect(one?.headers['berth-signature']).toMatch(new RegExp(`^t=${now.getTime() / 1_000},v1=[0-9a-f]{64}$`))
    expect(signersOf(one as never, [secret, 'whsec_another'])).toEqual([secret])
    expect(delivery).toMatchObject({
      ...{ event: { type: 'SSH_KEY_REGISTERED' }, status: 'DELIVERED', attempts: 1, responseStatus: 204, error: null },
      ...{ attemptedAt: now.toISOString(), deliveredAt: now.toISOString(), nextAttemptAt: null },
    })
  })
})
