// What the commands answer in each state, over both faces, beside what `actions` says.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

/** The mutation of each action, in an order that meets many states: an action may change what the next one may do. */
const mutations = {
  REBOOT: { field: 'rebootInstance', input: {} },
  RECYCLE: { field: 'recycleInstance', input: {} },
  UPDATE_BID: { field: 'updateInstanceBid', input: { bidPerHour: '1' } },
  START: { field: 'startInstance', input: {} },
  STOP: { field: 'stopInstance', input: {} },
  DESTROY: { field: 'destroyInstance', input: {} },
}
type Action = keyof typeof mutations

async function run(by: string, id: number, action: Action) {
  const { field, input } = mutations[action]
  const type = `${field.charAt(0).toUpperCase()}${field.slice(1)}`
  const { data, errors } = await app.graphql(
    by,
    `mutation ($input: ${type}Input!) { result: ${field}(input: $input) {
      __typename ... on Error { code message retry }
      ${action === 'DESTROY' ? '' : '... on InvalidStateError { current { status } }'} } }`,
    { input: { id: `ins_${id}`, ...input } },
  )
  if (!data) throw new Error(JSON.stringify(errors))
  return data.result
}

async function actionOf(id: number, name: Action) {
  const query = 'query ($id: ID!) { instance(id: $id) { actions { action available reason { code message } } } }'
  const { data } = await app.graphql(key, query, { id: `ins_${id}` })
  return data.instance.actions.find(({ action }: { action: Action }) => action === name)
}

const countEvents = async (id: number) =>
  (await app.sql(`SELECT FROM events WHERE instance_id = ${id} AND kind <> 'INSTANCE_STATUS_CHANGED'`)).length

describe('a command', () => {
  it.each(['created', 'running', 'stopped', 'exited', 'offline', 'unknown', 'restarting', 'loading again'])(
    'on an instance that is %s does what its actions say',
    async status => {
      const known = { restarting: 'running', 'loading again': 'stopped' }[status] ?? status
      const id = await rentals.rentToStatus(key, known)
      if (status === 'restarting') await run(key, id, 'RECYCLE')
      if (status === 'loading again') await run(key, id, 'START')
      for (const action of [...Object.keys(mutations), ...Object.keys(mutations)] as Action[]) {
        const said = await actionOf(id, action)
        const before = await countEvents(id)
        const result = await run(key, id, action)
        const about = `${action} ${JSON.stringify(result)}`
        expect((await countEvents(id)) > before, about).toBe(said.available)
        if (result.code === undefined) continue
        expect(result.code, about).toBe('INVALID_STATE')
        if (said.reason.code !== 'DESTROYED') expect(result.message).toBe(said.reason.message)
      }
    },
  )
})

describe('a destroyed instance', () => {
  it('answers every GraphQL command alike: it is destroyed, and only another destruction succeeds', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    await run(key, id, 'DESTROY')
    for (const action of Object.keys(mutations) as Action[]) {
      const expected =
        action === 'DESTROY'
          ? { __typename: 'DestroyInstanceSuccess' }
          : {
              ...{ __typename: 'InvalidStateError', code: 'INVALID_STATE', retry: 'NEVER' },
              ...{ message: `Instance ins_${id} is destroyed. Rent another one.`, current: { status: 'DESTROYED' } },
            }
      expect(await run(key, id, action)).toEqual(expected)
    }
  })

  it('answers every REST command like an unknown one, but says that it is destroyed', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    await run(key, id, 'DESTROY')
    const commands: [method: string, path: string, body?: object][] = [
      ['GET', `/instances/${id}/`],
      ['PUT', `/instances/${id}/`, { state: 'running' }],
      ['PUT', `/instances/${id}/stop/`, {}],
      ['PUT', `/instances/reboot/${id}/`, {}],
      ['PUT', `/instances/recycle/${id}/`, {}],
      ['PUT', `/instances/bid_price/${id}/`, { price: 1 }],
      ['PUT', `/instances/update_template/${id}/`, { image: 'ubuntu:24.04' }],
      ['PUT', `/instances/command/${id}/`, { command: 'ls' }],
      ['PUT', `/instances/request_logs/${id}/`, {}],
      ['GET', `/instances/${id}/ssh/`],
      ['DELETE', `/instances/${id}/`],
    ]
    const msg = `Instance ${id} is destroyed. Rent another one.`
    const body = { success: false, error: 'no_such_instance', msg, instances: null }
    for (const [method, path, sent] of commands)
      expect([path, await app.rest(key, method, path, sent)]).toMatchObject([path, { status: 404, body }])
  })

  it('is not found with the key of another account, over both faces', async () => {
    const id = await rentals.rent(key)
    await run(key, id, 'DESTROY')
    const stranger = await app.newKey(null, someCredit)
    for (const action of Object.keys(mutations) as Action[])
      expect(await run(stranger, id, action)).toMatchObject({
        code: 'NOT_FOUND',
        message: `Instance ins_${id} not found.`,
      })
    expect((await app.rest(stranger, 'GET', `/instances/${id}/`)).body.msg).toBe(`Instance ${id} not found.`)
  })
})
