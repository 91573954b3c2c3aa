import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Gateway, makeDataDir, startGateway, stop } from '../support/process.ts'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
/** The commands that the README has under "Rent". */
const [, chapter = ''] = /\n## Rent\n(.*?)\n## /s.exec(readme) ?? []
const blocks = [...chapter.matchAll(/```sh\n(.*?)```/gs)].map(([, commands]) => commands as string)

let gateway: Gateway
let key: string
let remove: () => Promise<void>

beforeAll(async () => {
  const made = await makeDataDir()
  remove = made.remove
  gateway = await startGateway({ BERTH_DATA_DIR: made.dataDir, SIMULATED_DELAY: '0' })
  key = readFileSync(join(made.dataDir, 'demo-key'), 'utf8')
})

afterAll(async () => {
  await stop(gateway)
  await remove()
})

/** Pastes the commands into a shell, as a reader would, and returns the answers of those that print something. */
async function paste(commands: string): Promise<Record<string, unknown>[]> {
  const script = commands.replace('http://127.0.0.1:4000', gateway.url)
  const { stdout } = await promisify(execFile)('bash', ['-euc', script], { env: { ...process.env, KEY: key } })
  return stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
}

describe('what the README says of renting', () => {
  it('is two walks', () => {
    expect(blocks).toHaveLength(2)
  })

  it('works over REST', async () => {
    const [read, ...changes] = await paste(blocks[0] as string)
    expect(read).toMatchObject({ instances: { intended_status: 'running', image_uuid: 'ubuntu', disk_space: 16 } })
    expect(changes).toEqual([{ success: true }, { success: true }, { success: true }])
  })

  it('works over GraphQL', async () => {
    const [read, stopped, destroyed] = await paste(blocks[1] as string)
    expect(read).toMatchObject({ data: { instance: { actions: expect.any(Array) } } })
    expect(stopped).toMatchObject({ data: { updateInstance: { instance: { status: expect.any(String) } } } })
    expect(destroyed).toEqual({ data: { destroyInstances: { items: [{ outcome: 'APPLIED' }] } } })
  })
})

describe('a gateway', () => {
  const rest = async (method: string, path: string, body?: object) => {
    const init = { method, headers: { authorization: `Bearer ${key}` }, ...(body && { body: JSON.stringify(body) }) }
    const response = await fetch(`${gateway.url}/api/v0${path}`, init)
    // biome-ignore lint/suspicious/noExplicitAny: whatever was asked for
    return (await response.json()) as any
  }
  const statusOf = async (id: number) => (await rest('GET', `/instances/${id}/`)).instances.actual_status

  it('brings what is rented to run, and what is to stop to a stop', async () => {
    const { offers } = await rest('POST', '/bundles/', { limit: 1 })
    const { new_contract: id } = await rest('PUT', `/asks/${offers[0].id}/`, { image: 'ubuntu' })
    await expect.poll(() => statusOf(id), { timeout: 5_000 }).toBe('running')
    await rest('PUT', `/instances/${id}/`, { state: 'stopped' })
    await expect.poll(() => statusOf(id), { timeout: 5_000 }).toBe('stopped')
  })
})
