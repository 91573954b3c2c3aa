import { creditProblem } from '../../accounts/credit.ts'
import { canChangeSshKeys } from '../../accounts/ssh-keys.ts'
import type { Holdings } from '../../billing/admission.ts'
import { DomainError, type Issue, invalidInput } from '../../errors.ts'
import type { EnvVar, Port } from '../../launch/env.ts'
import type { Launch, LaunchInput } from '../../launch/launch.ts'
import { resolveLaunch } from '../../launch/merge.ts'
import type { Machine } from '../../machines/machines.ts'
import { diskPricePerHour, printUsd } from '../../money.ts'
import { isRentable, type OfferBlock } from '../../offers/offers.ts'
import { isTemplateHash } from '../../templates/templates.ts'
import { newVolumesMb, type VolumeFacts, volumeBlockers } from '../../volumes/mount.ts'
import { bidTooLow, checkBid } from '../bid.ts'
import { mergePolicy, type PolicyInput, policyIssues, policyWarnings } from '../policy/change.ts'
import { portsToBind, proxyWarnings } from '../ports.ts'

/** How the price is agreed: the host's, at most so much if the renter says so, or a bid for the whole block. */
export type RentalTerms =
  | { interruptible: false; maxPriceNanos?: bigint | undefined }
  | { interruptible: true; bidNanos: bigint }

export type RentInput = {
  offerId: bigint
  terms: RentalTerms
  launch: LaunchInput
  /** The hash of a template to begin with. */
  templateHash?: string | undefined
  /** What is to happen to it by itself. */
  policy?: PolicyInput | undefined
  /** Refuse what could not start at once, instead of letting it wait. */
  cancelUnavailable: boolean
}

/** An offer as the renting transaction finds it. */
export type TargetOffer = Pick<OfferBlock, 'id' | 'computeNanos' | 'minBidNanos' | 'rentable' | 'numGpus' | 'firstGpu'>

/** What is known when a rental is decided. What was not found, or was not asked for, is undefined. */
export type RentFacts = {
  template: { launch: LaunchInput } | undefined
  /** Secret variables of the account, which every rental gets. */
  secretVariables: EnvVar[]
  /** How many SSH keys the account has. */
  sshKeyCount: number
  /** Those of the account among the volumes that are asked for. */
  volumes: VolumeFacts[]
  availableNanos: bigint
  /** The offer with its machine, while it is on the market. */
  target: { offer: TargetOffer; machine: Machine } | undefined
  /** Whether the operator runs an SSH proxy. */
  hasProxy: boolean
}

/** What a rental would be, as far as that can be said, and every reason against it. */
export type RentDecision = {
  launch: Launch | undefined
  /** The public ports that it is given. */
  ports: Port[]
  /** What the GPUs cost per hour. */
  computeNanos: bigint | undefined
  /** None when it can be rented. What the renter can mend comes before what he can't. */
  blockers: DomainError[]
  warnings: string[]
}

export function decideRent(input: RentInput, facts: RentFacts, at: Date): RentDecision {
  const { launch, issues } = resolveLaunch(facts.template?.launch, input.launch, facts.secretVariables)
  const ports = launch ? portsToBind(launch, facts.hasProxy) : []
  const openTarget = facts.target && isTargetRentable(facts.target, at) ? facts.target : undefined
  const mounts = launch ? volumeBlockers(facts.volumes, launch, openTarget?.machine.id) : []
  const policyProblems = input.policy ? policyIssues(mergePolicy(input.policy), undefined, at) : []
  const mountIssues = mounts.flatMap(error => (error.code === 'INVALID_INPUT' ? error.details.issues : []))
  const blockers = [
    ...templateBlockers(input, facts),
    ...sshKeyBlockers(launch, facts),
    ...inputBlockers(input, facts, [
      ...issues,
      ...bidIssues(input),
      ...policyProblems,
      ...machineIssues(openTarget?.machine, launch, ports),
      ...mountIssues,
    ]),
    // Before what its own instance did to a volume: who repeats a request is told that the offer was his.
    ...(openTarget ? [] : [offerUnavailable(input)]),
    ...mounts.filter(({ code }) => code !== 'INVALID_INPUT'),
    ...creditBlockers(facts),
    ...(openTarget ? priceBlockers(input, openTarget, launch) : []),
  ]
  const computeNanos = input.terms.interruptible ? input.terms.bidNanos : facts.target?.offer.computeNanos
  const warnings = [
    ...(launch ? [...proxyWarnings(launch, facts.hasProxy), ...sshKeyWarnings(launch, facts)] : []),
    ...(openTarget ? rentPolicyWarnings(input, openTarget) : []),
  ]
  return { launch, ports, computeNanos, blockers, warnings }
}

type RentTarget = NonNullable<RentFacts['target']>

function isTargetRentable({ offer, machine }: RentTarget, at: Date): boolean {
  return isRentable({ ...offer, machine, asOf: at })
}

function templateBlockers({ templateHash }: RentInput, { template }: RentFacts): DomainError[] {
  if (templateHash === undefined || template) return []
  const description = isTemplateHash(templateHash) ? templateHash : 'with a hash that is not of 32 hex digits'
  return [new DomainError('NOT_FOUND', `Template ${description} not found.`, { subject: null })]
}

