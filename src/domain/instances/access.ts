import { printId } from '../ids.ts'
import type { LaunchMode } from '../launch/launch.ts'
import type { Instance, PortBinding, SshProxy } from './instances.ts'
import { servedMode } from './ports.ts'

const sshPort = 22
const notebookPort = 8080

/** How an instance is reached. */
export type Access = {
  /** The machine's address, at which the ports are. */
  host: string
  ports: PortBinding[]
  ssh: Login | null
  notebookUrl: string | null
  /** Why it cannot be logged in to, and what to do. Null where it can, and in a mode without SSH. */
  warning: string | null
}
export type Login = {
  host: string
  port: number
  user: string
  command: string
  /** Whether the host is the SSH proxy, and not the machine. */
  proxied: boolean
}

/** What listens in a mode. In args mode whatever listens is the image's own. */
const modeServices: Record<LaunchMode, { ssh: boolean; notebook: boolean; proxied: boolean }> = {
  sshDirect: { ssh: true, notebook: false, proxied: false },
  sshProxy: { ssh: true, notebook: false, proxied: true },
  jupyterDirect: { ssh: true, notebook: true, proxied: false },
  jupyterProxy: { ssh: true, notebook: true, proxied: true },
  args: { ssh: false, notebook: false, proxied: false },
}

/** How an instance is reached now. Null unless it runs: before and after, nothing answers. */
export function accessOf(instance: Instance): Access | null {
  const { status, destroyedAt, machine, portBindings } = instance
  if (status !== 'running' || destroyedAt) return null
  const ssh = loginOf(instance)
  const warning = ssh || !modeServices[instance.launch.mode].ssh ? null : noSshWarning
  return { host: machine.publicIp, ports: portBindings, ssh, notebookUrl: notebookUrlOf(instance, ssh), warning }
}

const noSshWarning =
  'There is no SSH proxy any more, and no public port for SSH. Recycle the instance to get one, where its machine has ports free.'

/** A public port comes first, in every mode: it works whether or not there is a proxy. */
function loginOf({ id, launch, machine, portBindings, sshProxy }: Instance): Login | null {
  const { ssh, notebook, proxied } = modeServices[launch.mode]
  if (!ssh) return null
  // A notebook that is not served directly listens inside alone, so the login brings it along.
  const isInside = notebook && servedMode(launch.mode, portBindings) !== 'jupyterDirect'
  const tunnel = isInside ? `-L ${notebookPort}:127.0.0.1:${notebookPort} ` : ''
  const login = ({ host, port, user }: SshProxy & { user: string }, isProxy: boolean): Login => {
    return { host, port, user, command: `ssh ${tunnel}-p ${port} ${user}@${host}`, proxied: isProxy }
  }
  const port = publicPortOf(portBindings, sshPort)
  if (port !== undefined) return login({ host: machine.publicIp, port, user: 'root' }, false)
  return proxied && sshProxy ? login({ ...sshProxy, user: printId('Instance', id) }, true) : null
}

function notebookUrlOf({ launch, machine, portBindings }: Instance, ssh: Login | null): string | null {
  if (!modeServices[launch.mode].notebook) return null
  const port = publicPortOf(portBindings, notebookPort)
  if (port !== undefined && servedMode(launch.mode, portBindings) === 'jupyterDirect')
    return `http://${machine.publicIp}:${port}/`
  return ssh && `http://127.0.0.1:${notebookPort}/`
}

/** The public port that leads to a port inside. */
export function publicPortOf(bindings: PortBinding[], inside: number): number | undefined {
  return bindings.find(({ containerPort, protocol }) => containerPort === inside && protocol === 'tcp')?.hostPort
}
