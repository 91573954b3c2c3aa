// Connections, logs and commands of instances, in each launch mode and over both faces.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { modeSelection, readModes } from '../../support/launch/modes.ts'
import { subscribeSse } from '../../support/streams.ts'

/** One market behind two gateways: `proxied` has an SSH proxy, `plain` has none. */
let plain: TestApp
let proxied: TestApp
let rentals: Rentals
let throughProxy: Rentals
/** Serves notebooks, too. */
let serving: TestApp
let key: string

beforeAll(async () => {
  plain = await startApp()
  proxied = await startApp({ sharedApp: plain, sshProxy: { host: 'ssh.example.com', port: 2222 } })
  serving = await startApp({
    ...{ sharedApp: plain, sshProxy: { host: 'ssh.example.com', port: 2222 } },
    notebookProxy: { protocol: 'https', host: 'notebooks.example.com' },
  })
  rentals = rentalsOf(plain)
  throughProxy = rentalsOf(proxied)
  key = await plain.newKey(null, someCredit)
})

afterAll(async () => {
  await serving.close()
  await proxied.close()
  await plain.close()
})

const fields = 'host sshHost sshPort sshUser sshCommand notebookUrl ports { containerPort hostPort protocol }'
async function connectionOf(app: TestApp, id: number) {
  const { data } = await app.graphql(key, `{ instance(id: "${id}") { connection { ${fields} } } }`)
  return data.instance.connection
}

const nowhere = { sshHost: null, sshPort: null, sshUser: null, sshCommand: null, notebookUrl: null }
const address = '198.18.0.1'
const proxyLogin = (id: number) => ({ sshHost: 'ssh.example.com', sshPort: 2222, sshUser: `ins_${id}` })

