// The README and the pages under docs/ do what they say. Their snippets are pasted into a shell, in the order of the page.

import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rentAtBid } from '../client/example.ts'
import { aPublicKey } from '../support/accounts/ssh-keys.ts'
import { blocksOf, chapterOf, pages, readPage } from '../support/docs.ts'
import { type GatewayProcess, makeDataDir, startGateway, stopProgram } from '../support/processes/programs.ts'
import { createTypedClient } from '../support/typed-client.ts'

const root = join(import.meta.dirname, '../..')
const load = '. docs/berth.sh\n'

/** The reader's home, which has an SSH key. */
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

async function run(program: string, args: string[]): Promise<string> {
  const env = { ...process.env, HOME: home, KEY: key, BERTH: gateway.url }
  const { stdout } = await promisify(execFile)(program, args, { cwd: root, env })
  return stdout.trim()
}

/** Pastes snippets into a shell at the project's folder, as a reader does, and returns the answers that they print. */
async function paste(...snippets: string[]): Promise<unknown[]> {
  const output = await run('bash', ['-euc', snippets.join('\n')])
  return output.split('\n').map(line => JSON.parse(line))
}

/** Pastes snippets of which the last opens a stream, and returns the first event of the stream. */
async function pasteStream(...snippets: string[]): Promise<unknown> {
  const stream = `(${snippets.pop()?.trimEnd()} || true) | grep -m1 -o '{"data".*}'`
  return JSON.parse((await run('bash', ['-euc', [...snippets, stream].join('\n')])).split('\n').at(-1) as string)
}

const amount = expect.stringMatching(/^\d+(\.\d{1,9})?$/)
const list = expect.any(Array)
const volumeId = expect.stringMatching(/^vol_\d+$/)

describe('the README', () => {
  const readme = readPage('README.md')

  it('rents over GraphQL', async () => {
    const [rented, read, ...more] = await paste(load, ...blocksOf(chapterOf(readme, '### Over GraphQL'), 'sh'))
    const instance = { id: expect.stringMatching(/^ins_\d+$/), pricePerHour: amount }
    expect(rented).toMatchObject({ data: { rentInstance: { instance } } })
    expect(read).toMatchObject({ data: { instance: { status: expect.any(String) } } })
    expect(more).toMatchObject([{ data: { destroyInstance: { instance: { status: 'DESTROYED' } } } }])
  })

  it('rents over REST, and shows the answer as it is', async () => {
    const chapter = chapterOf(readme, '### Over REST')
    const [rented, read, ...changes] = await paste(load, ...blocksOf(chapter, 'sh'))
    const [shown = ''] = blocksOf(chapter, 'json')
    expect(shapeOf(rented)).toEqual(shapeOf(JSON.parse(shown)))
    expect(read).toMatchObject({ instances: { intended_status: 'running', image_uuid: 'ubuntu', disk_space: 16 } })
    expect(changes).toEqual([{ success: true }, { success: true }])
  })
})

/** An answer without its numbers and secrets. */
function shapeOf(answer: unknown): string {
  return JSON.stringify(answer)
    .replace(/:\d+/g, ':0')
    .replace(/_\d+_[0-9a-f…]+/g, '_0_…')
}

