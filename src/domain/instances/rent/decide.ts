import { canChangeSshKeys } from '../../accounts/ssh-keys.ts'
import type { Holdings } from '../../billing/admission.ts'
import { creditError } from '../../billing/reserve.ts'
import { DomainError, type Issue, invalidInput } from '../../errors.ts'
import type { EnvVar, Port } from '../../launch/env.ts'
import type { Launch, LaunchInput } from '../../launch/launch.ts'
import { resolveLaunch } from '../../launch/merge.ts'
import type { Machine } from '../../machines/machines.ts'
import { mention, withIds } from '../../messages.ts'
import { diskPricePerHour, printUsd } from '../../money.ts'
import { isRentable, type OfferBlock } from '../../offers/offers.ts'
import { severalTemplates, type TemplateReference, templateNotFound } from '../../templates/templates.ts'
import { newVolumesMb, volumeBlockers } from '../../volumes/mount.ts'
import type { VolumeFacts } from '../../volumes/volumes.ts'
import { bidTooLow, checkBid } from '../bid.ts'
import { mergePolicy, type PolicyInput, policyIssues, policyWarnings } from '../policy/change.ts'
import type { Replacement } from '../policy/replacement.ts'
import { portsToBind, proxyWarnings } from '../ports.ts'

/** How the renter pays: on demand, up to `maxPriceNanos` if given, or with a bid for the whole block. */
export type RentalTerms =
  | { interruptible: false; maxPriceNanos?: bigint | undefined }
  | { interruptible: true; bidNanos: bigint }

export type RentInput = {
  offerId: bigint
  terms: RentalTerms
  launch: LaunchInput
  /** The template to start from. */
  template?: TemplateReference | undefined
  policy?: PolicyInput | undefined
  replacement?: Replacement | undefined
  /** Refuse a rental that could not start at once, instead of letting it wait. */
  failIfUnavailable: boolean
}

/** An offer as the renting transaction finds it. */
export type TargetOffer = Pick<OfferBlock, 'id' | 'gpuPriceNanos' | 'rentable' | 'numGpus' | 'firstGpu'>

/** The facts that decide a rental. Undefined means not found or not requested. */
export type RentFacts = {
  template: { launch: LaunchInput } | undefined
  /** Whether the request names the template by a name that several have. */
  hasTemplateNamesakes?: boolean
  /** Secret variables of the account. Every rental gets them. */
  secretVariables: EnvVar[]
  sshKeyCount: number
  /** The requested volumes that belong to the account. */
  volumes: VolumeFacts[]
  creditNanos: bigint
  /** The offer and its machine; undefined when the offer is not on the market. */
  target: { offer: TargetOffer; machine: Machine } | undefined
  /** Whether the operator runs an SSH proxy. */
  hasProxy: boolean
}

/** A rental as far as it can be decided, and every blocker. */
export type RentDecision = {
  launch: Launch | undefined
  /** The public ports to bind. */
  ports: Port[]
  gpuPriceNanos: bigint | undefined
  /** Empty when the rental is possible. The order is that of precedence: a rental throws the first. */
  blockers: DomainError[]
  warnings: string[]
}

export function decideRent(input: RentInput, facts: RentFacts, at: Date): RentDecision {
  const { launch, issues } = resolveLaunch(facts.template?.launch, input.launch, facts.secretVariables)
  const ports = launch ? portsToBind(launch, facts.hasProxy) : []
  const rentableTarget = facts.target && isTargetRentable(facts.target, at) ? facts.target : undefined
  const volumeErrors = launch ? volumeBlockers(facts.volumes, launch, rentableTarget?.machine.id) : []
  const volumeIssues = volumeErrors.flatMap(error => (error.code === 'INVALID_INPUT' ? error.details.issues : []))
  const blockers = [
    ...templateBlockers(input, facts),
    ...sshKeyBlockers(launch, facts),
    ...inputBlockers(input, facts, [
      ...issues,
      ...bidIssues(input),
      ...(input.policy ? policyIssues(mergePolicy(input.policy), undefined, at) : []),
      ...machineIssues(rentableTarget?.machine, launch, ports),
      ...volumeIssues,
    ]),
    // Before the volume blockers. When a request is repeated, the instance of the first one already has the volume.
    // `OFFER_UNAVAILABLE` names that instance; `VOLUME_UNAVAILABLE` would hide it.
    ...(rentableTarget ? [] : [offerUnavailable(input)]),
    ...volumeErrors.filter(({ code }) => code !== 'INVALID_INPUT'),
    ...creditBlockers(facts),
    ...(rentableTarget ? priceBlockers(input, rentableTarget, launch) : []),
  ]
  const gpuPriceNanos = input.terms.interruptible ? input.terms.bidNanos : facts.target?.offer.gpuPriceNanos
  const warnings = [
    ...(launch ? [...proxyWarnings(launch, facts.hasProxy), ...sshKeyWarnings(launch, facts)] : []),
    ...(rentableTarget ? rentPolicyWarnings(input, rentableTarget) : []),
  ]
  return { launch, ports, gpuPriceNanos, blockers, warnings }
}

type RentTarget = NonNullable<RentFacts['target']>

function isTargetRentable({ offer, machine }: RentTarget, at: Date): boolean {
  return isRentable({ ...offer, machine, asOf: at })
}

function templateBlockers(
  { template: reference }: RentInput,
  { template, hasTemplateNamesakes }: RentFacts,
): DomainError[] {
  if (hasTemplateNamesakes) return [severalTemplates('templateName')]
  return reference === undefined || template ? [] : [templateNotFound(reference)]
}