function sshKeyBlockers(launch: Launch | undefined, { sshKeyCount }: RentFacts): DomainError[] {
  return launch?.vm && sshKeyCount === 0 ? [sshKeyRequired()] : []
}

export function sshKeyRequired(): DomainError<'SSH_KEY_REQUIRED'> {
  const message = 'A virtual machine needs an SSH key that is registered before: there is no other way into it.'
  return new DomainError('SSH_KEY_REQUIRED', message)
}

function sshKeyWarnings({ vm, mode }: Launch, { sshKeyCount }: RentFacts): string[] {
  if (sshKeyCount > 0 || !canChangeSshKeys({ vm, mode })) return []
  return ['The account has no SSH key, so nobody can log in until one is registered and attached.']
}

function rentPolicyWarnings({ policy }: RentInput, { machine }: RentTarget): string[] {
  return policy ? policyWarnings(mergePolicy(policy), machine.listedUntil) : []
}

function inputBlockers(input: RentInput, facts: RentFacts, issues: Issue[]): DomainError[] {
  // Without its template half of the settings are missing, and nothing true can be said of them.
  return issues.length === 0 || templateBlockers(input, facts).length > 0 ? [] : [invalidInput(issues)]
}

function bidIssues({ terms }: RentInput): Issue[] {
  const issue = terms.interruptible ? checkBid(terms.bidNanos) : undefined
  return issue ? [issue] : []
}

export function offerUnavailable({ offerId }: RentInput): DomainError<'OFFER_UNAVAILABLE'> {
  const details = { instanceId: null, alternatives: [], cancelled: false }
  return new DomainError('OFFER_UNAVAILABLE', `Offer ${offerId} is not available.`, details)
}

function creditBlockers({ availableNanos }: RentFacts): DomainError[] {
  const problem = creditProblem(availableNanos)
  return problem ? [problem] : []
}

function priceBlockers(
  { terms }: RentInput,
  { offer, machine }: RentTarget,
  launch: Launch | undefined,
): DomainError[] {
  if (terms.interruptible) {
    const floor = machine.minBidGpuNanos * BigInt(offer.numGpus)
    return terms.bidNanos < floor ? [bidTooLow(floor)] : []
  }
  const { maxPriceNanos } = terms
  if (!launch || maxPriceNanos === undefined) return []
  const { diskNanos, volumesNanos } = storageRates(machine, launch)
  const total = offer.computeNanos + diskNanos + volumesNanos
  if (total <= maxPriceNanos) return []
  const message = `This costs ${printUsd(total)} $ an hour, more than ${printUsd(maxPriceNanos)} $.`
  return [new DomainError('PRICE_CHANGED', message, { currentPriceNanos: total })]
}

/** What a launch takes of a machine's disk costs per hour. Each volume is charged, and rounded, for itself. */
export function storageRates({ storageNanos }: Machine, { diskMb, newVolumes }: Launch) {
  const volumes = newVolumes.map(volume => diskPricePerHour(storageNanos, newVolumesMb([volume])))
  return {
    diskNanos: diskPricePerHour(storageNanos, diskMb),
    volumesNanos: volumes.reduce((sum, rate) => sum + rate, 0n),
  }
}

/** What a rental costs per hour from its beginning: its disks, and its GPUs if it is to run. */
export function rentalRate(machine: Machine, launch: Launch, computeNanos: bigint): bigint {
  const { diskNanos, volumesNanos } = storageRates(machine, launch)
  return diskNanos + volumesNanos + (launch.targetState === 'running' ? computeNanos : 0n)
}

/** What a rental adds to what its account holds. GPUs count from its beginning, although they cost only when it runs. */
export function rentalHoldings(machine: Machine, launch: Launch, computeNanos: bigint): Holdings {
  const { diskNanos, volumesNanos } = storageRates(machine, launch)
  const runs = launch.targetState === 'running'
  return {
    computeNanos: runs ? computeNanos : 0n,
    diskNanos: diskNanos + volumesNanos,
    instances: 1,
    loading: runs ? 1 : 0,
    diskMb: launch.diskMb + newVolumesMb(launch.newVolumes),
    volumes: launch.newVolumes.length,
  }
}

/** What the machine lacks for this launch, as far as both are known. */
export function machineIssues(machine: Machine | undefined, launch: Launch | undefined, ports: Port[]): Issue[] {
  if (!machine || !launch) return []
  const issues: Issue[] = []
  const free = machine.freeDiskMb
  if (launch.diskMb > free) {
    issues.push({ path: 'diskGb', message: `must be at most ${free / 1000}, what this machine has free.` })
  } else if (launch.diskMb + newVolumesMb(launch.newVolumes) > free) {
    const left = (free - launch.diskMb) / 1000
    issues.push({ path: 'newVolumes', message: `must have at most ${left} GB in all, what this machine has free.` })
  }
  if (ports.length > machine.freePorts) {
    const message = `must be at most ${machine.freePorts}, what this machine has free, not ${ports.length} with those for SSH and the notebook.`
    issues.push({ path: 'ports', message })
  }
  if (launch.vm && !machine.vmsEnabled) issues.push({ path: 'vm', message: 'is not offered by this machine.' })
  return issues
}
