import type { Access } from '../../domain/instances/access.ts'
import type { PortBinding as PortBindingShape } from '../../domain/instances/instances.ts'
import { builder } from '../builder.ts'
import { PortProtocol } from '../launch/launch.ts'

const PortBinding = builder.objectRef<PortBindingShape>('PortBinding').implement({
  description: 'A public port of the machine that leads into the instance.',
  fields: t => ({
    containerPort: t.exposeInt('containerPort', { description: 'The port inside.' }),
    hostPort: t.exposeInt('hostPort', { description: "The port at the machine's public address." }),
    protocol: t.expose('protocol', { type: PortProtocol, description: 'What it speaks.' }),
  }),
})

const noSsh = 'Null in the mode `ARGS`, and for an instance without a public port whose proxy is gone: see `warning`.'

export const InstanceConnectionInfo = builder.objectRef<Access>('InstanceConnectionInfo').implement({
  description: 'How a running instance is reached.',
  fields: t => ({
    host: t.exposeString('host', { description: "The machine's public address, at which its ports are." }),
    ports: t.expose('ports', { type: [PortBinding], description: 'All public ports that lead into it.' }),
    sshHost: t.string({
      nullable: true,
      description: `Where SSH answers: the machine or, for an instance without a public port for SSH, the proxy. ${noSsh}`,
      resolve: ({ ssh }) => ssh?.host,
    }),
    sshPort: t.int({
      nullable: true,
      description: `The port for that. ${noSsh}`,
      resolve: ({ ssh }) => ssh?.port,
    }),
    sshUser: t.string({
      nullable: true,
      description: `Whom to log in as: \`root\` or, at a proxy, the id of the instance, by which it knows where to go. ${noSsh}`,
      resolve: ({ ssh }) => ssh?.user,
    }),
    sshCommand: t.string({
      nullable: true,
      description: `The command line that logs in. It also brings a notebook to this computer that has no public port. ${noSsh}`,
      resolve: ({ ssh }) => ssh?.command,
    }),
    warning: t.exposeString('warning', {
      nullable: true,
      description:
        'Why it cannot be logged in to, and what to do: `recycleInstance` gives it public ports. Null where it can be, and in the mode `ARGS`.',
    }),
    notebookUrl: t.exposeString('notebookUrl', {
      nullable: true,
      description:
        'Where the notebook is. On `127.0.0.1` it is there while `sshCommand` runs. Null in modes without a notebook, and for an instance without a public port whose proxy is gone.',
    }),
  }),
})
