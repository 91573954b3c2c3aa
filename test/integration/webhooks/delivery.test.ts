// Delivery of events to a real server: signed, at least once, with retries, and only where they belong.

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createSecrets } from '../../../src/services/secrets.ts'
import { generateSecret } from '../../../src/services/webhooks/signatures.ts'
import { aPublicKey } from '../../support/accounts/ssh-keys.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { blocksOf, readPage } from '../../support/docs.ts'
import { freePorts } from '../../support/failover/programs.ts'
import { rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { oldSignersOf, openReceiver, type Received, type Receiver, signersOf } from '../../support/webhooks/receiver.ts'
import { webhooksOf } from '../../support/webhooks/webhooks.ts'

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

/** Registers an SSH key, which causes an event. */
async function causeEvent(name: string, by = key): Promise<void> {
  const { data } = await app.graphql(
    by,
    `mutation { createSshKey(input: { publicKey: "${aPublicKey(name)}", name: "${name}" }) {
      ... on CreateSshKeySuccess { sshKey { id } } } }`,
  )
  expect(data.createSshKey.sshKey.id).toMatch(/^ssh_/)
}

/** Which of the secrets signed a request now, by each of its signatures. */
function signers(request: Received | undefined, secrets: string[]) {
  if (!request) throw new Error('Nothing was received.')
  return { standard: signersOf(request, secrets, app.clock.now()), old: oldSignersOf(request, secrets) }
}

const receivedNames = () => receiver.received.map(({ event }) => event.after.name as string)
const [seconds, minutes, hours] = [1_000, 60_000, 3_600_000]

describe('an event', () => {
  it('arrives once, signed, with the names of the GraphQL face', async () => {
    const { id, secret } = await webhooks.create(key, `${receiver.url}/hooks?of=mine`)
    await causeEvent('first')
    await app.runUntilIdle()
    await app.runUntilIdle()
    expect(receiver.received).toHaveLength(1)
    const [one] = receiver.received
    const [delivery] = await webhooks.deliveries(key, id)
    const now = app.clock.now()
    expect(one).toMatchObject({
      path: '/hooks?of=mine',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Berth-Webhooks',
        'webhook-id': delivery?.event.id,
        'webhook-timestamp': String(now.getTime() / 1_000),
        'berth-event': delivery?.event.id,
        'berth-delivery': delivery?.id,
      },
      event: {
        id: delivery?.event.id,
        kind: 'SSH_KEY_CREATED',
        createdAt: now.toISOString(),
        accountId: expect.stringMatching(/^acc_\d+$/),
        actor: { kind: 'API_KEY', apiKeyId: expect.stringMatching(/^key_\d+$/) },
        subjectId: expect.stringMatching(/^ssh_\d+$/),
        after: { sshKeyId: expect.stringMatching(/^ssh_\d+$/), name: 'first', fingerprint: expect.any(String) },
      },
    })
    expect(one?.headers['berth-signature']).toMatch(new RegExp(`^t=${now.getTime() / 1_000},v1=[0-9a-f]{64}$`))
    expect(signers(one, [secret, generateSecret()])).toEqual({ standard: [secret], old: [secret] })
    expect(delivery).toMatchObject({
      ...{ event: { kind: 'SSH_KEY_CREATED' }, status: 'DELIVERED', attempts: 1, responseStatus: 204, error: null },
      ...{ attemptedAt: now.toISOString(), deliveredAt: now.toISOString(), nextAttemptAt: null },
    })
  })

  it('arrives only at webhooks for its type', async () => {
    const stranger = await app.newKey(null, someCredit)
    await webhooks.create(key, `${receiver.url}/keys`)
    await webhooks.create(key, `${receiver.url}/both`, ['INSTANCE_CREATED', 'SSH_KEY_CREATED'])
    await webhooks.create(key, `${receiver.url}/rentals`, ['INSTANCE_CREATED'])
    await webhooks.create(stranger, `${receiver.url}/foreign`)
    await causeEvent('one')
    await app.runUntilIdle()
    expect(receiver.received.map(({ path }) => path).toSorted()).toEqual(['/both', '/keys'])
  })

  it('has money as exact decimals, and ids, sizes and states as in GraphQL', async () => {
    await webhooks.create(key, receiver.url, ['INSTANCE_CREATED', 'INSTANCE_STATUS_CHANGED'])
    const rentals = rentalsOf(app)
    const instance = await rentals.rent(key, { disk: 12.5, runtype: 'ssh_direct', label: 'mine' })
    await app.runUntilIdle()
    const [made, loading] = receiver.received.map(({ event }) => event)
    expect([made.subjectId, loading.subjectId]).toEqual([`ins_${instance}`, `ins_${instance}`])
    expect(made.after).toEqual({
      ...{ image: 'ubuntu', mode: 'SSH_DIRECT', label: 'mine', diskGb: 12.5, targetState: 'RUNNING' },
      ...{ templateHashId: null, gpuPricePerHour: '0.4' },
      ...{ offerId: expect.stringMatching(/^off_\d+$/), machineId: expect.stringMatching(/^mch_\d+$/) },
    })
    expect(loading).toMatchObject({ before: { status: 'CREATED' }, after: { status: 'LOADING' } })
    expect(Object.keys(loading)).not.toContain('apiKeyId')
  })

  it('of a test arrives only at the tested webhook, whatever types the webhook has', async () => {
    const tested = await webhooks.create(key, `${receiver.url}/tested`)
    await webhooks.create(key, `${receiver.url}/other`, ['WEBHOOK_TESTED'])
    const made = await webhooks.test(key, tested.id)
    expect(made).toMatchObject({
      event: { kind: 'WEBHOOK_TESTED' },
      status: 'PENDING',
      attempts: 0,
      responseStatus: null,
    })
    await app.runUntilIdle()
    expect(receiver.received).toMatchObject([
      { path: '/tested', headers: { 'berth-delivery': made.id }, event: { after: { webhookId: tested.id } } },
    ])
    expect(await webhooks.deliveries(key, tested.id)).toMatchObject([{ id: made.id, status: 'DELIVERED' }])
  })
})

