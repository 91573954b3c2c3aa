// What a request says of a template.

import type { z } from 'zod'
import { type DomainError, type Issue, renameIssues } from '../../domain/errors.ts'
import type { Environment } from '../../domain/launch/env.ts'
import { readEnvFlags, readEnvObject } from '../../domain/launch/env-flags.ts'
import type { LaunchMode } from '../../domain/launch/launch.ts'
import { splitWords } from '../../domain/launch/shell-words.ts'
import { isTooDeep, maxLevels } from '../../domain/nesting.ts'
import { defined } from '../../domain/templates/about.ts'
import type { TemplatePatch } from '../../domain/templates/change.ts'
import { isObject, parseJson } from '../columns.ts'
import { modes } from '../instances/input.ts'
import { reworded } from '../rewording.ts'
import type { Failure } from '../route.ts'
import type { templateBody } from './body.ts'

type Body = z.output<typeof templateBody>

/** Where a request has what the domain calls otherwise. */
const templateNames: Record<string, string> = {
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

/** A change whose refusals name what is in the request, in the words that clients of this interface know. */
export async function saving<Result>(
  change: Promise<Result>,
  words: (refusal: DomainError) => Failure | undefined,
): Promise<Result> {
  return await reworded(
    change.catch((error: unknown) => Promise.reject(renameIssues(error, templateNames))),
    refusal => {
      const failure = words(refusal)
      return failure && [failure.status, failure.error, failure.when]
    },
  )
}

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
  const { environment, issues } = isObject(env) ? readEnvObject(env) : readEnvFlags(String(env))
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
