// Parses the template in a request.

import type { z } from 'zod'
import { type DomainError, type Issue, renameIssuePaths } from '../../domain/errors.ts'
import type { Environment } from '../../domain/launch/env.ts'
import { parseEnvFlags, parseEnvObject } from '../../domain/launch/env-flags.ts'
import type { LaunchMode } from '../../domain/launch/launch.ts'
import type { Registry } from '../../domain/launch/registry.ts'
import { splitWords } from '../../domain/launch/shell-words.ts'
import { isTooDeep, maxNestingLevels } from '../../domain/nesting.ts'
import { omitUndefined } from '../../domain/templates/about.ts'
import type { TemplatePatch } from '../../domain/templates/patch.ts'
import { modesByRuntype } from '../instances/input.ts'
import { isObject, parseJson } from '../json-values.ts'
import { rewordRefusals } from '../rewording.ts'
import type { DocumentedFailure } from '../route.ts'
import type { templateBody } from './body.ts'

type Body = z.output<typeof templateBody>

/** The REST fields of domain fields that have another name. */
const templateIssuePaths: Record<string, string> = {
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

/** Rewrites the refusals of a change in the field names and wording of REST. */
export async function rewordTemplateErrors<Result>(
  change: Promise<Result>,
  words: (refusal: DomainError) => DocumentedFailure | undefined,
): Promise<Result> {
  return await rewordRefusals(
    change.catch((error: unknown) => Promise.reject(renameIssuePaths(error, templateIssuePaths))),
    refusal => {
      const failure = words(refusal)
      return failure && [failure.status, failure.error, failure.when]
    },
  )
}

export function parseTemplateBody(body: Body) {
  const parseIssues: Issue[] = []
  const { volume_info: hint, private: isPrivate } = body
  const mountPath = hint?.mount_path
  return {
    name: body.name,
    public: isPrivate === undefined ? undefined : !isPrivate,
    launch: {
      image: body.image,
      mode: parseMode(body),
      lab: body.use_jupyter_lab,
      directory: body.jupyter_dir,
      args: parseArgs(body, parseIssues),
      environment: parseEnvironment(body, parseIssues),
      onStart: body.onstart,
      registry: parseRegistry(body),
      diskGb: body.recommended_disk_space === undefined ? undefined : Number(body.recommended_disk_space),
      parseIssues,
    },
    volumeHint: mountPath ? { mountPath, sizeGb: hint.size ?? undefined } : undefined,
    about: omitUndefined({
      description: body.desc,
      readme: body.readme,
      readmeVisible: body.readme_visible,
      href: body.href,
      repository: body.repo,
      searchFilter: parseSearchFilter(body, parseIssues),
    }),
    written: { tag: body.tag, args: body.args_str, envFlags: typeof body.env === 'string' ? body.env : undefined },
  } satisfies TemplatePatch
}

/** Templates write ssh and jupyter for both variants of a mode; ssh_direct and jup_direct pick the direct one. */
function parseMode({ runtype, use_ssh, ssh_direct, jup_direct, args_str }: Body): LaunchMode | undefined {
  if (runtype === 'ssh' || runtype === 'ssh_proxy') return ssh_direct ? 'sshDirect' : 'sshProxy'
  if (runtype === 'jupyter' || runtype === 'jupyter_proxy') return jup_direct ? 'jupyterDirect' : 'jupyterProxy'
  if (runtype !== undefined) return modesByRuntype.get(runtype)
  if (jup_direct) return 'jupyterDirect'
  if (ssh_direct) return 'sshDirect'
  if (use_ssh) return 'sshProxy'
  return args_str ? 'args' : undefined
}

function parseArgs({ args_str }: Body, parseIssues: Issue[]): string[] | undefined {
  const words = args_str === undefined ? [] : splitWords(args_str)
  if (typeof words !== 'string') return args_str === undefined ? undefined : words.map(word => word.text)
  parseIssues.push({ path: 'args', message: words })
  return undefined
}

function parseEnvironment({ env }: Body, parseIssues: Issue[]): Environment | undefined {
  if (env === undefined) return undefined
  const { environment, issues } = isObject(env) ? parseEnvObject(env) : parseEnvFlags(String(env))
  parseIssues.push(...issues)
  return environment
}

function parseRegistry(body: Body): Partial<Registry> | undefined {
  const { docker_login_repo: host, docker_login_user: username, docker_login_pass: password } = body
  return host || username || password ? omitUndefined({ host, username, password }) : undefined
}

/** The search filter as JSON text, the form in which it is stored and shown. */
function parseSearchFilter({ extra_filters: filter }: Body, parseIssues: Issue[]): string | undefined {
  if (filter === undefined) return undefined
  const parsed = typeof filter === 'string' ? parseJson(filter) : filter
  if (isObject(parsed) && !isTooDeep(parsed)) return JSON.stringify(parsed)
  const message = isObject(parsed) ? `must have at most ${maxNestingLevels} levels.` : 'must be an object.'
  parseIssues.push({ path: 'searchFilter', message })
  return undefined
}
