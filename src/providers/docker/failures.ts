// What an engine's error means. An engine gives few of its errors a status of their own, so that its texts decide. The
// renter reads a sentence of ours: the engine's text may name paths, addresses and users.

import type { Observed } from '../../domain/instances/containers.ts'
import { EngineError } from './engine/error.ts'

export type Failure = Omit<Extract<Observed, { state: 'failed' }>, 'state'>

/** A container that could not be made or started, with the sentence for its renter. */
export class ContainerFailed extends Error {
  override name = 'ContainerFailed'
  readonly failure: Failure

  constructor(failure: Failure, cause?: unknown) {
    super(failure.message, { cause })
    this.failure = failure
  }
}

/** The first row that matches decides. A row without statuses matches all: errors inside a stream have none. */
const rows = [
  { kind: 'noSpace', text: /no space left on device|disk quota exceeded/i },
  { kind: 'tooManyPulls', text: /toomanyrequests|too many requests/i },
  { kind: 'loginRefused', text: /no basic auth credentials|unauthorized|authentication required|incorrect username/i },
  { kind: 'noSuchImage', text: /manifest unknown|pull access denied|name unknown|no such image|no matching manifest/i },
  { kind: 'badImageName', statuses: [400], text: /invalid reference format|repository name/i },
  {
    kind: 'registryUnreachable',
    text: /dial tcp|no such host|connection refused|timeout|TLS handshake|x509|server misbehaving|\bEOF\b/i,
  },
  { kind: 'portTaken', text: /port is already allocated|address already in use/i },
  { kind: 'noGpus', text: /could not select device driver|\bCDI\b|nvidia-container|unknown or invalid runtime name/i },
  { kind: 'noNetwork', text: /network \S+ (not found|is ambiguous)/i },
  {
    kind: 'badCommand',
    text: /executable file not found|exec format error|(exec|stat) .*(no such file|permission denied)/i,
  },
  { kind: 'noDiskLimit', text: /storage-opt|pquota|storage option|quota/i },
  { kind: 'nameTaken', statuses: [409, 500], text: /already in use/i },
  { kind: 'noCapacity', statuses: [400], text: /range of CPUs|memory/i },
] as const

export type FailureKind = (typeof rows)[number]['kind'] | 'unknown'

export function kindOf(error: unknown): FailureKind {
  if (!(error instanceof EngineError)) return 'unknown'
  const { status, message } = error
  const found = rows.find(
    row => (!('statuses' in row) || row.statuses.some(one => one === status)) && row.text.test(message),
  )
  // A registry that hides private images answers a status alone.
  return found?.kind ?? (status === 404 && /pull|manifest|repository/.test(message) ? 'noSuchImage' : 'unknown')
}

const pullMessages: Partial<Record<FailureKind, string>> = {
  noSpace: 'The image does not fit on the disk of the machine.',
  tooManyPulls:
    'The registry of the image takes no more pulls from this machine now. Try again later, or with a login.',
  loginRefused: 'The registry refused to give the image. Check the name of the image, and the registry login.',
  noSuchImage: 'The registry has no such image. Check its name and tag; a private image needs a registry login.',
  badImageName: 'The name of the image is not valid.',
  registryUnreachable: 'The machine cannot reach the registry of the image.',
}

export const badCommandFailure: Failure = {
  code: 'START_FAILED',
  message: 'The image cannot run the command of the container.',
}

const startMessages: Partial<Record<FailureKind, string>> = {
  noSpace: 'The disk of the machine is full.',
  noGpus: 'The machine did not give the container its GPUs.',
  badCommand: badCommandFailure.message,
  noCapacity: 'The machine does not have the processors or the memory of this offer.',
}

export function pullFailure(error: unknown): ContainerFailed {
  const message = pullMessages[kindOf(error)] ?? 'The image could not be pulled.'
  return new ContainerFailed({ code: 'IMAGE_PULL_FAILED', message }, error)
}

export function startFailure(error: unknown): ContainerFailed {
  const message = startMessages[kindOf(error)] ?? 'The machine could not start the container.'
  return new ContainerFailed({ code: 'START_FAILED', message }, error)
}
