import type { PortBinding as PortBindingShape } from '../../domain/instances.ts'
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

export const InstanceConnectionInfo = builder
  .objectRef<{ host: string; sshPort: number | null; ports: PortBindingShape[] }>('InstanceConnectionInfo')
  .implement({
    description: 'How a running instance is reached.',
    fields: t => ({
      host: t.exposeString('host', { description: 'The public address.' }),
      sshPort: t.exposeInt('sshPort', { nullable: true, description: 'Where SSH answers. Null without direct SSH.' }),
      sshCommand: t.string({
        nullable: true,
        description: 'The command line that logs in. Null without direct SSH.',
        resolve: ({ host, sshPort }) => (sshPort === null ? null : `ssh -p ${sshPort} root@${host}`),
      }),
      ports: t.expose('ports', { type: [PortBinding], description: 'All public ports that lead into it.' }),
    }),
  })
