import type { Instance } from '../../domain/instances.ts'
import { type LaunchMode as Mode, warningsOf } from '../../domain/launch.ts'
import { builder } from '../builder.ts'

export const LaunchMode = builder.enumType('LaunchMode', {
  description: 'How an instance is entered, and what starts in it.',
  values: {
    SSH_DIRECT: { value: 'sshDirect', description: 'SSH on a public port of its own.' },
    SSH_PROXY: { value: 'sshProxy', description: 'SSH through the proxy; no public port.' },
    JUPYTER_DIRECT: { value: 'jupyterDirect', description: 'A notebook and SSH on public ports of their own.' },
    JUPYTER_PROXY: { value: 'jupyterProxy', description: 'A notebook and SSH through the proxy.' },
    ARGS: { value: 'args', description: "The image's own entrypoint, with arguments. Neither SSH nor notebook." },
  } as const satisfies Record<string, { value: Mode; description: string }>,
})

const EnvVar = builder.objectRef<{ name: string; value: string }>('EnvVar').implement({
  description: 'An environment variable.',
  fields: t => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    value: t.exposeString('value', { description: 'Its value.' }),
  }),
})

type Launched = Pick<Instance, 'launch'>

export const LaunchConfig = builder.objectRef<Launched>('LaunchConfig').implement({
  description: 'What is started on an instance, all defaults filled in.',
  fields: t => ({
    image: t.string({ description: 'The image.', resolve: ({ launch }) => launch.image }),
    mode: t.field({ type: LaunchMode, description: 'How it is entered.', resolve: ({ launch }) => launch.mode }),
    args: t.stringList({
      description: 'Arguments for the entrypoint, in ARGS mode.',
      resolve: ({ launch }) => launch.args,
    }),
    lab: t.boolean({ description: 'JupyterLab instead of the classic notebook.', resolve: ({ launch }) => launch.lab }),
    directory: t.string({
      nullable: true,
      description: 'Where the notebook starts.',
      resolve: ({ launch }) => launch.directory,
    }),
    env: t.field({ type: [EnvVar], description: 'Its environment.', resolve: ({ launch }) => launch.env }),
    hostname: t.string({ nullable: true, description: 'Its host name.', resolve: ({ launch }) => launch.hostname }),
    onStart: t.string({
      nullable: true,
      description: 'Shell commands that run once it is up.',
      resolve: ({ launch }) => launch.onStart,
    }),
    warnings: t.stringList({
      description: 'What is accepted, and will not do what its renter may expect.',
      resolve: ({ launch }) => warningsOf(launch),
    }),
  }),
})