/** What the snippets of each page print. */
const answers: Record<string, unknown[]> = {
  'docs/renting.md': [
    { data: { instance: { actions: list } } },
    { data: { stopInstance: { instance: { targetState: 'STOPPED' } } } },
    { data: { destroyInstance: { instance: { status: 'DESTROYED' } } } },
    { data: { createSshKey: { sshKey: { name: 'me@home' } } } },
    { data: { rentQuote: { rentable: true, blockers: [], warnings: [expect.stringContaining('no SSH proxy')] } } },
    { success: true, new_contract: expect.any(Number) },
    { success: true, new_contract: expect.any(Number) },
    {
      data: {
        updateTemplate: {
          template: {
            name: 'trainer',
            diskGb: 30,
            env: [
              { name: 'EPOCHS', value: '4', secret: false },
              { name: 'TOKEN', value: null, secret: true },
            ],
          },
        },
      },
    },
    {
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
    },
    { data: { updateInstanceBid: { instance: { bidPerHour: '0.25' } } } },
    {
      data: {
        updateInstancePolicy: {
          instance: {
            policy: { stopAt: null, stopAtCost: '2.5', destroyAt: null, destroyAfterStoppedSeconds: 86_400 },
          },
        },
      },
    },
    { data: { createVolume: { volume: { id: volumeId } } } },
    {
      data: {
        rentBestOffer: {
          instance: { volumes: [{ mountPath: '/data', volume: { id: volumeId, name: 'data', sizeGb: 50 } }] },
        },
      },
    },
    { data: { updateSecretVariables: { variables: [{ name: 'EXAMPLE_TOKEN', updatedAt: expect.any(String) }] } } },
    { data: { destroyInstances: { succeededCount: 4, failedCount: 0 } } },
    {
      data: {
        deleteVolume: { deletedId: volumeId },
        deleteTemplate: { deletedId: expect.stringMatching(/^tpl_\d+$/) },
        deleteSecretVariables: { deletedNames: ['EXAMPLE_TOKEN'] },
      },
    },
  ],
  'docs/instances.md': [
    { data: { instance: { status: 'RUNNING' } } },
    {
      data: {
        instance: { status: 'RUNNING', connection: { sshCommand: expect.stringMatching(/^ssh -p \d+ root@/) } },
      },
    },
    {
      data: {
        instance: {
          logs: expect.arrayContaining([{ ...anyLine(), printedAt: expect.any(String), source: expect.anything() }]),
        },
      },
    },
    { data: { executeCommand: { exitCode: 0, output: expect.stringContaining('GPU 0') } } },
    {
      data: {
        instance: {
          currentMetrics: expect.objectContaining({ cpuCoresUsed: expect.any(Number) }),
          metrics: expect.arrayContaining([expect.objectContaining({ gpus: list })]),
        },
      },
    },
    { data: { rebootInstance: { instance: { status: 'RUNNING' } } } },
    { data: { events: { nodes: list, pageInfo: { endCursor: expect.any(String) } } } },
    { data: { destroyInstance: { instance: { status: 'DESTROYED' } } } },
  ],
  'docs/money.md': [
    {
      data: {
        viewer: { account: { credit: amount, costPerHour: '0', runwaySeconds: null } },
        instances: { nodes: list },
      },
    },
    { data: { viewer: { account: { ledger: { nodes: list } } } } },
    { data: { viewer: { account: { usage: { cost: amount, totals: list, buckets: list } } } } },
    { success: true, results: list },
    {
      data: {
        createSpendLimit: {
          spendLimit: { window: 'DAY', amount: '200', used: amount, action: 'STOP_RUNNING', reachedAt: null },
        },
      },
    },
    { data: { viewer: { account: { spendLimits: [{ window: 'DAY' }, { window: 'HOUR', amount: '40' }] } } } },
    { data: { deleteSpendLimit: { __typename: 'DeleteSpendLimitSuccess' } } },
    { data: { deleteSpendLimit: { deletedId: expect.stringMatching(/^lim_\d+$/) } } },
  ],
  'docs/events.md': [
    { data: { createWebhook: { secret: expect.any(String), webhook: { id: expect.stringMatching(/^whk_\d+$/) } } } },
    { data: { viewer: { account: { webhooks: [{ url: 'https://example.com/berth', recentDeliveries: [] }] } } } },
  ],
  'docs/keys.md': [
    {
      data: {
        createApiKey: {
          secret: expect.stringMatching(/^berth_/),
          apiKey: { id: expect.stringMatching(/^key_\d+$/) },
        },
      },
    },
    { data: { instances: { nodes: list } } },
    { data: { updateApiKey: { apiKey: { permissions: [{ category: 'INSTANCE_READ' }] } } } },
    { data: { deleteApiKey: { deletedId: expect.stringMatching(/^key_\d+$/) } } },
    { data: { createApiKey: { apiKey: { permissions: [{ category: 'INSTANCE_READ' }, { category: null }] } } } },
  ],
  'docs/rest.md': [{ offers: expect.arrayContaining([expect.anything()]) }],
}

/** Rents and destroys the cheapest RTX 4090, again and again, until a stream has an event. */
async function rentUntil(firstEvent: Promise<unknown>): Promise<void> {
  const rest = async (method: string, path: string, body?: object) => {
    const init = { method, headers: { authorization: `Bearer ${key}` }, ...(body && { body: JSON.stringify(body) }) }
    // biome-ignore lint/suspicious/noExplicitAny: whatever was asked for
    return (await (await fetch(`${gateway.url}/api/v0${path}`, init)).json()) as any
  }
  const hasEvent = firstEvent.then(() => true)
  while (!(await Promise.race([hasEvent, sleep(200)]))) {
    const { instances } = await rest('GET', '/instances/')
    for (const { id } of instances) await rest('DELETE', `/instances/${id}/`)
    const search = { gpu_name: 'RTX 4090', order: [['dph_total', 'asc']], limit: 1 }
    const { offers } = await rest('POST', '/bundles/', search)
    await rest('PUT', `/asks/${offers[0].id}/`, { image: 'ubuntu' })
  }
}

const everything = `{
  instances { totalCount } volumes { totalCount } templates(filter: {mine: true}) { totalCount }
  viewer { account { secretVariables { name } spendLimits { id } } } }`

function anyLine() {
  return { cursor: expect.any(String), text: expect.any(String) }
}

