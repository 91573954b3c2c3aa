// What an engine's error means. An engine gives few of its errors a status of their own, so that its texts decide: those of
// Docker 20.10 to 29. The renter reads a sentence of ours: the engine's text may name paths, addresses and users.

import type { Observed, StartFault } from '../../domain/instances/containers.ts'
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

type Row = { text: RegExp; statuses?: number[]; alone?: number }

/**
 * The first row that matches decides, by its text and one of its statuses. A row without statuses matches all: errors inside a
 * stream have none. `alone` is a status that needs no text.
 */
const rows = {
  noSpace: { text: /no space left on device|disk quota exceeded/i },
  tooManyPulls: { text: /toomanyrequests|too many requests|pull rate limit/i, alone: 429 },
  loginRefused: {
    text: /no basic auth credentials|unauthorized|authentication required|incorrect username|access to the resource is denied|403 forbidden/i,
    alone: 401,
  },
  noSuchImage: {
    text: /manifest unknown|pull access denied|name unknown|no such image|no matching manifest|failed to resolve reference .*: not found$/i,
  },
  badImageName: { text: /invalid reference format|repository name/i, statuses: [400] },
  noAddresses: { text: /non-overlapping IPv\d address pool|address pools have been fully subnetted/i },
  portTaken: { text: /port is already allocated|address already in use/i },
  registryUnreachable: {
    text: /dial tcp|no such host|connection refused|timeout|deadline exceeded|TLS handshake|x509|server misbehaving|\bEOF\b|unexpected (http )?status.*: 5\d\d /i,
  },
  noGpus: {
    text: /could not select device driver|\bCDI\b|nvidia-container|unknown or invalid runtime name|unknown runtime specified/i,
  },
  noNetwork: { text: /network \S+ (not found|is ambiguous)/i },
  badCommand: {
    text: /executable file not found|exec format error|(exec:?|stat) .*(no such file|permission denied|is a directory)/i,
  },
  noDiskLimit: { text: /storage-opt|pquota|storage option|quota/i },
  nameTaken: { text: /already in use/i, statuses: [409, 500] },
  noCapacity: { text: /range of CPUs|memory/i, statuses: [400] },
} satisfies Record<string, Row>

export type FailureKind = keyof typeof rows | 'unknown'

const kinds = Object.entries(rows) as [FailureKind, Row][]

export function kindOf(error: unknown): FailureKind {
  if (!(error instanceof EngineError)) return 'unknown'
  const { status, message } = error
  const found = kinds.find(
    ([, { text, statuses, alone }]) => status === alone || ((statuses?.includes(status) ?? true) && text.test(message)),
  )
  // A registry that hides private images answers a status alone.
  return found?.[0] ?? (status === 404 && /pull|manifest|repository/.test(message) ? 'noSuchImage' : 'unknown')
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
  noAddresses: 'The machine has no free network for another account.',
  noCapacity: 'The machine does not have the processors or the memory of this offer.',
}

/** The texts of a pull may come from a registry of the renter, so none of them proves a fault of the machine. */
const pullFaultsOfRenter: readonly FailureKind[] = ['loginRefused', 'noSuchImage', 'badImageName']

const startFaultsOfMachine: readonly FailureKind[] = [
  'noSpace',
  'portTaken',
  'noGpus',
  'noNetwork',
  'noAddresses',
  'noDiskLimit',
  'noCapacity',
]

export function pullFailure(error: unknown): ContainerFailed {
  const kind = kindOf(error)
  const message = pullMessages[kind] ?? 'The image could not be pulled.'
  const fault = pullFaultsOfRenter.includes(kind) ? {} : { fault: 'unclear' as const }
  return new ContainerFailed({ code: 'IMAGE_PULL_FAILED', message, ...fault }, error)
}

export function startFailure(error: unknown): ContainerFailed {
  const kind = kindOf(error)
  if (kind === 'badCommand') return new ContainerFailed(badCommandFailure, error)
  const message = startMessages[kind] ?? 'The machine could not start the container.'
  const fault: StartFault = startFaultsOfMachine.includes(kind) ? 'machine' : 'unclear'
  return new ContainerFailed({ code: 'START_FAILED', message, fault }, error)
}
