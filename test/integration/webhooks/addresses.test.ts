// No webhook reaches Berth's own network, whatever a URL or a name server says.

import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createWebhookSender } from '../../../src/events/webhook-sender.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { openReceiver, type Receiver } from '../../support/webhooks/receiver.ts'
import { webhooksOf } from '../../support/webhooks/webhooks.ts'

const never = new AbortController().signal
const tls = {
  key: readFileSync(new URL('../../data/receiver.key.pem', import.meta.url), 'utf8'),
  cert: readFileSync(new URL('../../data/receiver.cert.pem', import.meta.url), 'utf8'),
}
const local = { address: '127.0.0.1', family: 4 }
const far = { address: '93.184.215.14', family: 4 }

let app: TestApp
let webhooks: ReturnType<typeof webhooksOf>
let receiver: Receiver
let key: string
/** The answers of the name servers, and the names that were looked up. */
let dnsAnswers: { address: string; family: number }[] = []
let dnsQuestions: string[] = []

beforeAll(async () => {
  const resolve = async (host: string) => {
    dnsQuestions.push(host)
    return dnsAnswers
  }
  app = await startApp({ resolve })
  webhooks = webhooksOf(app)
  receiver = await openReceiver(tls)
})

afterAll(async () => {
  await receiver.close()
  await app.close()
})

beforeEach(async () => {
  key = await app.newKey()
  dnsQuestions = []
  // Deliveries of earlier tests are not retried.
  await app.sql('UPDATE webhook_deliveries SET due_at = NULL')
})

const portOf = ({ url }: Receiver) => new URL(url).port

describe('a webhook', () => {
  it.each([
    'http://example.com/',
    'https://127.0.0.1/',
    'https://127.1/',
    'https://0x7f000001/',
    'https://2130706433/',
    'https://0/',
    'https://10.1.2.3/',
    'https://169.254.169.254/latest/meta-data/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[2002:7f00:1::]/',
    'https://[fd00::1]/',
    'https://[fe80::1]/',
  ])('is refused with the URL %s', async url => {
    const answer = await webhooks.mutate(key, 'create', { url, kinds: ['CREDIT_GRANTED'] })
    expect(answer).toMatchObject({ __typename: 'InvalidInputError', issues: [{ path: 'url' }] })
    const { id } = await webhooks.create(key, 'https://hooks.example.com/')
    const update = await webhooks.mutate(key, 'update', { id, url })
    expect(update).toMatchObject({ __typename: 'InvalidInputError', issues: [{ path: 'url' }] })
    expect(await webhooks.list(key)).toMatchObject([{ id, url: 'https://hooks.example.com/' }])
  })

  it.each([
    ['this machine', [local]],
    ['this machine and another', [far, local]],
    ['this machine over IPv6', [{ address: '::1', family: 6 }]],
  ])('is sent nothing while its host name resolves to %s', async (_where, addresses) => {
    dnsAnswers = addresses
    const before = receiver.received.length
    const { id } = await webhooks.create(key, `https://hooks.example.com:${portOf(receiver)}/`)
    await webhooks.test(key, id)
    await app.runUntilIdle()
    const error = 'Events are sent to public addresses only, and the host has an address that is not public.'
    expect(await webhooks.deliveries(key, id)).toMatchObject([{ status: 'RETRYING', responseStatus: null, error }])
    expect([dnsQuestions, receiver.received.length]).toEqual([['hooks.example.com'], before])
  })

  it('has its host name resolved again for every attempt', async () => {
    dnsAnswers = []
    const { id } = await webhooks.create(key, 'https://hooks.example.com/')
    await webhooks.test(key, id)
    await app.runUntilIdle()
    expect(await webhooks.deliveries(key, id)).toMatchObject([{ attempts: 1, error: 'The host was not found.' }])
    dnsAnswers = [local]
    app.clock.advance(12_000)
    await app.runUntilIdle()
    expect(await webhooks.deliveries(key, id)).toMatchObject([
      { attempts: 2, error: expect.stringContaining('public') },
    ])
    expect(dnsQuestions).toEqual(['hooks.example.com', 'hooks.example.com'])
  })

  it.each(['http://hooks.example.com/', 'https://127.0.0.1/'])(
    'is sent nothing if only an earlier setting allowed its URL: %s',
    async url => {
      dnsAnswers = [far]
      const { id } = await webhooks.create(key, 'https://hooks.example.com/')
      const sealed = createSecrets('a secret of tests').seal(url)
      await app.sql('UPDATE webhooks SET sealed_url = $1 WHERE id = $2', [sealed, id.slice(4)])
      await webhooks.test(key, id)
      await app.runUntilIdle()
      expect(await webhooks.deliveries(key, id)).toMatchObject([
        { status: 'RETRYING', error: expect.stringMatching(/https|public/) },
      ])
    },
  )
})

