import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aPublicKey } from '../support/accounts/ssh-keys.ts'
import { type GatewayProcess, makeDataDir, startGateway, stopProgram } from '../support/processes/programs.ts'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
/** The commands that the README has under "Rent". */
const [, chapter = ''] = /\n## Rent\n(.*?)\n## /s.exec(readme) ?? []
const blocks = [...chapter.matchAll(/```sh\n(.*?)```/gs)].map(([, commands]) => commands as string)
const [restScript = '', ...graphqlScripts] = blocks
/** The answer to renting that it shows. */
const [, shownAnswer = ''] = /```json\n(\{.*\})\n```/.exec(chapter) ?? []

/** Where the reader's SSH key is: in `.ssh`, as the README has it. */
let home: string
let gateway: GatewayProcess
let key: string
let remove: () => Promise<void>

beforeAll(async () => {
  const made = await makeDataDir()
  remove = made.remove
  home = join(made.dataDir, 'home')
  mkdirSync(join(home, '.ssh'), { recursive: true })
  writeFileSync(join(home, '.ssh/id_ed25519.pub'), `${aPublicKey('reader')} me@home\n`)
  gateway = await startGateway({ BERTH_DATA_DIR: made.dataDir, SIMULATED_DELAY: '0' })
  key = readFileSync(join(made.dataDir, 'demo-key'), 'utf8')
})

afterAll(async () => {
  await stopProgram(gateway)
  await remove()
})

/** Pastes the commands into a shell, as a reader would, and returns the answers of those that print something. */
async function runScript(...parts: string[]): Promise<Record<string, unknown>[]> {
  const script = parts.join('').replaceAll('http://127.0.0.1:4000', gateway.url)
  const { stdout } = await promisify(execFile)('bash', ['-euc', script], {
    env: { ...process.env, HOME: home, KEY: key },
  })
  return stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
}

const rest = async (method: string, path: string, body?: object) => {
  const init = { method, headers: { authorization: `Bearer ${key}` }, ...(body && { body: JSON.stringify(body) }) }
  const response = await fetch(`${gateway.url}/api/v0${path}`, init)
  // biome-ignore lint/suspicious/noExplicitAny: whatever was asked for
  return (await response.json()) as any
}
const readStatus = async (id: number) => (await rest('GET', `/instances/${id}/`)).instances.actual_status

describe('what the README says of renting', () => {
  it('is a walk over REST, and one over GraphQL in twelve parts', () => {
    expect(blocks).toHaveLength(13)
  })

  it('works over REST', async () => {
    const [read, ...changes] = await runScript(restScript)
    expect(read).toMatchObject({ instances: { intended_status: 'running', image_uuid: 'ubuntu', disk_space: 16 } })
    expect(changes).toEqual([{ success: true }, { success: true }, { success: true }])
  })

  it('works over GraphQL', async () => {
    const answers = await runScript(...graphqlScripts)
    const [
      read,
      stopped,
      destroyed,
      registered,
      quoted,
      rented,
      repeated,
      best,
      bid,
      policySet,
      mounted,
      secret,
      ...keys
    ] = answers
    expect(read).toMatchObject({ data: { instance: { actions: expect.any(Array) } } })
    expect(stopped).toMatchObject({ data: { updateInstance: { instance: { status: expect.any(String) } } } })
    expect(destroyed).toEqual({ data: { destroyInstances: { items: [{ outcome: 'APPLIED' }] } } })
    expect(registered).toMatchObject({ data: { registerSshKey: { sshKey: { name: 'me@home' } } } })
    expect(quoted).toMatchObject({
      data: { rentQuote: { rentable: true, blockers: [], warnings: [expect.stringContaining('no SSH proxy')] } },
    })
    expect(maskIds(rented)).toEqual(maskIds(JSON.parse(shownAnswer)))
    expect(repeated).toEqual(rented)
    expect(best).toMatchObject({
      data: {
        rentBestOffer: {
          replayed: false,
          attempts: [{ failure: null }],
          instance: {
            launch: {
              sources: { image: 'TEMPLATE', mode: 'TEMPLATE', diskGb: 'TEMPLATE', onStart: 'DEFAULT' },
              env: [
                { name: 'EPOCHS', value: '5', source: 'REQUEST' },
                { name: 'TOKEN', value: null, source: 'TEMPLATE' },
              ],
            },
          },
        },
      },
    })
    expect(bid).toMatchObject({ data: { changeBid: { instance: { bidPerHour: '0.25' } } } })
    const policy = { stopAt: null, stopAtCost: '2.5', destroyAt: null, destroyWhenStoppedFor: 86_400 }
    expect(policySet).toMatchObject({ data: { setInstancePolicy: { instance: { policy } } } })
    const volumes = [{ mountPath: '/data', volume: { id: 'vol_1', name: 'data', sizeGb: 50 } }]
    expect(mounted).toMatchObject({ data: { rentBestOffer: { instance: { volumes } } } })
    const variables = [{ name: 'HF_TOKEN', updatedAt: expect.any(String) }]
    expect(secret).toEqual({ data: { setSecretVariables: { variables } } })
    const id = expect.stringMatching(/^key_\d+$/)
    const [made, revoked, happened] = keys
    expect(made).toMatchObject({ data: { createApiKey: { secret: expect.stringMatching(/^berth_/), apiKey: { id } } } })
    expect(revoked).toEqual({ data: { revokeApiKey: { revokedId: id } } })
    const pageInfo = { endCursor: expect.any(String) }
    expect(happened).toMatchObject({ data: { events: { nodes: expect.any(Array), pageInfo } } })
    expect(answers).toHaveLength(15)
  })

  it('works again, as what is repeated with its idempotency key happens once', async () => {
    const answers = await runScript(...graphqlScripts)
    expect(answers[3]).toMatchObject({ data: { registerSshKey: { code: 'CONFLICT' } } })
    expect(answers[7]).toMatchObject({ data: { rentBestOffer: { replayed: true } } })
    expect(answers).toHaveLength(15)
  })
})