describe('the pages under docs/', () => {
  const withSnippets = pages.filter(page => page !== 'README.md' && blocksOf(readPage(page), 'sh').length > 0)

  it('have their answers listed here if they have snippets', () => {
    expect(Object.keys(answers).toSorted()).toEqual(withSnippets.toSorted())
  })

  it.each(Object.keys(answers))('%s has snippets that work', async page => {
    const printed = await paste(...blocksOf(readPage(page), 'sh'))
    expect(printed).toMatchObject(answers[page] as unknown[])
  })

  it('leave nothing behind that costs or limits anything, so renting.md and money.md can be pasted again', async () => {
    expect(await paste(load, `gql '${everything}'`)).toMatchObject([
      {
        data: {
          instances: { totalCount: 0 },
          volumes: { totalCount: 0 },
          templates: { totalCount: 0 },
          viewer: { account: { secretVariables: [], spendLimits: [] } },
        },
      },
    ])
    const printed = await paste(...blocksOf(readPage('docs/renting.md'), 'sh'))
    const expected = answers['docs/renting.md']?.with(3, { data: { createSshKey: { code: 'CONFLICT' } } })
    expect(printed).toMatchObject(expected as unknown[])
    expect(printed[5]).toEqual(printed[6])
    const money = await paste(...blocksOf(readPage('docs/money.md'), 'sh'))
    expect(money.slice(4)).toMatchObject(answers['docs/money.md']?.slice(4) as unknown[])
  })

  it('instances.md has a snippet that follows the log of an instance', async () => {
    const page = readPage('docs/instances.md')
    const [rent = ''] = blocksOf(page, 'sh')
    expect(await pasteStream(rent, ...blocksOf(page, 'sh stream'))).toEqual({ data: { instanceLogs: anyLine() } })
  })

  it('events.md has snippets that watch the account, an instance, and offers', async () => {
    const [watchAll = '', watchInstance = '', watchOffers = ''] = blocksOf(readPage('docs/events.md'), 'sh stream')
    const watchedAll = pasteStream(load, watchAll)
    await rentUntil(watchedAll)
    expect(await watchedAll).toMatchObject({ data: { events: { node: { kind: expect.any(String) } } } })
    expect(await pasteStream(load, watchInstance)).toMatchObject({
      data: { instanceChanges: { kind: 'ADDED', instance: { status: expect.any(String) } } },
    })
    const waited = pasteStream(load, watchOffers)
    await rentUntil(waited)
    expect(await waited).toMatchObject({
      data: { offerChanges: { kind: expect.any(String), offerId: expect.any(String) } },
    })
  })

  it.each([
    ['js', process.execPath, ['--input-type=module', '-e']],
    ['python', 'python3', ['-c']],
  ])('graphql.md has a program in %s that rents, waits, and destroys what it rented', async (info, program, args) => {
    const [source = '', ...others] = blocksOf(readPage('docs/graphql.md'), info)
    expect(others).toEqual([])
    const countInstances = () =>
      run('bash', ['-euc', `${load} gql '{ instances { totalCount } }' | grep -o '"totalCount":.'`])
    const before = await countInstances()
    expect(await run(program, [...args, source])).toMatch(/^ssh -p \d+ root@\S+$/)
    expect(await countInstances()).toEqual(before)
    const unknown = source.replace('rentBestOffer', 'rentBest')
    await expect(run(program, [...args, unknown])).rejects.toThrow(/Cannot query field "rentBest"/)
    const failing = source.replace(/(console\.log|print)\(.*\)/, 'fail()')
    await expect(run(program, [...args, failing])).rejects.toThrow(/fail'? is not defined/)
    expect(await countInstances()).toEqual(before)
  })

  it('graphql.md has an example that rents with a typed client, or says why not', async () => {
    const choice = { offerId: 'off_1', hashId: '0'.repeat(32), volumeId: 'vol_1' }
    await expect(rentAtBid(createTypedClient(gateway.url, key), choice)).rejects.toThrow(/template/i)
  })

  it('events.md has a program that resumes a stream after a cursor', async () => {
    const [program = ''] = blocksOf(readPage('docs/events.md'), 'ts')
    const [comment = ''] = / \/\/ keep it.*/.exec(program) ?? []
    const script = program
      .replace('ws://127.0.0.1:4000', gateway.url.replace('http', 'ws'))
      .replace(`after = data.events.cursor${comment}`, '{ console.log(JSON.stringify(data)); process.exit() }')
    const declare = `type EventEdge = { cursor: string }; const key = '${key.trim()}'\n`
    const firstEvent = run(process.execPath, ['--input-type=module-typescript', '-e', declare + script])
    await rentUntil(firstEvent)
    expect(JSON.parse(await firstEvent)).toEqual({ events: { cursor: expect.any(String), node: expect.anything() } })
  })
})
