import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ContainerSpec } from '../../../src/domain/instances/containers.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const specs: ContainerSpec[] = []
let testDatabase: TestDatabase
let gateway: Gateway

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({
    url: testDatabase.url,
    now: manualClock().now,
    wrapProvider: provider => ({
      ...provider,
      ensure(spec, signal) {
        specs.push(spec)
        return provider.ensure(spec, signal)
      },
    }),
  })
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

it('limits a container to the share of the machine that its GPUs are', async () => {
  await listMachines(gateway.operations, [{ machine: { numGpus: 2, cpuCores: 48, cpuRamMb: 64_001 } }])
  const actor = await gateway.newActor()
  const [offer] = await gateway.sql('SELECT id FROM offers WHERE num_gpus = 1 AND rentable ORDER BY id LIMIT 1')
  const instance = await gateway.rent(actor, BigInt(offer?.['id'] as string))
  await gateway.idle()
  expect(specs).toMatchObject([{ accountId: instance.accountId, machineId: instance.machineId }])
  expect(specs[0]?.share).toEqual({ cpus: 24, memoryMb: 32_000 })
})

it('gives the notebook of a container the token that opens it', async () => {
  const actor = await gateway.newActor()
  await listMachines(gateway.operations, [{}])
  const [offer] = await gateway.sql('SELECT id FROM offers WHERE rentable ORDER BY id DESC LIMIT 1')
  const { id } = await gateway.rent(actor, BigInt(offer?.['id'] as string), { launch: { mode: 'jupyterProxy' } })
  await gateway.idle()
  const [found] = await gateway.services.instances.notebookTokens(actor, [id])
  const token = { name: 'JUPYTER_TOKEN', value: found?.token, secret: true }
  expect(specs.at(-1)).toMatchObject({ instanceId: id, launch: { env: [token] } })
})
