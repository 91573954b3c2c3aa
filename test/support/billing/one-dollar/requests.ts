// Sends the requests of a sequence, and tells what the answers put on the tab.

import type { TestApp } from '../../app.ts'
import { type Answer, nanosOf, type Renter, usdOf } from './renter.ts'
import type { PolicyChange, Repeat, Request } from './steps.ts'
import type { Item, Tab } from './tab.ts'

/** What a success puts on the tab. Of requests at once, those that end something come first: their order is not known. */
export type Effect = { ends: boolean; apply: () => void }

type Site = { app: TestApp; renter: Renter; tab: Tab; machines: readonly string[] }

/** The most for GPUs and disk that `rentBest` accepts. */
const mostNanos = 500_000_000n
let keys = 0

const choose = <One>(all: readonly One[], pick: number): One | undefined => all[pick % all.length]

/** An offer of these machines, or one that does not exist. */
export async function findOffer(app: TestApp, machines: readonly string[], pick: number): Promise<string> {
  const ids = machines.map(id => id.slice('mch_'.length)).join()
  const rows = await app.sql(`SELECT id FROM offers WHERE machine_id IN (${ids}) AND withdrawn_at IS NULL ORDER BY id`)
  return `off_${choose(rows as { id: string }[], pick)?.id ?? 0}`
}

