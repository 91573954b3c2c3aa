// One test per row of the specification's tables of runtypes and of states, and per rule below them.

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

const updateInstance = (id: number, body: object) => app.rest(key, 'PUT', `/instances/${id}/`, body)
const readStatus = async (id: number) => (await rentals.read(key, id)).actual_status

describe('Runtype, with an SSH proxy', () => {
  let proxied: TestApp
  let behindProxy: Rentals

  beforeAll(async () => {
    proxied = await startApp({ sharedApp: app, sshProxy: { host: 'ssh.example.com', port: 2222 } })
    behindProxy = rentalsOf(proxied)
  })

  afterAll(() => proxied.close())

  it.each([
    ['ssh_direct', ['22/tcp'], 'ssh_direct'],
    ['ssh_proxy', [], 'ssh_proxy'],
    ['ssh', [], 'ssh_proxy'],
    ['jupyter_direct', ['22/tcp', '8080/tcp'], 'jupyter_direct'],
    ['jupyter_proxy', [], 'jupyter_proxy'],
    ['jupyter', [], 'jupyter_proxy'],
    ['args', [], 'args'],
  ])('%s provisions the ports %j, and is shown as %s', async (runtype, ports, shown) => {
    const row = await behindProxy.read(key, await behindProxy.rentToStatus(key, 'running', { runtype }))
    expect([Object.keys(row.ports).sort(), row.image_runtype]).toEqual([ports, shown])
  })
})

describe('Runtype', () => {
  it.each([
    ['ssh_proxy', ['22/tcp'], 'ssh_proxy'],
    ['ssh', ['22/tcp'], 'ssh_proxy'],
    ['jupyter_proxy', ['22/tcp', '8080/tcp'], 'jupyter_proxy'],
    ['jupyter', ['22/tcp', '8080/tcp'], 'jupyter_proxy'],
  ])('%s provisions the ports %j without an SSH proxy, and is shown as %s', async (runtype, ports, shown) => {
    const row = await rentals.read(key, await rentals.rentToStatus(key, 'running', { runtype }))
    expect([Object.keys(row.ports).sort(), row.image_runtype]).toEqual([ports, shown])
  })

  it('args keeps the entrypoint and replaces CMD by args_str, without SSH or notebook access', async () => {
    const id = await rentals.rentToStatus(key, 'running', { runtype: 'args', args_str: 'serve --port 80' })
    const row = await rentals.read(key, id)
    expect(row).toMatchObject({ image_args: ['serve', '--port', '80'], ssh_host: null, ssh_port: null, ports: {} })
  })

  it('args gives no SSH access even if port 22 is mapped, since the image serves that port', async () => {
    const id = await rentals.rentToStatus(key, 'running', { runtype: 'args', env: { '-p 2222:22': '1' } })
    const row = await rentals.read(key, id)
    expect(row).toMatchObject({ ssh_host: null, ssh_port: null, ports: { '22/tcp': expect.any(Array) } })
  })

  it.each([{ args_str: '-c 1' }, { args: ['-c', '1'] }, { args: '-c 1' }])('args takes %j', async args => {
    const row = await rentals.read(key, await rentals.rent(key, { runtype: 'args', ...args }))
    expect(row.image_args).toEqual(['-c', '1'])
  })
})

describe('Entrypoint rules', () => {
  it('all notebook runtypes include SSH access', async () => {
    const row = await rentals.read(key, await rentals.rentToStatus(key, 'running', { runtype: 'jupyter_direct' }))
    expect(row).toMatchObject({ ssh_host: '198.18.0.1', ssh_port: expect.any(Number) })
  })

  it('onstart needs the entrypoint of the service, so runtype args keeps it with a warning', async () => {
    const warningsOf = async (runtype: string) => {
      const id = await rentals.rent(key, { runtype, onstart: './run' })
      const { data } = await app.graphql(key, `{ instance(id: ${id}) { launch { onStart warnings } } }`)
      return data.instance.launch
    }
    expect(await warningsOf('ssh')).toEqual({ onStart: './run', warnings: [] })
    expect(await warningsOf('args')).toEqual({ onStart: './run', warnings: [expect.stringContaining('onStart')] })
  })
})

describe('target_state', () => {
  it.each([
    ['running', 'running'],
    ['stopped', 'created'],
  ])('%s can be requested at creation, and leads to %s', async (target_state, status) => {
    const id = await rentals.rent(key, { target_state })
    await rentals.converge()
    expect(await rentals.read(key, id)).toMatchObject({ intended_status: target_state, actual_status: status })
  })

  it.each([
    ['running', 'stopped', 'running'],
    ['stopped', 'running', 'stopped'],
  ])('%s can be requested by bulk update', async (state, from, status) => {
    const id = await rentals.rentToStatus(key, from)
    expect((await app.rest(key, 'PUT', '/instances/', { ids: [id], state })).body).toEqual({ success: true })
    await rentals.converge()
    expect(await rentals.read(key, id)).toMatchObject({ intended_status: state, actual_status: status })
  })
})