describe('a running instance', () => {
  it('in ssh_direct has SSH at the public port of its port 22', async () => {
    const id = await rentals.rentToStatus(key, 'running', { runtype: 'ssh_direct', env: { '-p 22:2222': '1' } })
    const connection = await connectionOf(proxied, id)
    const { hostPort } = connection.ports.find((port: { containerPort: number }) => port.containerPort === 22)
    expect(connection).toMatchObject({
      ...{ host: address, sshHost: address, sshPort: hostPort, sshUser: 'root', notebookUrl: null },
      sshCommand: `ssh -p ${hostPort} root@${address}`,
    })
  })

  it('in jupyter_direct has its notebook at the public port of its port 8080, and SSH at that of its port 22', async () => {
    const id = await rentals.rentToStatus(key, 'running', { runtype: 'jupyter_direct' })
    const { ports, ...connection } = await connectionOf(plain, id)
    const [ssh, notebook] = [22, 8080].map(
      inside => ports.find((port: { containerPort: number }) => port.containerPort === inside).hostPort,
    )
    expect(connection).toEqual({
      ...{ host: address, sshHost: address, sshPort: ssh, sshUser: 'root' },
      ...{ sshCommand: `ssh -p ${ssh} root@${address}`, notebookUrl: `http://${address}:${notebook}/` },
    })
  })

  it('in ssh_proxy has SSH at the proxy, with its id as the user', async () => {
    const id = await throughProxy.rentToStatus(key, 'running', { runtype: 'ssh_proxy' })
    expect(await connectionOf(proxied, id)).toEqual({
      ...{ host: address, ports: [], ...proxyLogin(id), notebookUrl: null },
      sshCommand: `ssh -p 2222 ins_${id}@ssh.example.com`,
    })
  })

  it('in jupyter_proxy has its notebook through the SSH tunnel', async () => {
    const id = await throughProxy.rentToStatus(key, 'running', { runtype: 'jupyter_proxy' })
    expect(await connectionOf(proxied, id)).toEqual({
      ...{ host: address, ports: [], ...proxyLogin(id), notebookUrl: 'http://127.0.0.1:8080/' },
      sshCommand: `ssh -L 8080:127.0.0.1:8080 -p 2222 ins_${id}@ssh.example.com`,
    })
  })

  it('in jupyter_proxy has its notebook through the tunnel even when port 8080 is public', async () => {
    const id = await throughProxy.rentToStatus(key, 'running', { runtype: 'jupyter', env: { '-p 8080:8080': '1' } })
    expect(await connectionOf(proxied, id)).toMatchObject({
      ...{ sshHost: 'ssh.example.com', notebookUrl: 'http://127.0.0.1:8080/' },
      sshCommand: expect.stringContaining('-L 8080:127.0.0.1:8080 '),
    })
  })

  it('in jupyter_proxy has its notebook at a host name of its own, if the gateway serves notebooks', async () => {
    const id = await throughProxy.rentToStatus(key, 'running', { runtype: 'jupyter_proxy' })
    expect(await connectionOf(serving, id)).toEqual({
      ...{ host: address, ports: [], ...proxyLogin(id), notebookUrl: `https://ins-${id}.notebooks.example.com/` },
      sshCommand: `ssh -p 2222 ins_${id}@ssh.example.com`,
    })
  })

  it.each(['jupyter_direct', 'jupyter_proxy'])('in %s keeps the public port of its notebook', async runtype => {
    const id = await rentals.rentToStatus(key, 'running', { runtype })
    expect((await connectionOf(serving, id)).notebookUrl).toMatch(/^http:\/\/198\.18\.0\.1:\d+\/$/)
  })

  describe('rented without a proxy', () => {
    it.each([
      ['ssh_proxy', { runtype: 'ssh_proxy' }, 'ssh_proxy', [22]],
      ['no runtype', {}, 'ssh_proxy', [22]],
      ['ssh', { runtype: 'ssh' }, 'ssh_proxy', [22]],
      ['jupyter_proxy', { runtype: 'jupyter_proxy' }, 'jupyter_proxy', [22, 8080]],
      ['jupyter', { runtype: 'jupyter' }, 'jupyter_proxy', [22, 8080]],
    ])('with %s has public ports over REST and GraphQL, even when a proxy is set later', async (...row) => {
      const [, body, mode, inside] = row
      const id = await rentals.rentToStatus(key, 'running', body)
      for (const app of [plain, proxied]) {
        const { ports, ...connection } = await connectionOf(app, id)
        expect(ports.map((port: { containerPort: number }) => port.containerPort)).toEqual(inside)
        const [ssh, notebook] = ports.map((port: { hostPort: number }) => port.hostPort)
        expect(connection).toEqual({
          ...{ host: address, sshHost: address, sshPort: ssh, sshUser: 'root' },
          sshCommand: `ssh -p ${ssh} root@${address}`,
          notebookUrl: notebook ? `http://${address}:${notebook}/` : null,
        })
        const { body: read } = await app.rest(key, 'GET', `/instances/${id}/`)
        expect(read.instances).toMatchObject({ image_runtype: mode, ssh_host: address, ssh_port: ssh })
        const { data } = await app.graphql(key, `{ instance(id: ${id}) { launch { ${modeSelection} } } }`)
        expect(data.instance.launch.mode).toEqual(readModes[mode as keyof typeof readModes])
      }
    })

    it('logs the ports on which it listens', async () => {
      const id = await rentals.rentToStatus(key, 'running', { runtype: 'jupyter' })
      const { data } = await plain.graphql(key, `{ instance(id: ${id}) { logs(tail: 20) { text } } }`)
      expect(data.instance.logs.map(({ text }: { text: string }) => text)).toContain(
        'The notebook listens on port 8080, SSH on port 22',
      )
    })

    it('is refused on a machine without a free port, over both faces and in a quote, but not with a proxy', async () => {
      const noPort = { firstPort: 20_000, lastPort: 20_000 }
      const offer = await rentals.newOffer({ ...noPort, numGpus: 2 })
      const [half] = (await plain.sql(
        `SELECT id FROM offers WHERE num_gpus = 1 AND machine_id = (SELECT machine_id FROM offers WHERE id = ${offer}) ORDER BY id`,
      )) as { id: string }[]
      const taken = await plain.rest(key, 'PUT', `/asks/${half?.id}/`, { image: 'ubuntu' })
      expect(taken.status).toBe(200)
      const [other] = (await plain.sql(
        `SELECT id FROM offers WHERE withdrawn_at IS NULL AND rentable AND machine_id = (SELECT machine_id FROM offers WHERE id = ${offer})`,
      )) as { id: string }[]
      const input = `input: { offerId: "${other?.id}", spec: { source: { image: "ubuntu" } } }`
      const refusal = { issues: [{ path: 'spec.ports', message: expect.stringContaining('at most 0') }] }
      const quote = `{ rentQuote(${input}) { rentable warnings blockers { ... on InvalidInputError { issues { path message } } } } }`
      const quoted = (await plain.graphql(key, quote)).data.rentQuote
      expect(quoted).toMatchObject({ rentable: false, blockers: [refusal] })
      expect(quoted.warnings).toContainEqual(expect.stringContaining('no SSH proxy'))
      const rent = `mutation { rentInstance(${input}) { ... on InvalidInputError { issues { path message } } } }`
      expect((await plain.graphql(key, rent)).data.rentInstance).toEqual(refusal)
      const rest = await plain.rest(key, 'PUT', `/asks/${other?.id}/`, { image: 'ubuntu' })
      expect(rest).toMatchObject({
        status: 400,
        body: { error: 'invalid_args', msg: expect.stringContaining('at most 0') },
      })
      expect((await proxied.graphql(key, quote)).data.rentQuote).toMatchObject({ rentable: true, blockers: [] })
    })

    it('causes a warning in the answer and in the quote, but not with a proxy', async () => {
      const inputOf = (offer: number) => `input: { offerId: "${offer}", spec: { source: { image: "ubuntu" } } }`
      const isWarned = async (app: TestApp) => {
        const input = inputOf(await rentals.newOffer())
        const { rentQuote } = (await app.graphql(key, `{ rentQuote(${input}) { warnings } }`)).data
        const query = `mutation { rentInstance(${input}) { ... on RentInstanceSuccess { warnings } } }`
        const { rentInstance } = (await app.graphql(key, query)).data
        return [rentQuote, rentInstance].map(({ warnings }) => warnings.join().includes('no SSH proxy'))
      }
      expect(await isWarned(plain)).toEqual([true, true])
      expect(await isWarned(proxied)).toEqual([false, false])
    })
  })

  it('loses SSH when the operator removes the proxy', async () => {
    const id = await throughProxy.rentToStatus(key, 'running', { runtype: 'ssh_proxy' })
    expect(await connectionOf(proxied, id)).toMatchObject(proxyLogin(id))
    expect(await connectionOf(plain, id)).toEqual({ host: address, ports: [], ...nowhere })
  })

  describe('without a proxy and without a public port', () => {
    const rentUnreachable = async (runtype: string, machine: object = {}) => {
      const id = await throughProxy.rent(key, { runtype }, machine)
      await rentals.converge()
      return id
    }
    const warned = 'this service no longer has an SSH proxy'
    const warningOf = async (id: number) =>
      (await plain.graphql(key, `{ instance(id: ${id}) { connection { warning } } }`)).data.instance.connection.warning
    const freePorts = async (id: number) => {
      const [row] = await plain.sql(
        `SELECT free_ports FROM machines WHERE id = (SELECT machine_id FROM instances WHERE id = ${id})`,
      )
      return (row as { free_ports: number }).free_ports
    }

    it('has a warning over both faces, but not with a proxy', async () => {
      const id = await rentUnreachable('ssh')
      expect(await warningOf(id)).toContain(warned)
      const { status_msg } = await rentals.read(key, id)
      expect(status_msg).toMatch(/^success, running ubuntu\. SSH login is not possible/)
      expect((await throughProxy.read(key, id)).status_msg).toBe('success, running ubuntu')
    })

    it.each([
      ['ssh', [22]],
      ['jupyter', [22, 8080]],
    ])('in the mode %s gets the ports %j only once when it is recycled repeatedly', async (runtype, inside) => {
      const id = await rentUnreachable(runtype)
      const before = await freePorts(id)
      const recycle = () => plain.rest(key, 'PUT', `/instances/recycle/${id}/`, {})
      expect((await Promise.all([recycle(), recycle(), recycle()])).map(({ status }) => status)).toEqual([
        200, 200, 200,
      ])
      await rentals.converge()
      const { sshHost, ports } = await connectionOf(plain, id)
      const given = ports.map(({ containerPort }: { containerPort: number }) => containerPort)
      expect([sshHost, given]).toEqual([address, inside])
      expect(before - (await freePorts(id))).toBe(inside.length)
      // The ports are there, but the machines of this test are simulated.
      expect(await warningOf(id)).toContain('The machine is simulated')
      expect((await rentals.read(key, id)).status_msg).toMatch(/^success, running ubuntu\. The machine is simulated/)
      await recycle()
      await rentals.converge()
      expect((await connectionOf(plain, id)).ports).toEqual(ports)
      await plain.rest(key, 'DELETE', `/instances/${id}/`)
      await rentals.converge()
      expect(await freePorts(id)).toBe(before)
    })

    it('gets its ports only once from repeated launch changes that recycle it', async () => {
      const id = await rentUnreachable('ssh')
      const change = (recycle: boolean) =>
        plain.rest(key, 'PUT', `/instances/update_template/${id}/`, { image: 'debian', recycle })
      expect((await change(false)).status).toBe(200)
      await rentals.converge()
      expect(await connectionOf(plain, id)).toMatchObject(nowhere)
      const changed = await Promise.all([change(true), change(true), change(true)])
      expect(changed.map(({ status }) => status)).toEqual([200, 200, 200])
      await rentals.converge()
      const { sshHost, ports } = await connectionOf(plain, id)
      expect([sshHost, ports.length]).toEqual([address, 1])
    })

    it('keeps using a proxy when a gateway with a proxy recycles it', async () => {
      const id = await rentUnreachable('ssh')
      expect((await proxied.rest(key, 'PUT', `/instances/recycle/${id}/`, {})).status).toBe(200)
      await rentals.converge()
      expect(await connectionOf(proxied, id)).toMatchObject(proxyLogin(id))
    })

    it('is recycled without ports when its machine has no free port', async () => {
      const id = await rentUnreachable('jupyter', { firstPort: 20_000, lastPort: 20_000 })
      expect((await plain.rest(key, 'PUT', `/instances/recycle/${id}/`, {})).status).toBe(200)
      await rentals.converge()
      expect(await connectionOf(plain, id)).toEqual({ host: address, ports: [], ...nowhere })
      expect(await warningOf(id)).toContain(warned)
    })
  })

  it('in args has its ports, but neither SSH nor a notebook, even with the container ports 22 and 8080', async () => {
    const env = { '-p 2222:22': '1', '-p 8080:8080': '1' }
    const id = await rentals.rentToStatus(key, 'running', { runtype: 'args', env })
    const { ports, ...connection } = await connectionOf(proxied, id)
    expect([connection, ports.length]).toEqual([{ host: address, ...nowhere }, 2])
  })
})