export function createRequests({ app, renter, tab, machines }: Site) {
  const nowMs = () => app.clock.now().getTime()
  const isSuccess = ({ __typename: name }: Answer) => String(name).endsWith('Success')
  const pickOf = (kind: string, pick: number): Item | undefined =>
    choose(
      tab.living().filter(({ id }) => id.startsWith(kind)),
      pick,
    )
  const begins = (apply: () => void): Effect => ({ ends: false, apply })
  const ends = (apply: () => void): Effect => ({ ends: true, apply })

  async function send(repeat: Repeat, gateway: number, name: string, input: object): Promise<Answer[]> {
    keys += 1
    const sent = repeat.endsWith('key') ? { ...input, idempotencyKey: `request-${keys}` } : input
    const sendTo = (to: number) => renter.mutate(to, name, sent)
    if (repeat === 'twins with a key') return await Promise.all([sendTo(gateway), sendTo(gateway + 1)])
    const first = await sendTo(gateway)
    return repeat === 'once' ? [first] : [first, await sendTo(gateway + 1)]
  }

  function addVolume(id: string, price: string): Effect {
    return begins(() => tab.add(id, { gpuNanos: 0n, diskNanos: nanosOf(price) }, false))
  }

  async function rent(request: Request & { do: 'rent' }, gateway: number): Promise<Effect[]> {
    const { pick, bidNanos, diskGb, isStopped, volume, repeat } = request
    const own = volume === 'own' ? pickOf('vol', pick) : undefined
    const source = own ? { volumeId: own.id } : { create: { sizeGb: 5 } }
    const input = {
      offerId: await findOffer(app, machines, pick),
      terms: bidNanos === null ? { onDemand: {} } : { interruptible: { bidPerHour: usdOf(bidNanos) } },
      spec: {
        ...{ source: { image: 'ubuntu' }, diskGb, targetState: isStopped ? 'STOPPED' : 'RUNNING' },
        volumes: volume === 'none' ? [] : [{ source }],
      },
    }
    const quote = await renter.quote(gateway, input)
    const answers = (await send(repeat, gateway, 'rentInstance', input)).filter(isSuccess)
    return answers.flatMap(({ instance }) => {
      const prices = { gpuNanos: nanosOf(quote.gpuPricePerHour), diskNanos: nanosOf(quote.diskPricePerHour) }
      const quoted = { ...prices, endsAtMs: Date.parse(instance.endsAt) }
      const made = volume === 'none' || own ? [] : instance.volumes.map((one: Answer) => one.volume.id)
      return [
        begins(() => tab.add(instance.id, quoted, !isStopped)),
        ...made.map((id: string) => addVolume(id, quote.volumesPricePerHour)),
      ]
    })
  }

  async function rentBest(request: Request & { do: 'rentBest' }, gateway: number): Promise<Effect[]> {
    const { bidNanos, diskGb, startsNever, repeat } = request
    const image = startsNever ? 'simulated/no-start' : 'ubuntu'
    const input = {
      filter: { machineId: { in: machines } },
      terms: bidNanos
        ? { interruptible: { bidPerHour: usdOf(bidNanos) } }
        : { onDemand: { maxPricePerHour: usdOf(mostNanos) } },
      spec: { source: { image }, diskGb },
      replace: { within: '2m', attempts: 3 },
    }
    const answers = (await send(repeat, gateway, 'rentBestOffer', input)).filter(isSuccess)
    return answers.map(({ instance: { id, pricePerHour, diskPricePerHour, endsAt } }) => {
      const diskNanos = nanosOf(diskPricePerHour)
      const gpuNanos = nanosOf(pricePerHour) - diskNanos
      // The disk of the dearest machine costs twice as much as that of the cheapest.
      const most = bidNanos ? bidNanos + 2n * diskNanos : mostNanos
      if (gpuNanos + diskNanos > most) throw new Error(`${id} costs more than ${most}`)
      return begins(() => tab.add(id, { gpuNanos, diskNanos, mostNanos: most, endsAtMs: Date.parse(endsAt) }, true))
    })
  }

  async function command(name: string, pick: number, times: number, gateway: number): Promise<Effect[]> {
    const one = pickOf('ins', pick)
    if (!one) return []
    const [mutation, input] =
      name === 'label'
        ? ['updateInstance', { id: one.id, label: `label ${pick}` }]
        : [`${name}Instance`, { id: one.id }]
    const answers: Answer[] = []
    for (let time = 0; time < times; time += 1) answers.push(await renter.mutate(gateway + time, mutation, input))
    return answers.some(isSuccess) ? effectsOf(name, one.id) : []
  }

  function effectsOf(name: string, id: string): Effect[] {
    if (name === 'start') return [begins(() => tab.change(id, { wantsToRun: true }))]
    if (name === 'stop') return [ends(() => tab.change(id, { wantsToRun: false }))]
    return name === 'destroy' ? [ends(() => tab.change(id, { isGone: true }))] : []
  }

  async function commandAll(wantsToRun: boolean, gateway: number): Promise<Effect[]> {
    const ids = tab.living().flatMap(({ id }) => (id.startsWith('ins') ? [id] : []))
    if (ids.length === 0) return []
    const name = wantsToRun ? 'startInstances' : 'stopInstances'
    const { items = [] } = await renter.mutate(gateway, name, { target: { ids } })
    return items
      .filter(({ outcome }: Answer) => outcome !== 'FAILED')
      .map(({ instanceId }: Answer) => ({
        ...{ ends: !wantsToRun, apply: () => void tab.change(instanceId, { wantsToRun }) },
      }))
  }

  async function bid(pick: number, bidNanos: bigint, gateway: number): Promise<Effect[]> {
    const one = pickOf('ins', pick)
    const input = { id: one?.id, bidPerHour: usdOf(bidNanos) }
    if (!one || !isSuccess(await renter.mutate(gateway, 'updateInstanceBid', input))) return []
    return [begins(() => tab.bid(one.id, bidNanos))]
  }

  async function setPolicy(pick: number, change: PolicyChange, gateway: number): Promise<Effect[]> {
    const one = pickOf('ins', pick)
    if (!one) return []
    const value = policyValue(change, nowMs())
    const answer = await renter.mutate(gateway, 'updateInstancePolicy', { id: one.id, [change.field]: value })
    // Counts from a stop whose instant the renter does not see. Charges end then, however late the gateways work.
    if (change.field === 'destroyAfterStoppedSeconds') one.disk.isCertain = false
    if (!isSuccess(answer) || !('afterMs' in change)) return []
    const atMs = change.afterMs === null ? null : nowMs() + change.afterMs
    return [begins(() => tab.change(one.id, change.field === 'stopAt' ? { stopAtMs: atMs } : { destroyAtMs: atMs }))]
  }

  async function createVolume(request: Request & { do: 'createVolume' }, gateway: number): Promise<Effect[]> {
    const { machine, sizeGb, repeat } = request
    const machineId = choose(machines, machine) as string
    const price = await renter.quoteVolume(gateway, machineId, sizeGb)
    if (price === undefined) return []
    const input = { offerId: machineId.replace('mch', 'vof'), sizeGb, maxPricePerHour: price }
    const answers = await send(repeat, gateway, 'createVolume', input)
    return answers.filter(isSuccess).map(({ volume }) => addVolume(volume.id, price))
  }

  async function deleteVolume(pick: number, gateway: number): Promise<Effect[]> {
    const one = pickOf('vol', pick)
    if (!one || !isSuccess(await renter.mutate(gateway, 'deleteVolume', { id: one.id }))) return []
    return [ends(() => tab.change(one.id, { isGone: true }))]
  }

  return async (request: Request, gateway: number): Promise<Effect[]> => {
    switch (request.do) {
      case 'rent':
        return await rent(request, gateway)
      case 'rentBest':
        return await rentBest(request, gateway)
      case 'startAll':
      case 'stopAll':
        return await commandAll(request.do === 'startAll', gateway)
      case 'bid':
        return await bid(request.pick, request.bidNanos, gateway)
      case 'policy':
        return await setPolicy(request.pick, request.change, gateway)
      case 'createVolume':
        return await createVolume(request, gateway)
      case 'deleteVolume':
        return await deleteVolume(request.pick, gateway)
      case 'limit': {
        const { action, window, cents } = request
        const limit = { subject: { account: true }, action, window, amount: (cents / 100).toFixed(2) }
        await renter.mutate(gateway, 'createSpendLimit', limit)
        return []
      }
      default:
        return await command(request.do, request.pick, request.times, gateway)
    }
  }
}

function policyValue(change: PolicyChange, nowMs: number): string | number | null {
  if ('afterMs' in change) return change.afterMs === null ? null : new Date(nowMs + change.afterMs).toISOString()
  if ('cents' in change) return change.cents === null ? null : (change.cents / 100).toFixed(2)
  return change.seconds
}
