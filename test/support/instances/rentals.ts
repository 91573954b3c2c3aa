import { expect } from 'vitest'
import type { RestAnswer, TestApp } from '../app.ts'
import { listMachines, type MachineListing } from '../factories.ts'

/** The usual credit of a renter: $100. */
export const someCredit = { creditNanos: 100_000_000_000n }
/** Credit for many or expensive rentals: $10,000. */
export const muchCredit = { creditNanos: 10_000_000_000_000n }

export type Rentals = {
  /** Lists a machine, and returns the id of the offer of all its GPUs. */
  newOffer: (machine?: MachineListing['machine']) => Promise<number>
  /** Requests a rental on a new machine. */
  tryRent: (key: string, body: object, machine?: MachineListing['machine']) => Promise<RestAnswer>
  /** Rents, expects success, and returns the id of the new instance. */
  rent: (key: string, body?: object, machine?: MachineListing['machine']) => Promise<number>
  // biome-ignore lint/suspicious/noExplicitAny: each test reads other fields
  read: (key: string, id: number) => Promise<any>
  /** Runs the reconciler until every instance has converged. */
  converge: () => Promise<void>
  /** Ends the container of a running instance from within. */
  exit: (id: number, exitCode?: number) => Promise<void>
  /** Rents, and brings the new instance to a status. */
  rentToStatus: (key: string, status: string, body?: object) => Promise<number>
}

/** Rentals over REST, each on a machine of its own. */
export function rentalsOf(app: TestApp): Rentals {
  async function newOffer(machine: MachineListing['machine'] = {}) {
    await listMachines(app.operations, [{ machine }])
    const [row] = await app.sql('SELECT id FROM offers ORDER BY machine_id DESC, num_gpus DESC, id LIMIT 1')
    return Number((row as { id: string }).id)
  }

  async function tryRent(key: string, body: object, machine: MachineListing['machine'] = {}) {
    return await app.rest(key, 'PUT', `/asks/${await newOffer(machine)}/`, body)
  }

  async function rent(key: string, body: object = {}, machine: MachineListing['machine'] = {}) {
    const answer = await tryRent(key, { image: 'ubuntu', ...body }, machine)
    expect(answer).toMatchObject({ status: 200, body: { success: true } })
    return answer.body.new_contract as number
  }

  async function read(key: string, id: number) {
    const { status, body } = await app.rest(key, 'GET', `/instances/${id}/`)
    expect(status).toBe(200)
    return body.instances
  }

  async function converge() {
    for (let turn = 1; turn <= 3; turn += 1) {
      await app.runUntilIdle()
      app.clock.advance(30_000)
    }
    await app.runUntilIdle()
  }

  async function exit(id: number, exitCode = 1) {
    await app.sql(`UPDATE simulated_containers SET exit_code = ${exitCode} WHERE instance_id = ${id}`)
    app.clock.advance(61_000)
    await app.runUntilIdle()
  }

  async function rentToStatus(key: string, status: string, body: object = {}) {
    const id = await rent(key, status === 'created' ? { ...body, target_state: 'stopped' } : body)
    if (status === 'created') return id
    await converge()
    if (status === 'exited') await exit(id)
    if (status === 'offline') {
      await app.sql(`UPDATE instances SET status = 'offline' WHERE id = ${id}`)
      await app.sql(`UPDATE instance_looks SET due_at = 'epoch' WHERE instance_id = ${id}`)
      await converge()
    }
    if (status === 'unknown') {
      await app.sql(`DELETE FROM simulated_containers WHERE instance_id = ${id}`)
      app.clock.advance(61_000)
      await app.runUntilIdle()
    }
    if (status === 'stopped') {
      await app.rest(key, 'PUT', `/instances/${id}/`, { state: 'stopped' })
      await converge()
    }
    expect((await read(key, id)).actual_status).toBe(status)
    return id
  }

  return { newOffer, tryRent, rent, read, converge, exit, rentToStatus }
}
