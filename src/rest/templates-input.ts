import { z } from 'zod'
import type { Issue } from '../domain/errors.ts'
import type { LaunchMode } from '../domain/launch.ts'
import type { Environment } from '../domain/launch-env.ts'
import { readEnvFlags, readEnvObject } from '../domain/launch-env-flags.ts'
import { isTooDeep, maxLevels } from '../domain/nesting.ts'
import { defined } from '../domain/templates-about.ts'
import type { TemplatePatch } from '../domain/templates-change.ts'
import { splitWords } from '../domain/words.ts'
import { modes } from './instances-input.ts'

const text = (about: string) => z.string().optional().describe(about)
const flag = (about: string) => z.boolean().optional().describe(about)
const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)

/** An object, or a text. Read by hand, since a schema of records leaves out a key that is called __proto__. */
const objectOrText = (about: string) =>
  z
    .unknown()
    .refine(value => typeof value === 'string' || isObject(value), 'must be an object or a text.')
    .optional()
    .meta({ anyOf: [{ type: 'object', additionalProperties: true }, { type: 'string' }], description: about })

export const templateBody = z
  .object({
    name: text('What you call it, 1 to 256 characters.'),
    image: text('A container image.'),
    tag: text('Its tag, where that does not stand in the image.'),
    env: objectOrText('Variables and ports as flags of docker, "-e A=1 -p 80:80", or as an object.'),
    onstart: text('Shell commands that run once it is up, at most 4048 characters.'),
    runtype: z
      .enum([...modes.keys()])
      .optional()
      .describe('The launch mode. Left to the rental when nothing says so.'),
    use_ssh: flag('Whether SSH logs in to it, where runtype does not say.'),
    ssh_direct: flag('Whether SSH has a public port of its own.'),
    jup_direct: flag('Whether the notebook has a public port of its own.'),
    use_jupyter_lab: flag('The lab interface instead of the notebook.'),
    jupyter_dir: text('Where the notebook server starts.'),
    args_str: text('The arguments of the image, in the launch mode args.'),
    docker_login_repo: text('A private registry.'),
    docker_login_user: text('Who pulls.'),
    docker_login_pass: text('The password, which is kept encrypted and shown to nobody.'),
    recommended_disk_space: z
      .union([z.number(), z.string().regex(/^\d{1,6}(\.\d{1,9})?$/)])
      .optional()
      .describe('The disk in GB, at least 8. It may be a text.'),
    extra_filters: objectOrText('A search for offers that suit it.'),
    private: flag('Whether nobody else can rent with it; true when absent. A public one holds no secret.'),
    desc: text('What it is, in at most 2048 characters.'),
    readme: text('What it is, in at most 50,000 characters.'),
    readme_visible: flag('Whether that is to be shown.'),
    href: text('A page about it.'),
    repo: text('A page of its image.'),
    volume_info: z
      .looseObject({
        mount_path: z.string().nullish().describe('The path inside.'),
        size: z.number().nullish().describe('How large, in GB.'),
      })
      .optional()
      .describe('Where a volume would be of use. It attaches none.'),
  })
  .meta({ id: 'TemplateSettings', description: 'Settings to begin rentals with.' })
type Body = z.output<typeof templateBody>

/** Where a request has what the domain calls otherwise. */
export const templateNames: Record<string, string> = {
  onStart: 'onstart',
  lab: 'use_jupyter_lab',
  directory: 'jupyter_dir',
  args: 'args_str',
  registry: 'docker_login_repo',
  diskGb: 'recommended_disk_space',
  ports: 'env',
  hostname: 'env',
  volumes: 'env',
  volumeHint: 'volume_info',
  description: 'desc',
  repository: 'repo',
  searchFilter: 'extra_filters',
  idempotencyKey: 'Idempotency-Key',
}

/** What a request says of a template. */
export function readTemplate(body: Body): TemplatePatch {
  const unread: Issue[] = []
  const { volume_info: hint, private: isPrivate } = body
  const mountPath = hint?.mount_path
  return {
    name: body.name,
    public: isPrivate === undefined ? undefined : !isPrivate,
    launch: {
      image: body.image,
      mode: readMode(body),
      lab: body.use_jupyter_lab,
      directory: body.jupyter_dir,
      args: readArgs(body, unread),
      environment: readEnvironment(body, unread),
      onStart: body.onstart,
      registry: readRegistry(body),
      diskGb: body.recommended_disk_space === undefined ? undefined : Number(body.recommended_disk_space),
      unread,
    },
    volumeHint: mountPath ? { mountPath, sizeGb: hint.size ?? undefined } : undefined,
    about: defined({
      description: body.desc,
      readme: body.readme,
      readmeVisible: body.readme_visible,
      href: body.href,
      repository: body.repo,
      searchFilter: readFilter(body, unread),
    }),
    written: { tag: body.tag, args: body.args_str, envFlags: typeof body.env === 'string' ? body.env : undefined },
  }
}

/** The words of a template are fewer than those of a rental: what is direct stands beside them. */
function readMode({ runtype, use_ssh, ssh_direct, jup_direct, args_str }: Body): LaunchMode | undefined {
  if (runtype === 'ssh' || runtype === 'ssh_proxy') return ssh_direct ? 'sshDirect' : 'sshProxy'
  if (runtype === 'jupyter' || runtype === 'jupyter_proxy') return jup_direct ? 'jupyterDirect' : 'jupyterProxy'
  if (runtype !== undefined) return modes.get(runtype)
  if (jup_direct) return 'jupyterDirect'
  if (ssh_direct) return 'sshDirect'
  if (use_ssh) return 'sshProxy'
  return args_str ? 'args' : undefined
}

function readArgs({ args_str }: Body, unread: Issue[]): string[] | undefined {
  const words = args_str === undefined ? [] : splitWords(args_str)
  if (typeof words !== 'string') return args_str === undefined ? undefined : words.map(word => word.text)
  unread.push({ path: 'args', message: words })
  return undefined
}

function readEnvironment({ env }: Body, unread: Issue[]): Environment | undefined {
  if (env === undefined) return undefined
  const { environment, issues } =
    typeof env === 'string' ? readEnvFlags(env) : readEnvObject(env as Record<string, unknown>)
  unread.push(...issues)
  return environment
}

function readRegistry(body: Body): TemplatePatch['launch']['registry'] {
  const { docker_login_repo: host, docker_login_user: username, docker_login_pass: password } = body
  return host || username || password ? defined({ host, username, password }) : undefined
}

/** It is kept as a text, as it is shown. */
function readFilter({ extra_filters: filter }: Body, unread: Issue[]): string | undefined {
  if (filter === undefined) return undefined
  const parsed = typeof filter === 'string' ? parseJson(filter) : filter
  if (isObject(parsed) && !isTooDeep(parsed)) return JSON.stringify(parsed)
  const message = isObject(parsed) ? `must have at most ${maxLevels} levels.` : 'must be an object.'
  unread.push({ path: 'searchFilter', message })
  return undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