describe('what the README says of the inside of an instance', () => {
  it('works while it runs', async () => {
    const [, inside = ''] = /\n## Inside an instance\n(.*?)\n## /s.exec(readme) ?? []
    const blocks = [...inside.matchAll(/```sh\n(.*?)```/gs)].map(([, commands]) => commands as string)
    const [connect = '', log = '', anew = ''] = blocks
    const [define = ''] = /^BERTH=.*?\n}\n/ms.exec(graphqlScripts[0] ?? '') ?? []
    const { offers } = await rest('POST', '/bundles/', { limit: 1 })
    const { new_contract: id } = await rest('PUT', `/asks/${offers[0].id}/`, { image: 'ubuntu', runtype: 'ssh_direct' })
    await expect.poll(() => readStatus(id), { timeout: 5_000 }).toBe('running')
    // The stream has no end, so it is left at its first line.
    const first = log.replace(/(curl -sN .*)\n$/s, '($1 || true) | grep -m1 -o \'{"data".*}\'\n')
    const [connected, logged, ran, followed] = await runScript(define, `INSTANCE=ins_${id}\n`, connect, first)
    const sshCommand = expect.stringMatching(/^ssh -p \d+ root@/)
    expect(connected).toMatchObject({ data: { instance: { status: 'RUNNING', connection: { sshCommand } } } })
    const line = { cursor: expect.any(String), line: expect.any(String) }
    expect(logged).toMatchObject({
      data: { instance: { logs: expect.arrayContaining([expect.objectContaining(line)]) } },
    })
    expect(ran).toMatchObject({ data: { executeCommand: { exitCode: 0, output: expect.stringContaining('GPU 0') } } })
    expect(followed).toMatchObject({ data: { instanceLogs: line } })
    const [rebooted] = await runScript(define, `INSTANCE=ins_${id}\n`, anew)
    expect(rebooted).toMatchObject({ data: { rebootInstance: { instance: { status: 'RUNNING' } } } })
  })
})

describe('what the README says of money', () => {
  it('can be asked', async () => {
    const [, money = ''] = /\n## Money\n(.*?)\n## /s.exec(readme) ?? []
    const scripts = [...money.matchAll(/```sh\n(.*?)```/gs)].map(([, commands]) => commands as string)
    const [define = ''] = /^BERTH=.*?\n}\n/ms.exec(graphqlScripts[0] ?? '') ?? []
    const [creditStatus, ledger, usage, limited, ...more] = await runScript(define, ...scripts)
    const amount = expect.stringMatching(/^\d+(\.\d{1,9})?$/)
    const viewer = { credit: amount, burnRate: amount, runwaySeconds: expect.any(Number) }
    const nodes = expect.arrayContaining([
      expect.objectContaining({ accruedCost: amount, burnRateWhenStopped: amount }),
    ])
    expect(creditStatus).toMatchObject({ data: { viewer, instances: { nodes } } })
    expect(ledger).toMatchObject({ data: { viewer: { ledger: { nodes: expect.any(Array) } } } })
    expect(usage).toMatchObject({ data: { viewer: { usage: { cost: amount, buckets: expect.any(Array) } } } })
    const spendLimit = { window: 'DAY', amount: '200', used: amount, action: 'STOP_RUNNING', reachedAt: null }
    expect(limited).toMatchObject({ data: { setSpendLimit: { spendLimit } } })
    const [read, lifted] = more
    expect(read).toMatchObject({
      data: { viewer: { spendLimits: [{ window: 'DAY' }, { window: 'HOUR', amount: '40' }] } },
    })
    expect(lifted).toEqual({ data: { deleteSpendLimit: { __typename: 'DeleteSuccess' } } })
  })
})

/** An answer with its numbers, and what is secret in it, left out. */
function maskIds(answer: unknown): string {
  return JSON.stringify(answer)
    .replace(/:\d+/g, ':0')
    .replace(/_\d+_[0-9a-f…]+/g, '_0_…')
}

describe('a gateway', () => {
  it('brings what is rented to run, and what is to stop to a stop', async () => {
    const { offers } = await rest('POST', '/bundles/', { limit: 1 })
    const { new_contract: id } = await rest('PUT', `/asks/${offers[0].id}/`, { image: 'ubuntu' })
    await expect.poll(() => readStatus(id), { timeout: 5_000 }).toBe('running')
    await rest('PUT', `/instances/${id}/`, { state: 'stopped' })
    await expect.poll(() => readStatus(id), { timeout: 5_000 }).toBe('stopped')
  })
})