describe('a delivery that fails', () => {
  it('is retried after growing delays, not earlier, and is given up after nine attempts', async () => {
    const { id } = await webhooks.create(key, receiver.url)
    receiver.answer(503)
    await causeEvent('refused')
    await app.runUntilIdle()
    const pauses = [10 * seconds, minutes, 5 * minutes, 30 * minutes, 2 * hours, 6 * hours, 12 * hours, 24 * hours]
    for (const [index, pause] of pauses.entries()) {
      const attempts = index + 1
      const [delivery] = await webhooks.deliveries(key, id)
      expect(delivery).toMatchObject({
        status: 'RETRYING',
        attempts,
        responseStatus: 503,
        error: null,
        deliveredAt: null,
      })
      const wait = Date.parse(delivery?.nextAttemptAt as string) - app.clock.now().getTime()
      expect(wait).toBeGreaterThanOrEqual(pause)
      expect(wait).toBeLessThanOrEqual(pause * 1.2)
      app.clock.advance(wait - 1)
      await app.runUntilIdle()
      expect(receiver.received).toHaveLength(attempts)
      app.clock.advance(1)
      await app.runUntilIdle()
      expect(receiver.received).toHaveLength(attempts + 1)
    }
    expect(await webhooks.deliveries(key, id)).toMatchObject([
      { status: 'GIVEN_UP', attempts: 9, nextAttemptAt: null, responseStatus: 503 },
    ])
    app.clock.advance(100 * hours)
    await app.runUntilIdle()
    expect(receiver.received).toHaveLength(9)
    const ids = receiver.received.map(({ headers }) => [headers['webhook-id'], headers['berth-delivery']].join())
    const times = receiver.received.map(({ headers }) => headers['webhook-timestamp'])
    expect([new Set(ids).size, new Set(times).size]).toEqual([1, 9])
  })

  it('arrives once the receiver accepts it', async () => {
    const { id } = await webhooks.create(key, receiver.url)
    receiver.answer(500)
    await causeEvent('late')
    await app.runUntilIdle()
    receiver.answer(200)
    app.clock.advance(12 * seconds)
    await app.runUntilIdle()
    expect(await webhooks.deliveries(key, id)).toMatchObject([
      { status: 'DELIVERED', attempts: 2, responseStatus: 200 },
    ])
  })

  it('is given up at once when the receiver answers 410', async () => {
    const { id } = await webhooks.create(key, receiver.url)
    receiver.answer(410)
    await causeEvent('gone')
    await app.runUntilIdle()
    expect(await webhooks.deliveries(key, id)).toMatchObject([{ status: 'GIVEN_UP', attempts: 1, responseStatus: 410 }])
  })

  it.each([
    ['a server that does not run', 'http://127.0.0.1:1/', 'The connection failed: ECONNREFUSED.'],
    ['an unknown host', 'http://nowhere.invalid/', 'The host was not found.'],
  ])('at %s shows the error', async (_where, url, error) => {
    const { id } = await webhooks.create(key, url)
    await causeEvent('nowhere')
    await app.runUntilIdle()
    expect(await webhooks.deliveries(key, id)).toMatchObject([
      { status: 'RETRYING', attempts: 1, error, responseStatus: null },
    ])
  })

  it('is not sent to the target of a redirect', async () => {
    const { id } = await webhooks.create(key, `${receiver.url}/old`)
    receiver.answer(response => response.writeHead(307, { location: `${receiver.url}/new` }).end())
    await causeEvent('redirected')
    await app.runUntilIdle()
    expect(receiver.received.map(({ path }) => path)).toEqual(['/old'])
    expect(await webhooks.deliveries(key, id)).toMatchObject([{ status: 'RETRYING', responseStatus: 307 }])
  })
})