it.each([
  ['ssh_direct', 'without a proxy', 0],
  ['ssh_proxy', 'without a proxy', 0],
  ['ssh_proxy', 'with a proxy', 0],
  ['jupyter_direct', 'with a proxy', 0],
  ['jupyter_proxy', 'without a proxy', 0],
  // REST clients add one to the port in this mode.
  ['jupyter_proxy', 'with a proxy', 1],
  ['args', 'without a proxy', 0],
])(
  'shows the same connection over REST and GraphQL for an instance in the mode %s, rented %s',
  async (runtype, where, before) => {
    const renting = where === 'with a proxy' ? throughProxy : rentals
    const id = await renting.rentToStatus(key, 'running', { runtype, env: { '-p 53:53/udp': '1' } })
    for (const app of [plain, proxied]) {
      const connection = await connectionOf(app, id)
      const { body } = await app.rest(key, 'GET', `/instances/${id}/`)
      const { ssh_host, ssh_port, ssh_user, public_ipaddr, ports } = body.instances
      expect({ ssh_host, ssh_port, ssh_user, public_ipaddr }).toEqual({
        ssh_host: connection.sshHost,
        ssh_port: connection.sshPort && connection.sshPort - before,
        ssh_user: connection.sshUser,
        public_ipaddr: connection.host,
      })
      const listed = connection.ports.map(
        ({ containerPort, hostPort, protocol }: { containerPort: number; hostPort: number; protocol: string }) => [
          `${containerPort}/${protocol.toLowerCase()}`,
          [{ HostIp: '0.0.0.0', HostPort: String(hostPort) }],
        ],
      )
      expect(ports).toEqual(Object.fromEntries(listed))
    }
  },
)

