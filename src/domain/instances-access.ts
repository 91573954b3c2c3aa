import { printId } from './ids.ts'
import type { Instance, PortBinding } from './instances.ts'
import type { LaunchMode } from './launch.ts'

const sshPort = 22
const notebookPort = 8080

/** Where an SSH server listens that leads to any instance, by the name that is logged in with. */
export type SshProxy = { host: string; port: number }

/** How an instance is reached. */
export type Access = {
  /** The machine's address, at which the ports are. */
  host: string
  ports: PortBinding[]
  ssh: Login | null
  notebookUrl: string | null
}
export type Login = { host: string; port: number; user: string; command: string }

/** How SSH is had in a mode. In args mode whatever listens there is the image's own. */
const ways: Record<LaunchMode, 'direct' | 'proxy' | null> = {
  sshDirect: 'direct',
  jupyterDirect: 'direct',
  sshProxy: 'proxy',
  jupyterProxy: 'proxy',
  args: null,
}

/** How an instance is reached now. Null unless it runs: before and after, nothing answers. */
export function accessOf(instance: Instance): Access | null {
  const { status, destroyedAt, machine, portBindings } = instance
  if (status !== 'running' || destroyedAt) return null
  return { host: machine.publicIp, ports: portBindings, ssh: loginOf(instance), notebookUrl: notebookUrlOf(instance) }
}

function loginOf(instance: Instance): Login | null {
  const { id, launch, machine, sshProxy } = instance
  switch (ways[launch.mode]) {
    case 'direct': {
      const port = publicPortOf(instance, sshPort)
      return port === undefined ? null : login({ host: machine.publicIp, port, user: 'root' })
    }
    case 'proxy': {
      // The notebook listens inside alone, so whoever logs in takes it along.
      const tunnel = launch.mode === 'jupyterProxy' ? `-L ${notebookPort}:127.0.0.1:${notebookPort} ` : ''
      return sshProxy && login({ ...sshProxy, user: printId('Instance', id) }, tunnel)
    }
    case null:
      return null
  }
}

function login({ host, port, user }: Omit<Login, 'command'>, options = ''): Login {
  return { host, port, user, command: `ssh ${options}-p ${port} ${user}@${host}` }
}

function notebookUrlOf(instance: Instance): string | null {
  const { launch, machine, sshProxy } = instance
  switch (launch.mode) {
    case 'jupyterDirect': {
      const port = publicPortOf(instance, notebookPort)
      return port === undefined ? null : `http://${machine.publicIp}:${port}/`
    }
    case 'jupyterProxy':
      return sshProxy && `http://127.0.0.1:${notebookPort}/`
    default:
      return null
  }
}

function publicPortOf({ portBindings }: Instance, inside: number): number | undefined {
  return portBindings.find(({ containerPort, protocol }) => containerPort === inside && protocol === 'tcp')?.hostPort
}
