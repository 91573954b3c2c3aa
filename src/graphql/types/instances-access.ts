import type { PortBinding as PortBindingShape } from '../../domain/instances.ts'
import type { Access } from '../../domain/instances-access.ts'
import { builder } from '../builder.ts'
import { PortProtocol } from './launch.ts'

const PortBinding = builder.objectRef<PortBindingShape>('PortBinding').implement({
  description: 'A public port of the machine that leads into the instance.',
  fields: t => ({
    containerPort: t.exposeInt('containerPort', { description: 'The port inside.' }),
    hostPort: t.exposeInt('hostPort', { description: "The port at the machine's public address." }),
    protocol: t.expose('protocol', { type: PortProtocol, description: 'What it speaks.' }),
  }),
})

const noSsh = 'Null in the mode `ARGS`, and through a proxy where the operator runs none.'

export const InstanceConnectionInfo = builder.objectRef<Access>('InstanceConnectionInfo').implement({
  description: 'How a running instance is reached.',
  fields: t => ({
    host: t.exposeString('host', { description: "The machine's public address, at which its ports are." }),
    ports: t.expose('ports', { type: [PortBinding], description: 'All public ports that lead into it.' }),
    sshHost: t.string({
      nullable: true,
      description: `Where SSH answers: the machine or, in the modes through a proxy, that. ${noSsh}`,
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
      description: `The command line that logs in. In the mode \`JUPYTER_PROXY\` it also brings the notebook to this computer. ${noSsh}`,
      resolve: ({ ssh }) => ssh?.command,
    }),
    notebookUrl: t.exposeString('notebookUrl', {
      nullable: true,
      description:
        'Where the notebook is. In the mode `JUPYTER_PROXY` it is there while `sshCommand` runs. Null in modes without a notebook, and through a proxy where the operator runs none.',
    }),
  }),
})
