import type { Instance, PortBinding } from './instances.ts'

const sshPort = 22

/** How an instance is reached at its machine's public address. Null unless it runs: before and after, nothing answers. */
export function directAccessOf({ status, destroyedAt, launch, machine, portBindings }: Instance): {
  host: string
  sshPort: number | null
  ports: PortBinding[]
} | null {
  if (status !== 'running' || destroyedAt) return null
  const ssh = portBindings.find(({ containerPort, protocol }) => containerPort === sshPort && protocol === 'tcp')
  // In args mode whatever listens there is the image's own.
  const hasSsh = launch.mode !== 'args'
  return { host: machine.publicIp, sshPort: (hasSsh && ssh?.hostPort) || null, ports: portBindings }
}
