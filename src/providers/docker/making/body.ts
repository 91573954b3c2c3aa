import type { ContainerSpec } from '../../../domain/instances/containers.ts'
import type { EnvVar } from '../../../domain/launch/env.ts'
import type { Engine } from '../../../domain/machines/engines.ts'
import type { DeviceRequest } from '../container.ts'
import { deviceRequests, visibleDevices } from '../gpus.ts'
import { containerLabels, networkName, volumeName } from '../names.ts'

/** What a renter's root may do. The engine's usual set without raw sockets and device nodes. */
const capabilities = [
  ...['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'SETGID', 'SETUID', 'SETPCAP'],
  ...['NET_BIND_SERVICE', 'SYS_CHROOT', 'AUDIT_WRITE'],
]
const maxProcesses = 4_096
const mb = 1_000_000
/** Shared memory without a known share. The engine's own default is too small for data loaders. */
const usualSharedMb = 1_024

export type Limits = { NanoCpus?: number; Memory?: number; MemorySwap?: number }

/** `limitsDisk` is whether the engine can limit the disk of a container. */
export type BodyOptions = { imageId: string; limits: Limits; limitsDisk: boolean }

/** The body of the engine's request to create a container. */
export function containerBody(engine: Engine, spec: ContainerSpec, { imageId, limits, limitsDisk }: BodyOptions) {
  const { instanceId, accountId, gpus, diskMb, launch, ports, volumes, share } = spec
  const requests = deviceRequests(engine, gpus)
  return {
    Image: imageId,
    ...processOf(spec),
    Hostname: launch.hostname ?? `berth-${instanceId}`,
    Env: variablesOf(engine, spec, requests).map(({ name, value }) => `${name}=${value}`),
    Labels: containerLabels(engine, spec),
    Healthcheck: { Test: ['NONE'] },
    // The engine publishes only ports that are exposed, too, and does not say so.
    ExposedPorts: Object.fromEntries(ports.map(port => [portKey(port), {}])),
    HostConfig: {
      ...{ CapDrop: ['ALL'], CapAdd: capabilities, SecurityOpt: ['no-new-privileges'], PidsLimit: maxProcesses },
      ...{ Init: true, Privileged: false, IpcMode: 'private', RestartPolicy: { Name: 'no' } },
      ShmSize: Math.floor((share ? share.memoryMb / 2 : usualSharedMb) * mb),
      LogConfig: { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '2' } },
      NetworkMode: networkName(engine, accountId),
      PortBindings: portBindings(ports),
      Mounts: volumes.map(({ volumeId, mountPath }) => ({
        ...{ Type: 'volume', Source: volumeName(engine, volumeId), Target: mountPath },
      })),
      ...(requests.length > 0 && { DeviceRequests: requests }),
      ...(limitsDisk && { StorageOpt: { size: String(diskMb * mb) } }),
      ...limits,
    },
  }
}

/** In args mode the image's own entrypoint runs, as its own user. In the others, an entrypoint with an SSH server. */
function processOf({ launch: { mode, args } }: ContainerSpec) {
  if (mode === 'args') return args.length > 0 ? { Cmd: args } : {}
  const Entrypoint = ['/.berth/bin/busybox', 'sh', '/.berth/entry.sh']
  return { Entrypoint, Cmd: [], User: '0:0', StopSignal: 'SIGTERM' }
}

/** Later variables replace earlier ones of the same name. */
function variablesOf(
  engine: Engine,
  { instanceId, launch, apiKey }: ContainerSpec,
  requests: DeviceRequest[],
): EnvVar[] {
  const { mode, lab, directory, env } = launch
  const set = (name: string, value: string): EnvVar => ({ name, value })
  const token = env.find(({ name }) => name === 'JUPYTER_TOKEN')?.value || apiKey
  const notebook = [
    set('BERTH_JUPYTER_LAB', lab ? '1' : ''),
    set('BERTH_JUPYTER_DIR', directory ?? ''),
    set('BERTH_JUPYTER_TOKEN', token),
  ]
  const own = [
    set('BERTH_INSTANCE_ID', String(instanceId)),
    set('BERTH_API_KEY', apiKey),
    ...(mode === 'args' ? [] : [set('BERTH_MODE', mode)]),
    ...(mode === 'jupyterDirect' || mode === 'jupyterProxy' ? notebook : []),
    set('NVIDIA_VISIBLE_DEVICES', visibleDevices(engine, requests)),
  ]
  return [...new Map([...env, ...own].map(variable => [variable.name, variable])).values()]
}

function portKey({ containerPort, protocol }: ContainerSpec['ports'][number]): string {
  return `${containerPort}/${protocol}`
}

function portBindings(ports: ContainerSpec['ports']) {
  const byKey = Map.groupBy(ports, portKey)
  return Object.fromEntries(
    [...byKey].map(([key, bound]) => [
      key,
      bound.map(({ hostPort }) => ({ HostIp: '0.0.0.0', HostPort: String(hostPort) })),
    ]),
  )
}
