import { readFile, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { makeDataDir } from '../src/database/embedded/data-dir.ts'
import { DomainError } from '../src/domain/errors.ts'
import type { Operations } from '../src/services/operations.ts'
import type { Services } from '../src/services/services.ts'
import { countDemoHosts, type DemoMachine, generateDemoMachines } from './demo-market.ts'
import { demoModels } from './gpu-models.ts'

const demoMachineCount = 420
const demoEmail = 'demo@example.com'
const demoCreditNanos = 100_000_000_000n
/** A batch is listed as a whole or not at all. The demo market fits into one batch. */
const batchSize = 500

/** Facts of common GPU models, for import files that only name a model. */
export const commonModels = demoModels.map(({ gpuModel }) => gpuModel)

type KeyServices = { apiKeys: Pick<Services['apiKeys'], 'identify'> }
export type MarketSize = { machines: number; seed?: number }

/**
 * Makes the demo account and market if they do not exist. Uses the API key in the file while it is valid, else replaces
 * it.
 */
export async function ensureDemo(services: KeyServices, operations: Operations, keyFile: string): Promise<string> {
  const key = await ensureDemoKey(services, operations, keyFile)
  if (!(await operations.machines.hasAny())) await seedMarket(operations, { machines: demoMachineCount })
  return key
}

/** An operator may have disabled the demo account. Its key stays the same. */
async function isKnown(apiKeys: KeyServices['apiKeys'], key: string): Promise<boolean> {
  return await apiKeys.identify(key, { fresh: true }).then(
    actor => actor !== undefined,
    (error: unknown) => {
      if (error instanceof DomainError && error.code === 'ACCOUNT_DISABLED') return true
      throw error
    },
  )
}

async function ensureDemoKey({ apiKeys }: KeyServices, operations: Operations, keyFile: string): Promise<string> {
  const kept = await readFile(keyFile, 'utf8').catch(() => '')
  if (await isKnown(apiKeys, kept)) return kept
  // Gateways that share the database have keys of their own, which stay valid.
  const keyName = `demo, ${hostname()}:${keyFile}`
  await operations.apiKeys.revoke({ email: demoEmail, name: keyName })
  const { apiKey } = await operations.accounts
    .create({ email: demoEmail, name: 'Demo', creditNanos: demoCreditNanos, keyName })
    .catch((error: unknown) => {
      if (!(error instanceof DomainError && error.code === 'CONFLICT')) throw error
      return operations.accounts.createApiKey(demoEmail, { name: keyName, permissions: null })
    })
  await makeDataDir(dirname(keyFile))
  await writeFile(keyFile, apiKey, { mode: 0o600 })
  return apiKey
}

/**
 * Lists machines of a demo market, host by host. Continues after the machines of the same seed that are already listed.
 * Callers must prevent concurrent calls. `onProgress` gets the number of machines listed so far. Returns how many the seed has now.
 */
export async function seedMarket(
  operations: Operations,
  { machines, seed = 1 }: MarketSize,
  onProgress: (listed: number) => void = () => {},
): Promise<number> {
  const start = new Date()
  const modelIds = await operations.machines.saveGpuModels(demoModels.map(({ gpuModel }) => gpuModel))
  const first = await operations.machines.countOfHosts(emailSuffix(seed))
  const end = first + machines
  const hostIds = await operations.accounts.saveHosts(hostEmails(countDemoHosts(end), seed))
  const resolve = ({ host, gpuModel, ...machine }: DemoMachine) => ({
    ...machine,
    hostId: hostIds[host] as number,
    gpuModelId: modelIds.get(gpuModel) as number,
  })
  let listed = 0
  let batch: DemoMachine[] = []
  for (const machine of generateDemoMachines(first, end, start, seed)) {
    batch.push(machine)
    listed += 1
    if (batch.length < batchSize && listed < machines) continue
    await operations.machines.list(batch.map(resolve))
    batch = []
    onProgress(listed)
  }
  return end
}

function hostEmails(count: number, seed: number): string[] {
  return Array.from({ length: count }, (_, host) => `host-${host + 1}${emailSuffix(seed)}`)
}

function emailSuffix(seed: number): string {
  return `.market-${seed}@example.com`
}