it.each(['created', 'stopped', 'exited', 'unknown'])(
  'shows no connection for an instance that is %s, even with a proxy',
  async status => {
    const id = await rentals.rentToStatus(key, status, { runtype: 'jupyter_proxy', env: { '-p 80:80': '1' } })
    expect(await connectionOf(proxied, id)).toBeNull()
    const { body } = await proxied.rest(key, 'GET', `/instances/${id}/`)
    expect(body.instances).toMatchObject({ ssh_host: null, ssh_port: null, ssh_user: null, ports: {} })
  },
)

describe('the log of an instance', () => {
  it('is read with the instance, followed from a cursor, and empty once the instance is destroyed', async () => {
    const id = await rentals.rentToStatus(key, 'running', { onstart: 'echo hello' })
    const { data } = await plain.graphql(
      key,
      `{ instance(id: "${id}") { logs(tail: 2) { cursor printedAt source text } } }`,
    )
    const [first, second] = data.instance.logs
    expect(second).toEqual({
      ...{ cursor: expect.any(String), printedAt: expect.stringMatching(/Z$/), text: expect.any(String) },
      source: expect.stringMatching(/^(MACHINE|STDOUT|STDERR)$/),
    })
    const query = `subscription { instanceLogs(id: "${id}", after: "${first.cursor}") { cursor text } }`
    const stream = await subscribeSse(proxied.fetch, key, query)
    expect((await stream.next())?.data.instanceLogs).toEqual({ cursor: second.cursor, text: second.text })
    await plain.rest(key, 'DELETE', `/instances/${id}/`)
    await rentals.converge()
    await stream.readToEnd()
    const after = await plain.graphql(key, `{ instance(id: "${id}") { logs { text } } }`)
    expect(after.data.instance.logs).toEqual([])
  })

  it.each([0, 1_001])('is refused with a tail of %d', async tail => {
    const id = await rentals.rent(key)
    const { errors } = await plain.graphql(key, `{ instance(id: "${id}") { logs(tail: ${tail}) { text } } }`)
    expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT', issues: [{ path: 'tail' }] } }])
  })

  it('is read with a page of instances, and costs what it can answer', async () => {
    const ask = async (page: string, tail: number) =>
      (await plain.graphql(key, `{ instances${page} { nodes { logs(tail: ${tail}) { text } } } }`)).errors
    expect(await ask('', 1)).toBeUndefined()
    expect(await ask('(first: 100)', 50)).toBeUndefined()
    expect(await ask('(first: 100)', 200)).toMatchObject([{ extensions: { code: 'COST_LIMIT_EXCEEDED' } }])
  })

  it('is read from at most 100 machines per request; further logs are null', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    const ask = async (count: number) => {
      const aliases = Array.from({ length: 26 }, (_, index) => `l${index}: logs(tail: 1) { text }`).join(' ')
      const ids = Array(count).fill(`ins_${id}`)
      const query = `query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Instance { id ${aliases} } } }`
      const { data, errors } = await plain.graphql(key, query, { ids })
      const logs = (data.nodes as Record<string, unknown>[]).flatMap(({ id: _, ...rest }) => Object.values(rest))
      return { read: logs.filter(Boolean).length, refused: logs.filter(log => log === null).length, errors }
    }
    expect(await ask(3)).toEqual({ read: 78, refused: 0, errors: undefined })
    const { errors, ...counts } = await ask(4)
    expect(counts).toEqual({ read: 100, refused: 4 })
    expect(errors?.map(({ extensions }) => extensions['code'])).toEqual(Array(4).fill('COST_LIMIT_EXCEEDED'))
  })

  it('needs a permission beyond reading the instance', async () => {
    const id = await rentals.rent(key)
    const scoped = await plain.newScopedKey(key, { api: { instance_read: { 'instances.get': {} } } })
    const { data, errors } = await plain.graphql(scoped, `{ instance(id: "${id}") { label logs { text } } }`)
    expect([data, errors]).toMatchObject([{ instance: { logs: null } }, [{ extensions: { code: 'FORBIDDEN' } }]])
  })
})

