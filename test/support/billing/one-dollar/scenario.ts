// Two gateways on one database. Each sequence has new machines, a renter with one dollar, and a rival who bids.

import { expect } from 'vitest'
import { failureKindOf } from '../../../../src/database/failure-codes.ts'
import { newAccount, type TestAccount } from '../../accounts/accounts.ts'
import { startApp, type TestApp } from '../../app.ts'
import { listMachines } from '../../factories.ts'
import { defaultAdmission } from '../admission.ts'
import { brokenLaws } from '../ledger-laws.ts'
import { checkEntries } from './entries.ts'
import { createRenter, type Renter, usdOf } from './renter.ts'
import { createRequests, findOffer } from './requests.ts'
import { printSteps, type Request, type Step } from './steps.ts'
import { createTab, type Tab, type View } from './tab.ts'

const [minute, day] = [60_000, 24 * 3_600_000]
const oneDollar = 1_000_000_000n

export type OneDollar = Awaited<ReturnType<typeof openOneDollar>>

type Place = {
  app: TestApp
  gateways: readonly TestApp[]
  machines: string[]
  account: TestAccount
  renter: Renter
  rival: Renter
  tab: Tab
  /** What the renter saw last. */
  view: View
}

export async function openOneDollar() {
  const app = await startApp({ simulatedDelay: 0 })
  const gateways = [app, await startApp({ sharedApp: app, simulatedDelay: 1 })]
  const seen = { rented: 0, inDebt: 0, ended: 0 }

  return {
    /** How many steps ended with something rented, with a debt, and without credit. */
    seen,
    /**
     * Whether the database did not answer in time since the last sequence began. Then work was not done on time, and
     * requests may or may not have been.
     */
    isDisturbed: (error: unknown) =>
      failureKindOf(error) === 'uncertain' ||
      String(error).includes('"UNAVAILABLE"') ||
      gateways.some(({ logLines }) => logLines.some(isUncertain)),
    async run(steps: readonly Step[]): Promise<void> {
      for (const { logLines } of gateways) logLines.length = 0
      const place = await findPlace(app, gateways)
      for (const [index, step] of steps.entries()) {
        await perform(place, step, index)
        await check(place, `after step ${index}, ${printSteps(step)}`)
        seen.rented += Number(place.tab.living().length > 0)
        seen.inDebt += Number(place.view.creditNanos < 0n)
        seen.ended += Number(place.view.creditNanos <= 0n)
      }
      await leave(place)
      await checkEntries(app, place.account.id, place.tab)
      expect(await brokenLaws(app.sql)).toEqual([])
      for (const { logLines } of gateways) expect(logLines.filter(({ level }) => (level as number) >= 50)).toEqual([])
    },
    async close() {
      for (const gateway of gateways.toReversed()) await gateway.close()
    },
  }
}

function isUncertain({ code, err }: Record<string, unknown>): boolean {
  const error = Object.assign(new Error(), err)
  return code === 'UNAVAILABLE' || failureKindOf(error) === 'uncertain'
}

/** Each sequence begins at noon, so that it repeats alike. */
async function findPlace(app: TestApp, gateways: readonly TestApp[]): Promise<Place> {
  const now = app.clock.now().getTime()
  app.clock.advance(Math.ceil(now / day + 1) * day + day / 2 - now)
  const listedUntil = (days: number) => new Date(app.clock.now().getTime() + days * day)
  const cheapDisk = { diskPricePerGbMonthNanos: 180_000_000n, listedUntil: listedUntil(400) }
  await listMachines(app.operations, [
    { machine: { numGpus: 2, listedUntil: listedUntil(5) } },
    { machine: { gpuNanos: 100_000_003n, ...cheapDisk } },
    { machine: { gpuNanos: 60_000_001n, ...cheapDisk } },
  ])
  const rows = (await app.sql('SELECT id FROM machines ORDER BY id DESC LIMIT 3')) as { id: number }[]
  const account = await newAccount(app, oneDollar)
  const renter = createRenter(gateways, account.key)
  const rival = createRenter(gateways, (await newAccount(app, 100_000n * oneDollar)).key)
  const tab = createTab(oneDollar, defaultAdmission.debtGraceMs)
  const machines = rows.map(({ id }) => `mch_${id}`)
  return { app, gateways, machines, account, renter, rival, tab, view: await renter.look(0) }
}

async function check(place: Place, story: string): Promise<void> {
  const { app, tab, account } = place
  tab.look(place.view)
  for (const [law, holds] of Object.entries(tab.lawsOf(place.view)))
    if (!holds) expect.fail(`The account breaks "${law}" ${story}: ${printSteps({ ...place.view, items: tab.all() })}`)
  const [row] = await app.sql(`SELECT posted_nanos - coalesce((
    SELECT sum(amount_nanos) FROM ledger_entries WHERE account_id = a.id), 0) AS off FROM accounts a WHERE id = ${account.id}`)
  expect(row, `the balance less the ledger ${story}`).toEqual({ off: '0' })
}

