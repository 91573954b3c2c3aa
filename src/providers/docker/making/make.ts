import type { Logger } from 'pino'
import type { ContainerSpec } from '../../../domain/instances/containers.ts'
import { listContainers, renameContainer } from '../container.ts'
import type { EngineClient } from '../engine/client.ts'
import { unlessMissing } from '../engine/error.ts'
import { ContainerFailed, type FailureKind, kindOf } from '../failures.ts'
import { instanceFiles, uploadTar } from '../files.ts'
import type { Machine } from '../machine.ts'
import { containerName, labels, labelsOf, phaseOf, volumeName } from '../names.ts'
import type { Networks } from '../networks.ts'
import { containerBody, type Limits } from './body.ts'
import { pullImage } from './image.ts'

export type MakeDeps = {
  readToolbox: () => Promise<Buffer>
  log: Logger
  networks: Networks
  /** Engines that refused to limit a disk: most file systems cannot. */
  withoutDiskLimit: WeakSet<EngineClient>
}

const mb = 1_000_000

/**
 * Pulls the image and makes the container. It has its final name only when its files are complete, so that a crash in
 * between leaves one that counts as absent. A request to create is not aborted: what it made would not be known.
 */
export async function makeContainer(
  deps: MakeDeps,
  machine: Machine,
  spec: ContainerSpec,
  signal: AbortSignal,
): Promise<void> {
  if (spec.vm) throw faultOfMachine('The machine runs no virtual machines.')
  const imageId = await pullImage(machine.client, { image: spec.launch.image, registry: spec.registry }, signal)
  await createVolumes(machine, spec, signal)
  const toolbox = await deps.readToolbox()
  signal.throwIfAborted()
  const unaborted = new AbortController().signal
  const Id = await deps.networks.use(machine, String(spec.accountId), unaborted, () =>
    create(deps, machine, spec, imageId, unaborted),
  )
  if (await hasOther(machine, spec, Id, unaborted)) return await removeById(machine, Id, unaborted)
  await uploadTar(machine, Id, toolbox, unaborted)
  await uploadTar(machine, Id, instanceFiles(spec), unaborted)
  await renameContainer(machine, { Id, instanceId: spec.instanceId }, 'complete', unaborted)
}

function faultOfMachine(message: string): ContainerFailed {
  return new ContainerFailed({ code: 'START_FAILED', message, fault: 'machine' })
}

/** The engine would make absent volumes without labels. It leaves a volume that exists as it is, and answers its labels. */
async function createVolumes(
  { client, engine }: Machine,
  { volumes, accountId }: ContainerSpec,
  signal: AbortSignal,
): Promise<void> {
  for (const { volumeId } of volumes) {
    const account = String(accountId)
    const Labels = { [labels.mark]: engine.mark, [labels.volume]: String(volumeId), [labels.account]: account }
    const json = { Name: volumeName(engine, volumeId), Driver: 'local', Labels }
    const made = await client.call<{ Labels: Record<string, string> | null }>('POST', '/volumes/create', {
      json,
      signal,
    })
    // The database was restored, and has given the id again.
    if ((made.Labels?.[labels.account] ?? account) !== account)
      throw faultOfMachine(`The machine cannot make the volume ${volumeId}.`)
  }
}

async function create(
  deps: MakeDeps,
  machine: Machine,
  spec: ContainerSpec,
  imageId: string,
  signal: AbortSignal,
): Promise<string> {
  const { client, engine } = machine
  const query = { name: containerName(engine, spec.instanceId, 'making') }
  const limits = await limitsOf(deps, machine, spec, signal)
  for (let left = maxRepairs; ; left -= 1) {
    try {
      const json = containerBody(engine, spec, { imageId, limits, limitsDisk: !deps.withoutDiskLimit.has(client) })
      return (await client.call<{ Id: string }>('POST', '/containers/create', { query, json, signal })).Id
    } catch (error) {
      const repair = left > 0 && repairs[kindOf(error)]
      if (!repair) throw error
      await repair({ deps, machine, spec, signal })
    }
  }
}

type Repair = (request: {
  deps: MakeDeps
  machine: Machine
  spec: ContainerSpec
  signal: AbortSignal
}) => Promise<void> | void

const maxRepairs = 4
const repairs: Partial<Record<FailureKind, Repair>> = {
  noDiskLimit: ({ deps, machine }) => void deps.withoutDiskLimit.add(machine.client),
  // An incomplete container has the name: a crash left it, or another gateway makes it. This one replaces it.
  nameTaken: ({ machine, spec, signal }) =>
    removeById(machine, containerName(machine.engine, spec.instanceId, 'making'), signal),
}

async function hasOther(machine: Machine, spec: ContainerSpec, own: string, signal: AbortSignal): Promise<boolean> {
  const listed = await listContainers(machine, labelsOf(spec), signal)
  return listed.some(({ Id, Names }) => Id !== own && phaseOf(Names[0] ?? '') !== 'making')
}

async function removeById({ client }: Machine, id: string, signal: AbortSignal): Promise<void> {
  await unlessMissing(client.call('DELETE', `/containers/${id}`, { query: { force: 1, v: 1 }, signal }))
}

/** The engine refuses more processors than it has. A share may be more memory than it has, because hosts round. */
async function limitsOf(
  { log }: MakeDeps,
  { client }: Machine,
  { share, machineId }: ContainerSpec,
  signal: AbortSignal,
): Promise<Limits> {
  if (!share) return {}
  const { NCPU, MemTotal } = await client.call<{ NCPU: number; MemTotal: number }>('GET', '/info', { signal })
  const memory = Math.min(share.memoryMb * mb, MemTotal)
  const [hasCpus, hasMemory] = [share.cpus <= NCPU, share.memoryMb * mb <= MemTotal]
  if (!hasCpus || !hasMemory) log.warn({ machineId, share, NCPU, MemTotal }, 'A machine is smaller than it is listed.')
  return {
    ...(hasCpus && { NanoCpus: Math.round(share.cpus * 1e9) }),
    ...{ Memory: memory, MemorySwap: memory },
  }
}