it('runs a command in a running instance, and refuses a command in a stopped instance', async () => {
  const ask = async (id: number) => {
    const query = `mutation { executeCommand(input: { id: "${id}", command: "echo 'a  b'" }) {
      ... on ExecuteCommandSuccess { exitCode output truncated } ... on InvalidStateError { code current { id } } } }`
    return (await plain.graphql(key, query)).data.executeCommand
  }
  expect(await ask(await rentals.rentToStatus(key, 'running'))).toEqual({
    exitCode: 0,
    output: 'a  b\n',
    truncated: false,
  })
  const stopped = await rentals.rentToStatus(key, 'stopped')
  expect(await ask(stopped)).toEqual({ code: 'INVALID_STATE', current: { id: `ins_${stopped}` } })
})

describe('the token of a notebook', () => {
  const tokenOf = async (id: number, by = key) => {
    const query = `{ instance(id: "${id}") { connection { notebookUrl notebookToken } } }`
    const { data, errors } = await serving.graphql(by, query)
    return { token: data.instance.connection.notebookToken, errors }
  }
  const rowOf = async (id: number, by = key) =>
    (await serving.rest(by, 'GET', `/instances/${id}/`)).body.instances as Record<string, unknown>

  it('is made for the instance, or what the renter sets, also as a secret', async () => {
    const rentWith = async (env: object) =>
      await throughProxy.rentToStatus(key, 'running', { runtype: 'jupyter_proxy', env })
    const [first, second] = [await rentWith({}), await rentWith({ JUPYTER_TOKEN: '' })]
    const [one, other] = [(await tokenOf(first)).token, (await tokenOf(second)).token]
    expect([one, other]).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), expect.stringMatching(/^[0-9a-f]{64}$/)])
    expect(one).not.toBe(other)
    expect(await rowOf(first)).toMatchObject({
      ...{ jupyter_token: one, jupyter_url: `https://ins-${first}.notebooks.example.com/` },
    })
    const own = await rentWith({ JUPYTER_TOKEN: 'my own' })
    expect([(await tokenOf(own)).token, (await rowOf(own))['jupyter_token']]).toEqual(['my own', 'my own'])
    const set =
      'mutation { updateSecretVariables(input: {variables: [{name: "JUPYTER_TOKEN", value: "hidden"}]}) { __typename } }'
    const { data } = await serving.graphql(key, set)
    expect(data.updateSecretVariables.__typename).toBe('UpdateSecretVariablesSuccess')
    const secret = await rentWith({})
    expect((await tokenOf(secret)).token).toBe('hidden')
  })

  it('is null if it cannot be read, and harms no other instance', async () => {
    const rent = async () => await throughProxy.rentToStatus(key, 'running', { runtype: 'jupyter_proxy' })
    const [damaged, whole] = [await rent(), await rent()]
    await serving.sql(`UPDATE instances SET secret_env = '\\x00' WHERE id = ${damaged}`)
    const tokens = `{ instances(first: 100) { nodes { id connection { notebookToken } } } }`
    const { data, errors } = await serving.graphql(key, tokens)
    expect(errors).toBeUndefined()
    const tokenIn = (id: number) =>
      data.instances.nodes.find((node: { id: string }) => node.id === `ins_${id}`).connection.notebookToken
    expect([tokenIn(damaged), tokenIn(whole)]).toEqual([null, expect.any(String)])
  })

  it('is null without a notebook, and while the instance does not run', async () => {
    const shell = await throughProxy.rentToStatus(key, 'running', { runtype: 'ssh_proxy' })
    expect(await tokenOf(shell)).toEqual({ token: null, errors: undefined })
    expect(await rowOf(shell)).toMatchObject({ jupyter_token: null, jupyter_url: null })
    const stopped = await throughProxy.rentToStatus(key, 'stopped', { runtype: 'jupyter_proxy' })
    expect(await rowOf(stopped)).toMatchObject({ jupyter_token: null, jupyter_url: null })
  })

  it('is refused to a key that may only read', async () => {
    const id = await throughProxy.rentToStatus(key, 'running', { runtype: 'jupyter_proxy' })
    const reader = await plain.newScopedKey(key, { api: { instance_read: {} } })
    expect(await tokenOf(id, reader)).toMatchObject({ token: null, errors: [{ extensions: { code: 'FORBIDDEN' } }] })
    expect(await rowOf(id, reader)).toMatchObject({ jupyter_token: null, jupyter_url: expect.stringContaining('ins-') })
  })
})
