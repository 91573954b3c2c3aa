import { printId } from '../ids.ts'
import type { LaunchMode } from '../launch/launch.ts'
import type { Instance, PortBinding, SshProxy } from './instances.ts'
import { notebookOrigin, notebookPort } from './notebook.ts'
import { servedMode } from './ports.ts'

const sshPort = 22

/** How a renter reaches an instance. */
export type Access = {
  instanceId: bigint
  /** The public address of the machine, where the ports are. */
  host: string
  ports: PortBinding[]
  ssh: Login | null
  notebookUrl: string | null
  /** Why nothing answers, or SSH login is impossible, and what to do. Null when neither is known. */
  warning: string | null
}
export type Login = {
  host: string
  port: number
  user: string
  command: string
  /** Whether the host is the SSH proxy instead of the machine. */
  proxied: boolean
}

/** The services that Berth starts in each mode. In args mode only the image's own services listen. */
const modeServices: Record<LaunchMode, { ssh: boolean; notebook: boolean; proxied: boolean }> = {
  sshDirect: { ssh: true, notebook: false, proxied: false },
  sshProxy: { ssh: true, notebook: false, proxied: true },
  jupyterDirect: { ssh: true, notebook: true, proxied: false },
  jupyterProxy: { ssh: true, notebook: true, proxied: true },
  args: { ssh: false, notebook: false, proxied: false },
}

/** The facts of an instance that its access depends on. */
export type AccessFacts = LoginFacts & Pick<Instance, 'status' | 'destroyedAt' | 'simulated'>
type LoginFacts = Pick<Instance, 'id' | 'launch' | 'portBindings' | 'sshProxy' | 'notebookProxy'> & {
  machine: { publicIp: string }
}

/** Null unless the instance runs: before and after, nothing answers. */
export function accessOf(instance: AccessFacts): Access | null {
  const { status, destroyedAt, machine, portBindings } = instance
  if (status !== 'running' || destroyedAt) return null
  const ssh = loginOf(instance)
  const warning = warningOf(instance, ssh)
  const notebookUrl = notebookUrlOf(instance, ssh)
  return { instanceId: instance.id, host: machine.publicIp, ports: portBindings, ssh, notebookUrl, warning }
}

function warningOf({ launch, simulated }: AccessFacts, ssh: Login | null): string | null {
  if (!ssh && modeServices[launch.mode].ssh) return noSshWarning
  // The gateway's own SSH serves simulated machines, too.
  return simulated && !ssh?.proxied ? simulatedWarning : null
}

export const simulatedWarning =
  'The machine is simulated: its instances run nothing, and nothing listens at its address. A gateway that serves SSH (SSH_PORT) lets you log in there, with the id of the instance as the user.'

const noSshWarning =
  'SSH login is not possible: this service no longer has an SSH proxy, and the instance has no public port for SSH. Recycle the instance to get a public port, if its machine has one free.'

/** Prefers a public port in every mode, because it works with and without a proxy. */
function loginOf(instance: LoginFacts): Login | null {
  const { id, launch, machine, portBindings, sshProxy, notebookProxy } = instance
  const { ssh, notebook, proxied } = modeServices[launch.mode]
  if (!ssh) return null
  // A notebook that nobody else serves listens only inside the container, so the login command tunnels it.
  const isInside = notebook && !notebookProxy && servedMode(launch.mode, portBindings) !== 'jupyterDirect'
  const tunnel = isInside ? `-L ${notebookPort}:127.0.0.1:${notebookPort} ` : ''
  const login = ({ host, port, user }: SshProxy & { user: string }, isProxy: boolean): Login => {
    return { host, port, user, command: `ssh ${tunnel}-p ${port} ${user}@${host}`, proxied: isProxy }
  }
  const port = publicPortOf(portBindings, sshPort)
  if (port !== undefined) return login({ host: machine.publicIp, port, user: 'root' }, false)
  return proxied && sshProxy ? login({ ...sshProxy, user: printId('Instance', id) }, true) : null
}

/** Prefers a public port, as `loginOf` does. */
function notebookUrlOf(instance: LoginFacts, ssh: Login | null): string | null {
  const { id, launch, machine, portBindings, notebookProxy } = instance
  if (!modeServices[launch.mode].notebook) return null
  const port = publicPortOf(portBindings, notebookPort)
  if (port !== undefined && servedMode(launch.mode, portBindings) === 'jupyterDirect')
    return `http://${machine.publicIp}:${port}/`
  if (notebookProxy) return `${notebookOrigin(notebookProxy, id)}/`
  return ssh && `http://127.0.0.1:${notebookPort}/`
}

function publicPortOf(bindings: PortBinding[], inside: number): number | undefined {
  return bindings.find(({ containerPort, protocol }) => containerPort === inside && protocol === 'tcp')?.hostPort
}