describe('actual_status', () => {
  it.each(['running', 'exited', 'unknown', 'offline'])('can be %s', async status => {
    expect(await readStatus(await rentals.rentToStatus(key, status))).toBe(status)
  })

  it('goes from loading to running, to stopped and to running again', async () => {
    const id = await rentals.rent(key)
    const seen = [await readStatus(id)]
    const recordStatus = async () => {
      await app.runUntilIdle()
      seen.push(await readStatus(id))
      await rentals.converge()
      seen.push(await readStatus(id))
    }
    await recordStatus()
    await updateInstance(id, { state: 'stopped' })
    await recordStatus()
    await updateInstance(id, { state: 'running' })
    await recordStatus()
    // An instance runs until it has stopped.
    expect(seen).toEqual(['created', 'loading', 'running', 'running', 'stopped', 'loading', 'running'])
  })

  it('is exited when the container ends on its own, with any exit code', async () => {
    for (const exitCode of [0, 137]) {
      const id = await rentals.rentToStatus(key, 'running')
      await rentals.exit(id, exitCode)
      expect(await rentals.read(key, id)).toMatchObject({
        actual_status: 'exited',
        status_msg: `The container exited with code ${exitCode}.`,
      })
    }
  })
})

describe('States, rule 1', () => {
  it('target_state defaults to running at creation', async () => {
    const id = await rentals.rent(key)
    await rentals.converge()
    expect(await rentals.read(key, id)).toMatchObject({ intended_status: 'running', actual_status: 'running' })
  })
})

describe('States, rule 2', () => {
  it.each(['stopped', 'running'])('a bulk update sets the target state %s for all listed instances', async state => {
    const ids = [await rentals.rent(key), await rentals.rent(key, { target_state: 'stopped' }), await rentals.rent(key)]
    await app.rest(key, 'PUT', '/instances/', { ids, state })
    const rows = await Promise.all(ids.map(id => rentals.read(key, id)))
    expect(rows.map(row => row.intended_status)).toEqual([state, state, state])
  })
})

describe('States, rule 3', () => {
  describe.each(['exited', 'unknown', 'offline'])('once actual_status is %s', status => {
    it('it does not reach running by a single or a bulk update', async () => {
      const id = await rentals.rentToStatus(key, status)
      expect(await updateInstance(id, { state: 'running' })).toMatchObject({
        status: 400,
        body: { error: 'invalid_state' },
      })
      expect(await app.rest(key, 'PUT', '/instances/', { ids: [id], state: 'running' })).toMatchObject({
        status: 200,
        body: { success: false },
      })
      await updateInstance(id, { state: 'stopped' })
      expect(await updateInstance(id, { state: 'running' })).toMatchObject({ status: 400 })
      await rentals.converge()
      expect(await readStatus(id)).toBe(status)
    })

    it('it does not reach running when its container runs', async () => {
      const id = await rentals.rentToStatus(key, status)
      await app.sql(`INSERT INTO simulated_containers (instance_id, prepared_at, up_at) VALUES (${id}, now(), now())
        ON CONFLICT (instance_id) DO UPDATE SET exit_code = NULL, down_at = NULL`)
      await app.sql(`UPDATE instance_looks SET due_at = 'epoch' WHERE instance_id = ${id}`)
      await rentals.converge()
      expect(await readStatus(id)).toBe(status)
    })

    it('the client can destroy the instance and retry', async () => {
      const id = await rentals.rentToStatus(key, status)
      const { machine_id } = await rentals.read(key, id)
      expect((await app.rest(key, 'DELETE', `/instances/${id}/`)).body).toEqual({ success: true })
      const { body } = await app.rest(key, 'POST', '/bundles/', { machine_id: { eq: machine_id } })
      const again = await app.rest(key, 'PUT', `/asks/${body.offers[0].id}/`, { image: 'ubuntu' })
      await rentals.converge()
      expect(await readStatus(again.body.new_contract)).toBe('running')
    })
  })
})

describe('States, rule 4', () => {
  it('SSH connection requires actual_status to be running', async () => {
    const id = await rentals.rent(key, { runtype: 'ssh_direct' })
    const hostOf = async () => (await rentals.read(key, id)).ssh_host
    expect(await hostOf()).toBeNull()
    await app.runUntilIdle()
    expect(await hostOf()).toBeNull()
    await rentals.converge()
    expect(await hostOf()).toBe('198.18.0.1')
    await rentals.exit(id)
    expect(await hostOf()).toBeNull()
  })
})