async function perform(place: Place, step: Step, index: number): Promise<void> {
  const { app, machines, account, rival, tab } = place
  const machineOf = (pick: number) => Number(machines[pick % machines.length]?.replace('mch_', ''))
  switch (step.do) {
    case 'pass':
      await (step.isWorking ? passWorking(place, step.ms, step.gateway) : passLate(place, step.ms))
      break
    case 'grant':
      await account.grant(step.nanos)
      tab.grant(step.nanos)
      place.view = await place.renter.look(index)
      break
    case 'plug':
      await app.operations.machines.plug(machineOf(step.machine))
      break
    case 'unplug':
      await unplug(place, machineOf(step.machine))
      break
    case 'exit':
      await exit(place, step.pick)
      break
    case 'rivalLeaves':
      await destroyAll(rival)
      break
    case 'outbid': {
      const terms = step.bidNanos ? { interruptible: { bidPerHour: usdOf(step.bidNanos) } } : { onDemand: {} }
      const offerId = await findOffer(app, machines, step.pick)
      await rival.mutate(index, 'rentInstance', { offerId, terms, spec: { source: { image: 'ubuntu' } } })
      break
    }
    case 'both':
      await request(place, step.requests, index)
      break
    default:
      await request(place, [step], index)
  }
}

/** Sends requests at once, each to another gateway. */
async function request(place: Place, requests: readonly Request[], gateway: number): Promise<void> {
  const send = createRequests(place)
  const effects = (await Promise.all(requests.map((one, index) => send(one, gateway + index)))).flat()
  for (const { apply } of effects.toSorted((one, other) => Number(other.ends) - Number(one.ends))) apply()
  place.view = await place.renter.look(gateway)
}

/** Moves the clock from each instant with due work to the next, and works at each. */
async function passWorking(place: Place, ms: number, gateway: number): Promise<void> {
  const { app, gateways, renter, tab } = place
  const end = app.clock.now().getTime() + ms
  const work = async () => {
    await gateways[gateway]?.runUntilIdle()
    place.view = await renter.look(gateway)
    tab.look(place.view)
  }
  await work()
  while (app.clock.now().getTime() < end) {
    const from = app.clock.now().getTime()
    const dueMs = await nextDueMs(place)
    const to = Math.min(end, dueMs > from ? dueMs : from + 1_000)
    const before = place.view
    app.clock.advance(to - from)
    await gateways[gateway]?.runUntilIdle()
    place.view = await renter.look(gateway)
    tab.pass({ from, to, isWorking: true, before, after: place.view })
    tab.look(place.view)
  }
}

async function passLate(place: Place, ms: number): Promise<void> {
  const { app, renter, tab, view: before } = place
  const from = app.clock.now().getTime()
  app.clock.advance(ms)
  place.view = await renter.look(1)
  tab.pass({ from, to: from + ms, isWorking: false, before, after: place.view })
}

/** When money, a policy or an instance that changes its status is due next. */
async function nextDueMs({ app, account }: Place): Promise<number> {
  const [row] = (await app.sql(`SELECT extract(epoch FROM least(
    (SELECT billing_due_at FROM accounts WHERE id = ${account.id}),
    (SELECT min(policy_due_at) FROM instances WHERE account_id = ${account.id}),
    (SELECT min(l.due_at) FROM instance_looks l JOIN instances i ON i.id = l.instance_id
      WHERE i.account_id = ${account.id} AND i.removed_at IS NULL
      AND NOT EXISTS (SELECT FROM simulated_outages o WHERE o.machine_id = i.machine_id)
      AND (i.status IN ('loading', 'stopping') OR (i.status = 'scheduling' AND EXISTS (
        SELECT FROM gpus g WHERE g.holder_id = i.id))))
  )) * 1000 AS due`)) as { due: string | null }[]
  return row?.due == null ? Number.POSITIVE_INFINITY : Math.ceil(Number(row.due))
}

async function unplug({ app, tab }: Place, machineId: number): Promise<void> {
  await app.operations.machines.unplug(machineId)
  const rows = (await app.sql(`SELECT id FROM instances WHERE machine_id = ${machineId} AND removed_at IS NULL`)) as {
    id: string
  }[]
  for (const { id } of rows) {
    const one = tab.find(`ins_${id}`)
    // If the machine stays away, charges end when it last answered.
    if (one) one.gpu.isCertain = one.disk.isCertain = false
  }
}

/** Ends a container from within. It is charged until the gateways see that, and refunded. */
async function exit({ app, tab }: Place, pick: number): Promise<void> {
  const instances = tab.living().filter(({ id }) => id.startsWith('ins'))
  const one = instances[pick % instances.length]
  if (!one) return
  await app.sql(`UPDATE simulated_containers SET exit_code = 1
    WHERE instance_id = ${one.id.slice('ins_'.length)} AND up_at IS NOT NULL AND down_at IS NULL`)
  one.gpu.isCertain = false
}

async function destroyAll(renter: Renter): Promise<void> {
  const ids = [...(await renter.look(0)).items.keys()].filter(id => id.startsWith('ins'))
  if (ids.length > 0) await renter.mutate(0, 'destroyInstances', { target: { ids } })
}

/** Gives everything back. Nothing is charged from then on. */
async function leave(place: Place): Promise<void> {
  const { app, machines, renter, rival, tab } = place
  for (const id of machines) await app.operations.machines.plug(Number(id.slice('mch_'.length)))
  for (let round = 0; round < 10 && (round === 0 || tab.living().length > 0); round += 1) {
    for (const one of [renter, rival]) await destroyAll(one)
    for (const { id } of tab.living()) if (id.startsWith('vol')) await renter.mutate(0, 'deleteVolume', { id })
    await check(place, 'when it leaves')
    await passWorking(place, 10 * minute, round % 2)
  }
  expect(tab.living(), 'what is left').toEqual([])
  await check(place, 'when it has left')
  const creditNanos = place.view.creditNanos
  await passLate(place, 40 * day)
  await passWorking(place, minute, 1)
  await check(place, 'long after the end')
  expect(place.view.creditNanos, 'the credit long after the end').toBe(creditNanos)
}
