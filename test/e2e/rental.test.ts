import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type GatewayProcess, makeDataDir, startGateway, stopProgram } from '../support/processes/programs.ts'

let gateway: GatewayProcess
let key: string
let remove: () => Promise<void>

beforeAll(async () => {
  const made = await makeDataDir()
  remove = made.remove
  gateway = await startGateway({ BERTH_DATA_DIR: made.dataDir, SIMULATED_DELAY: '0' })
  key = readFileSync(join(made.dataDir, 'demo-key'), 'utf8')
})

afterAll(async () => {
  await stopProgram(gateway)
  await remove()
})

const rest = async (method: string, path: string, body?: object) => {
  const init = { method, headers: { authorization: `Bearer ${key}` }, ...(body && { body: JSON.stringify(body) }) }
  const response = await fetch(`${gateway.url}/api/v0${path}`, init)
  // biome-ignore lint/suspicious/noExplicitAny: the type depends on the request
  return (await response.json()) as any
}
const readStatus = async (id: number) => (await rest('GET', `/instances/${id}/`)).instances.actual_status

describe('a gateway', () => {
  it('runs a rented instance, and stops it on request', async () => {
    const { offers } = await rest('POST', '/bundles/', { limit: 1 })
    const { new_contract: id } = await rest('PUT', `/asks/${offers[0].id}/`, { image: 'ubuntu' })
    await expect.poll(() => readStatus(id), { timeout: 5_000 }).toBe('running')
    await rest('PUT', `/instances/${id}/`, { state: 'stopped' })
    await expect.poll(() => readStatus(id), { timeout: 5_000 }).toBe('stopped')
  })
})