describe('the webhook sender', () => {
  const post = (url: string) => ({ url, headers: { 'content-type': 'application/json' }, body: '{}' })

  it('connects only to the address that it resolved and checked', async () => {
    const plain = await openReceiver()
    const finds: string[] = []
    const resolve = async (host: string) => {
      finds.push(host)
      return [local]
    }
    const send = createWebhookSender({ privateWebhooks: true, resolve })
    expect(await send(post(`http://nowhere.invalid:${portOf(plain)}/`), never)).toEqual({ responseStatus: 204 })
    expect([finds, plain.received.length]).toEqual([['nowhere.invalid'], 1])
    await plain.close()
  })

  it('tries the other addresses when the first does not answer', async () => {
    const plain = await openReceiver()
    const nobody = { address: '127.0.0.2', family: 4 }
    const send = createWebhookSender({ privateWebhooks: true, resolve: async () => [nobody, local] })
    expect(await send(post(`http://hooks.example.com:${portOf(plain)}/`), never)).toEqual({ responseStatus: 204 })
    await plain.close()
  })

  it('accepts only certificates of a known authority for the host name', async () => {
    const send = createWebhookSender({ privateWebhooks: true, resolve: async () => [local] })
    const sendTo = (host: string) => send(post(`https://${host}:${portOf(receiver)}/`), never)
    const before = receiver.received.length
    const known = getCACertificates('default')
    expect(await sendTo('hooks.example.com')).toEqual({
      error: 'The connection failed: DEPTH_ZERO_SELF_SIGNED_CERT.',
    })
    setDefaultCACertificates([...known, tls.cert])
    try {
      expect(await sendTo('other.example.com')).toEqual({
        error: 'The connection failed: ERR_TLS_CERT_ALTNAME_INVALID.',
      })
      expect(receiver.received).toHaveLength(before)
      expect(await sendTo('hooks.example.com')).toEqual({ responseStatus: 204 })
      expect(receiver.received).toHaveLength(before + 1)
    } finally {
      setDefaultCACertificates(known)
    }
  })

  it('stops at its timeout, in the lookup or in the request', async () => {
    const plain = await openReceiver()
    plain.answer(() => {})
    const late = { error: 'The endpoint did not answer within 0.05 seconds.' }
    const limits = { privateWebhooks: true, timeoutMs: 50 }
    expect(await createWebhookSender(limits)(post(plain.url), never)).toEqual(late)
    const hangs = createWebhookSender({ ...limits, resolve: () => new Promise(() => {}) })
    expect(await hangs(post('http://hangs.invalid/'), never)).toEqual(late)
    await plain.close()
  })

  it('reads little of a response, and does not wait for its end', async () => {
    const plain = await openReceiver()
    let written = 0
    plain.answer(response => {
      response.writeHead(200)
      const more = () => {
        while (!response.closed && written < 1e9) {
          written += 65_536
          if (!response.write(Buffer.alloc(65_536))) return void response.once('drain', more)
        }
      }
      more()
    })
    expect(await createWebhookSender({ privateWebhooks: true })(post(plain.url), never)).toEqual({
      responseStatus: 200,
    })
    await expect.poll(() => plain.openCount()).toBe(0)
    expect(written).toBeLessThan(50e6)
    await plain.close()
  })

  it('waits for the end of a response of 1 KB, and not for that of a longer one', async () => {
    const plain = await openReceiver()
    const [send, stopped] = [createWebhookSender({ privateWebhooks: true }), new AbortController()]
    const answerWith = (bytes: number) =>
      plain.answer(response => void response.writeHead(200).write(Buffer.alloc(bytes)))
    answerWith(1_025)
    expect(await send(post(plain.url), never)).toEqual({ responseStatus: 200 })
    answerWith(1_024)
    let isDone = false
    const sending = send(post(plain.url), stopped.signal).finally(() => {
      isDone = true
    })
    await expect.poll(() => plain.received.length).toBe(2)
    await sleep(200)
    expect(isDone).toBe(false)
    stopped.abort()
    await sending
    await plain.close()
  })

  it('reports only an error code when an endpoint hangs up or does not speak HTTP', async () => {
    const plain = await openReceiver()
    const send = createWebhookSender({ privateWebhooks: true })
    plain.answer(response => response.destroy())
    expect(await send(post(plain.url), never)).toEqual({ error: 'The connection failed: ECONNRESET.' })
    plain.answer(response => response.socket?.end('SSH-2.0-secret\r\n'))
    expect(await send(post(plain.url), never)).toEqual({
      error: expect.stringMatching(/^The connection failed: HPE_\w+\.$/),
    })
    await plain.close()
  })
})
