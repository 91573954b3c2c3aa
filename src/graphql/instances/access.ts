import type { Access } from '../../domain/instances/access.ts'
import type { PortBinding as PortBindingShape } from '../../domain/instances/instances.ts'
import { builder } from '../builder.ts'
import { PortProtocol } from '../launch/launch.ts'
import { createLoader } from '../loader.ts'

const PortBinding = builder.objectRef<PortBindingShape>('PortBinding').implement({
  description: 'A public port of the machine, forwarded to a port of the container.',
  fields: t => ({
    containerPort: t.exposeInt('containerPort', { description: 'Port inside the container.' }),
    hostPort: t.exposeInt('hostPort', { description: "Public port at the machine's address." }),
    protocol: t.expose('protocol', { type: PortProtocol, description: 'Transport protocol of the port.' }),
  }),
})

const noSsh = 'Null in `args` mode, and when `warning` says that SSH cannot be reached.'

export const InstanceConnectionInfo = builder.objectRef<Access>('InstanceConnectionInfo').implement({
  description: 'How to connect to a running instance.',
  fields: t => ({
    host: t.exposeString('host', {
      description: 'Public IP address of the machine. The host ports of `ports` are open there.',
    }),
    ports: t.expose('ports', {
      type: [PortBinding],
      description: 'All public ports that are forwarded to the instance.',
    }),
    sshHost: t.string({
      nullable: true,
      description: `Host to open the SSH connection to: the machine, or the SSH proxy when the instance has no public port for SSH. ${noSsh}`,
      resolve: ({ ssh }) => ssh?.host,
    }),
    sshPort: t.int({
      nullable: true,
      description: `Port of \`sshHost\` that accepts SSH. ${noSsh}`,
      resolve: ({ ssh }) => ssh?.port,
    }),
    sshUser: t.string({
      nullable: true,
      description: `User name to log in with: \`root\` on the machine. The SSH proxy takes the instance ID and routes by it. ${noSsh}`,
      resolve: ({ ssh }) => ssh?.user,
    }),
    sshCommand: t.string({
      nullable: true,
      description: `Command line that opens an SSH session. It also tunnels a notebook that has neither a public port nor an address at the gateway to your computer. ${noSsh}`,
      resolve: ({ ssh }) => ssh?.command,
    }),
    warning: t.exposeString('warning', {
      nullable: true,
      description:
        'Why SSH cannot be reached, and what to do: `recycleInstance` adds public ports. Or that the machine is simulated, so that nothing listens at its address. Null when SSH works, and in `args` mode on a real machine.',
    }),
    notebookUrl: t.exposeString('notebookUrl', {
      nullable: true,
      description:
        'URL of the notebook server: on the machine, or an address of its own at the gateway. A URL on `127.0.0.1` works while `sshCommand` runs. Null in modes without a notebook, and when it cannot be reached.',
    }),
    notebookToken: t.string({
      nullable: true,
      description:
        'Token that opens the notebook: append `?token=` and the token to `notebookUrl`, or send it as `Authorization: token …`. It is the variable `JUPYTER_TOKEN` of the instance, or made for the instance if that is not set. Null in modes without a notebook.',
      requires: 'instances.execute',
      resolve: async ({ instanceId, notebookUrl }, _args, context) =>
        notebookUrl === null ? null : ((await notebookTokenById(context).load(instanceId))?.token ?? null),
    }),
  }),
})

const notebookTokenById = createLoader((context, ids: readonly bigint[]) =>
  context.services.instances.notebookTokens(context.actor, ids),
)