describe('docs/events.md', () => {
  const page = readPage('docs/events.md')

  it('has examples that create and read webhooks', async () => {
    const operations = [...page.matchAll(/^gql '(.*?)'$/gms)].map(([, operation]) => operation as string)
    expect(operations).toHaveLength(2)
    for (const operation of operations) expect((await app.graphql(key, operation)).errors).toBeUndefined()
    expect(await webhooks.list(key)).toMatchObject([{ url: 'https://example.com/berth' }])
  })

  it('has a receiver that takes what is from Berth, and refuses all else', async () => {
    const [program = ''] = blocksOf(page, 'js')
    const [port = 0] = await freePorts(1)
    const { id, secret } = await webhooks.create(key, `http://127.0.0.1:${port}/`)
    const clock = `const { now } = Date, ahead = ${app.clock.now().getTime()} - now()\nDate.now = () => now() + ahead\n`
    const script = clock + program.replace('8080', String(port))
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      cwd: join(import.meta.dirname, '../../..'),
      env: { ...process.env, WEBHOOK_SECRET: secret },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const printed = text(child.stdout)
    const post = async (headers: Record<string, string>) =>
      (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body: '{}' })).status
    try {
      await expect.poll(() => post({}).catch(() => 0), { timeout: 60_000 }).toBe(400)
      await causeEvent('ünïcode')
      await app.runUntilIdle()
    } finally {
      child.kill()
    }
    const [delivery] = await webhooks.deliveries(key, id)
    expect(delivery).toMatchObject({ status: 'DELIVERED', responseStatus: 204 })
    expect(await printed).toBe(`${delivery?.event.id} SSH_KEY_CREATED\n`)
  })

  it('shows how to check without a library that a request is recent and from Berth', async () => {
    const [, code = ''] = blocksOf(page, 'js')
    const { isFromBerth } = await import(`data:text/javascript,${encodeURIComponent(code)}`)
    const { secret } = await webhooks.create(key, receiver.url)
    await causeEvent('ünïcode')
    await app.runUntilIdle()
    const [{ headers, body }] = receiver.received as [Received]
    const proofs = headers['webhook-signature'] as string
    const says = (change: object, sent: string | Buffer = body, by = secret, laterMs = 0) => {
      vi.setSystemTime(app.clock.now().getTime() + laterMs)
      return isFromBerth({ ...headers, ...change }, sent, by)
    }
    try {
      const more = { 'webhook-signature': `v1,0 v1a,ü ${proofs}` }
      expect([says({}), says({}, Buffer.from(body)), says(more)]).toEqual([true, true, true])
      const refused = [
        says({}, `${body} `),
        says({}, body, generateSecret()),
        says({ 'webhook-id': 'evt_0' }),
        says({ 'webhook-timestamp': String(app.clock.now().getTime() / 1_000 + 1) }),
        says({ 'webhook-timestamp': 'x' }),
        says({ 'webhook-signature': proofs.slice(0, -1) }),
        says({ 'webhook-signature': undefined }),
        says({}, body, secret, 300_000),
      ]
      expect(refused).toEqual(Array(8).fill(false))
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('a secret of an older version', () => {
  it('signs as before, and with the same bytes as Standard Webhooks says', async () => {
    const { id } = await webhooks.create(key, receiver.url)
    const old = `whsec_${Buffer.from('fb'.repeat(32), 'hex').toString('base64url')}`
    const sealed = createSecrets('a secret of tests').seal(old)
    await app.sql('UPDATE webhooks SET secret = $1 WHERE id = $2', [sealed, id.slice(4)])
    await causeEvent('old')
    await app.runUntilIdle()
    // As docs/events.md says.
    const rewritten = `whsec_${Buffer.from(old.slice(6), 'base64url').toString('base64')}`
    expect(signers(receiver.received[0], [rewritten])).toEqual({ standard: [rewritten], old: [] })
    expect(oldSignersOf(receiver.received[0] as Received, [old])).toEqual([old])
  })
})

describe('a rotated secret', () => {
  it('signs together with the old secret for 24 hours, and alone after that', async () => {
    const { id, secret: old } = await webhooks.create(key, receiver.url)
    const rotated = await webhooks.mutate(key, 'rotate', { id })
    const all = [old, rotated.secret]
    expect(new Set(all).size).toBe(2)
    const until = new Date(app.clock.now().getTime() + 24 * hours).toISOString()
    expect(rotated.webhook.oldSecretUntil).toBe(until)
    const signersOfEvent = async (name: string) => {
      await causeEvent(name)
      await app.runUntilIdle()
      return signers(receiver.received.at(-1), all)
    }
    expect(await signersOfEvent('at once')).toEqual({ standard: all, old: all })
    app.clock.advance(24 * hours - 1)
    expect(await signersOfEvent('a day later')).toEqual({ standard: all, old: all })
    app.clock.advance(1)
    expect(await signersOfEvent('after a day')).toEqual({ standard: [rotated.secret], old: [rotated.secret] })
    expect(await webhooks.list(key)).toMatchObject([{ oldSecretUntil: null }])
  })
})

describe('a deleted webhook', () => {
  it('is sent nothing more, neither pending nor later events', async () => {
    const { id } = await webhooks.create(key, receiver.url)
    receiver.answer(500)
    await causeEvent('waits')
    await app.runUntilIdle()
    expect(await webhooks.mutate(key, 'delete', { id })).toMatchObject({ deletedId: id })
    const open = `SELECT id FROM webhook_deliveries WHERE webhook_id = ${id.slice(4)} AND due_at IS NOT NULL`
    expect(await app.sql(open)).toEqual([])
    await causeEvent('after')
    app.clock.advance(100 * hours)
    await app.runUntilIdle()
    expect(receivedNames()).toEqual(['waits'])
    const left = await app.sql(
      `SELECT error FROM webhook_deliveries WHERE webhook_id = ${id.slice(4)} AND due_at IS NULL`,
    )
    expect(left).toEqual([{ error: 'The webhook was deleted.' }])
    expect(await app.sql(`SELECT secret FROM webhooks WHERE id = ${id.slice(4)}`)).toEqual([
      { secret: Buffer.from('') },
    ])
  })

  it('is not sent events written during its deletion', async () => {
    const { id } = await webhooks.create(key, receiver.url)
    await causeEvent('between')
    // The state that remains if the transaction of the event begins before the deletion and ends after it.
    await app.sql(`UPDATE webhooks SET deleted_at = created_at, sealed_url = '', secret = '' WHERE id = ${id.slice(4)}`)
    await app.runUntilIdle()
    expect(receiver.received).toEqual([])
    expect(
      await app.sql(
        `SELECT error, attempts FROM webhook_deliveries WHERE webhook_id = ${id.slice(4)} AND due_at IS NULL`,
      ),
    ).toEqual([{ error: 'The webhook was deleted.', attempts: 0 }])
  })
})

it('a webhook secret that cannot be decrypted fails the attempt, and delays no other delivery', async () => {
  const sick = await webhooks.create(key, receiver.url)
  await app.sql(`UPDATE webhooks SET secret = 'nonsense' WHERE id = ${sick.id.slice(4)}`)
  const well = await webhooks.create(key, receiver.url)
  await causeEvent('one')
  await app.runUntilIdle()
  expect(await webhooks.deliveries(key, sick.id)).toMatchObject([
    { status: 'RETRYING', error: 'Berth could not send the event.' },
  ])
  expect(await webhooks.deliveries(key, well.id)).toMatchObject([{ status: 'DELIVERED' }])
})