function sshKeyBlockers(launch: Launch | undefined, { sshKeyCount }: RentFacts): DomainError[] {
  return launch?.vm && sshKeyCount === 0 ? [sshKeyRequired()] : []
}

export function sshKeyRequired(): DomainError<'SSH_KEY_REQUIRED'> {
  const message =
    'A virtual machine needs an SSH key, and the account has none. Register one before renting: it cannot be added later.'
  return new DomainError('SSH_KEY_REQUIRED', message)
}

function sshKeyWarnings({ vm, mode }: Launch, { sshKeyCount }: RentFacts): string[] {
  if (sshKeyCount > 0 || !canChangeSshKeys({ vm, mode })) return []
  return ['The account has no SSH key, so SSH login is impossible. Register a key and attach it to the instance.']
}

function rentPolicyWarnings({ policy }: RentInput, { machine }: RentTarget): string[] {
  return policy ? policyWarnings(mergePolicy(policy), machine.listedUntil) : []
}

function inputBlockers(input: RentInput, facts: RentFacts, issues: Issue[]): DomainError[] {
  // Without the template, settings are missing, so these issues may be false.
  return issues.length === 0 || templateBlockers(input, facts).length > 0 ? [] : [invalidInput(issues)]
}

function bidIssues({ terms }: RentInput): Issue[] {
  const issue = terms.interruptible ? checkBid(terms.bidNanos) : undefined
  return issue ? [issue] : []
}

/** For quotes. A rental replaces it with `explainUnavailableOffer`, which fills in the details. */
export function offerUnavailable({ offerId }: RentInput): DomainError<'OFFER_UNAVAILABLE'> {
  const details = { instanceId: null, alternatives: [], failIfUnavailable: false }
  return new DomainError('OFFER_UNAVAILABLE', withIds`Offer ${mention('Offer', offerId)} is not available.`, details)
}

function creditBlockers({ creditNanos }: RentFacts): DomainError[] {
  const error = creditError(creditNanos)
  return error ? [error] : []
}

function priceBlockers(
  { terms }: RentInput,
  { offer, machine }: RentTarget,
  launch: Launch | undefined,
): DomainError[] {
  if (terms.interruptible) {
    // The host's minimum. A bid below rival bids is accepted, and its instance waits.
    const floor = machine.minBidGpuNanos * BigInt(offer.numGpus)
    return terms.bidNanos < floor ? [bidTooLow(floor)] : []
  }
  const { maxPriceNanos } = terms
  if (!launch || maxPriceNanos === undefined) return []
  const { diskNanos, volumesNanos } = storageRates(machine, launch)
  const total = offer.gpuPriceNanos + diskNanos + volumesNanos
  if (total <= maxPriceNanos) return []
  const message = `The rental costs $${printUsd(total)} an hour, more than your maximum of $${printUsd(maxPriceNanos)}.`
  return [new DomainError('PRICE_CHANGED', message, { currentPriceNanos: total })]
}

/** Hourly prices of the disk and of new volumes. Each volume has its own charge, so each is rounded on its own. */
export function storageRates({ diskPricePerGbMonthNanos }: Machine, { diskMb, newVolumes }: Launch) {
  const volumes = newVolumes.map(volume => diskPricePerHour(diskPricePerGbMonthNanos, newVolumesMb([volume])))
  return {
    diskNanos: diskPricePerHour(diskPricePerGbMonthNanos, diskMb),
    volumesNanos: volumes.reduce((sum, rate) => sum + rate, 0n),
  }
}

/** The hourly price of a rental at its start: disk and volumes, and GPUs if the instance should run. */
export function rentalRate(machine: Machine, launch: Launch, gpuPriceNanos: bigint): bigint {
  const { diskNanos, volumesNanos } = storageRates(machine, launch)
  return diskNanos + volumesNanos + (launch.targetState === 'running' ? gpuPriceNanos : 0n)
}

/** What a rental adds to the holdings of its account. If the instance should run, its GPUs count before they are charged. */
export function rentalHoldings(machine: Machine, launch: Launch, gpuPriceNanos: bigint): Holdings {
  const { diskNanos, volumesNanos } = storageRates(machine, launch)
  const runs = launch.targetState === 'running'
  return {
    gpuPriceNanos: runs ? gpuPriceNanos : 0n,
    diskNanos: diskNanos + volumesNanos,
    instances: 1,
    loading: runs ? 1 : 0,
    diskMb: launch.diskMb + newVolumesMb(launch.newVolumes),
    volumes: launch.newVolumes.length,
  }
}

/** What the machine lacks for this launch; empty if the machine or the launch is unknown. */
export function machineIssues(machine: Machine | undefined, launch: Launch | undefined, ports: Port[]): Issue[] {
  if (!machine || !launch) return []
  const issues: Issue[] = []
  const free = machine.freeDiskMb
  if (launch.diskMb > free) {
    issues.push({ path: 'diskGb', message: `must be at most ${free / 1000}: the machine has no more free.` })
  } else if (launch.diskMb + newVolumesMb(launch.newVolumes) > free) {
    const left = (free - launch.diskMb) / 1000
    issues.push({ path: 'newVolumes', message: `must have at most ${left} GB in all: the machine has no more free.` })
  }
  if (ports.length > machine.freePorts) {
    const message = `must be at most ${machine.freePorts}, the number that the machine has free, not ${ports.length}. Ports for SSH and the notebook count.`
    issues.push({ path: 'ports', message })
  }
  if (launch.vm && !machine.vmsEnabled) issues.push({ path: 'vm', message: 'is not supported by this machine.' })
  return issues
}
