// Logins of OpenSSH's own client to simulated instances.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { hasSsh, type KeyPair, sshClient } from '../../support/ssh/client.ts'
import { listenForSsh } from '../../support/ssh/server.ts'

const denied = /Permission denied \(publickey\)/

let app: TestApp
let other: TestApp
let server: Awaited<ReturnType<typeof listenForSsh>>
let second: Awaited<ReturnType<typeof listenForSsh>>
let rentals: Rentals
let renter: string
let mine: KeyPair
let stranger: string
let theirs: KeyPair
let running: number
let client: ReturnType<typeof sshClient>

async function addKey(apiKey: string, { publicKey }: KeyPair, instances: number[] = []): Promise<number> {
  const query = `mutation ($publicKey: String!, $ids: [ID!]) { createSshKey(input: {publicKey: $publicKey, instanceIds: $ids}) {
    ... on CreateSshKeySuccess { sshKey { id } } ... on Error { message } } }`
  const ids = instances.map(id => `ins_${id}`)
  const { data } = await app.graphql(apiKey, query, { publicKey, ids })
  return Number(data.createSshKey.sshKey.id.replace('ssh_', ''))
}

const login = (user: string | number, key: KeyPair | undefined, ...command: string[]) =>
  client.ssh({ user: String(user), ...(key && { key }), command })

describe.skipIf(!hasSsh)('an SSH client', () => {
  beforeAll(async () => {
    app = await startApp({ ssh: true, sshProxy: { host: '127.0.0.1', port: 2222 }, metrics: true })
    other = await startApp({ sharedApp: app, ssh: true })
    server = await listenForSsh(socket => app.ssh?.serve(socket))
    second = await listenForSsh(socket => other.ssh?.serve(socket))
    client = sshClient(() => server.port)
    rentals = rentalsOf(app)
    renter = await app.newKey(null, someCredit)
    stranger = await app.newKey(null, someCredit)
    mine = client.newKey()
    theirs = client.newKey()
    await addKey(renter, mine)
    await addKey(stranger, theirs)
    running = await rentals.rentToStatus(renter, 'running')
  })

  afterAll(async () => {
    server.close()
    second.close()
    await other.close()
    await app.close()
    client.remove()
  })

  it('gets the output and the exit code of a command', async () => {
    expect(await login(`ins_${running}`, mine, 'echo', 'hello')).toMatchObject({ code: 0, stdout: 'hello\n' })
    expect(await login(running, mine, 'whoami')).toMatchObject({ code: 0, stdout: 'root\n' })
  })

  it('gets errors apart from output', async () => {
    const { code, stdout, stderr } = await login(running, mine, 'no-such-command')
    expect([code, stdout]).toEqual([127, ''])
    expect(stderr).toContain('sh: no-such-command: not found')
  })

  it('gets a terminal, and the message of the simulated shell', async () => {
    const { code, stdout } = await client.ssh({ user: `ins_${running}`, key: mine, options: ['-tt'] })
    expect([code, stdout]).toEqual([1, 'This machine is simulated: it has no shell to log in to.\r\n'])
  })

  it.each(['ecdsa', 'rsa'])('logs in with an %s key that was added to the running instance', async type => {
    const key = client.newKey(type)
    await addKey(renter, key, [running])
    expect(await login(running, key, 'whoami')).toMatchObject({ code: 0 })
  })

  it('cannot sign with SHA-1', async () => {
    const key = client.newKey('rsa')
    await addKey(renter, key, [running])
    const options = ['-o', 'PubkeyAcceptedAlgorithms=ssh-rsa']
    const { stderr } = await client.ssh({ user: `ins_${running}`, key, options, command: ['whoami'] })
    expect(stderr).toMatch(denied)
  })

  it('is refused with the same words with a wrong key, without a key, as somebody else, and at no instance', async () => {
    const unregistered = client.newKey()
    const refused = await Promise.all([
      login(running, unregistered, 'whoami'),
      login(running, theirs, 'whoami'),
      login(running, undefined, 'whoami'),
      login('ins_999999', mine, 'whoami'),
      login('root', mine, 'whoami'),
      login(`ins_0${running}`, mine, 'whoami'),
      login('9223372036854775808', mine, 'whoami'),
    ])
    expect(refused.map(({ code }) => code)).toEqual(refused.map(() => 255))
    for (const { stderr } of refused) expect(stderr).toMatch(denied)
  })

  it('is refused with a key of the account that the instance does not have', async () => {
    const later = client.newKey()
    await addKey(renter, later)
    expect((await login(running, later, 'whoami')).stderr).toMatch(denied)
  })

  it('is disconnected after six keys that are refused', async () => {
    const wrong = Array.from({ length: 6 }, () => client.newKey().file)
    const options = [...wrong, mine.file].flatMap(file => ['-i', file])
    const { code, stderr } = await client.ssh({ user: `ins_${running}`, options })
    expect([code, stderr]).toEqual([255, expect.stringMatching(/disconnect|closed/i)])
    const five = [...wrong.slice(1), mine.file].flatMap(file => ['-i', file])
    const again = { user: `ins_${running}`, options: five, command: ['whoami'] }
    expect(await client.ssh(again)).toMatchObject({ code: 0 })
  })

  it('learns why an instance cannot be used', async () => {
    const stopped = await rentals.rentToStatus(renter, 'stopped')
    const args = await rentals.rentToStatus(renter, 'running', { runtype: 'args' })
    const destroyed = await rentals.rentToStatus(renter, 'running')
    await app.rest(renter, 'DELETE', `/instances/${destroyed}/`)
    const said = async (id: number) => {
      const { code, stderr } = await login(id, mine, 'whoami')
      expect(code).toBe(255)
      return stderr
    }
    expect(await said(stopped)).toContain(`ins_${stopped} is stopped. Start it first.\n`)
    expect(await said(args)).toContain(`ins_${args} was rented in args mode, which has no SSH.`)
    expect(await said(destroyed)).toContain(`ins_${destroyed} is destroyed.`)
  })

  it('learns that a simulated machine takes no files', async () => {
    const target = `ins_${running}@127.0.0.1`
    const args = [...client.settings(mine), '-P', String(server.port)]
    const sftp = await client.start('sftp', [...args, '-b', '/dev/null', target]).ended
    expect([sftp.code, sftp.stderr]).toEqual([255, expect.stringContaining('it takes and gives no files')])
    const scp = await client.start('scp', [...args, mine.file, `${target}:x`]).ended
    expect([scp.code, scp.stderr]).toEqual([255, expect.stringContaining('it takes and gives no files')])
  })

  it('cannot forward ports of the gateway, and none on which nothing listens', async () => {
    const options = ['-o', 'ExitOnForwardFailure=yes', '-R', '0:127.0.0.1:22']
    const { code, stderr } = await client.ssh({ user: `ins_${running}`, key: mine, options, command: ['whoami'] })
    expect([code, stderr]).toEqual([255, expect.stringContaining('remote port forwarding failed')])
    for (const target of ['127.0.0.1:80', 'example.com:80', '10.0.0.1:22']) {
      const jump = await client.ssh({ user: `ins_${running}`, key: mine, options: ['-W', target] })
      expect(jump.stderr).toContain('open failed: connect failed')
    }
  })

  it('finds the same host key on all gateways', async () => {
    const fingerprint = app.ssh?.fingerprint()
    expect(fingerprint).toMatch(/^SHA256:[\w+/]{43}$/)
    expect(other.ssh?.fingerprint()).toBe(fingerprint)
    expect(client.fingerprintSeen()).toBe(fingerprint)
    const elsewhere = sshClient(() => second.port)
    const { code } = await elsewhere.ssh({ user: `ins_${running}`, key: mine, command: ['whoami'] })
    expect([code, elsewhere.fingerprintSeen()]).toEqual([0, fingerprint])
    elsewhere.remove()
    const rows = (await app.sql("SELECT encode(sealed, 'escape') AS sealed FROM ssh_host_key")) as { sealed: string }[]
    expect(rows).toHaveLength(1)
    expect(rows[0]?.sealed).not.toContain('PRIVATE KEY')
  })

  it.each<[string, (keyId: number, id: number) => Promise<unknown>]>([
    ['was removed', (keyId, id) => app.rest(renter, 'DELETE', `/instances/${id}/ssh/${keyId}/`)],
    ['was removed', keyId => app.rest(renter, 'DELETE', `/ssh/${keyId}/`)],
    ['was destroyed', (_, id) => app.rest(renter, 'DELETE', `/instances/${id}/`)],
  ])('is disconnected when its key or its instance %s', async (_, end) => {
    const id = await rentals.rentToStatus(renter, 'running')
    const key = client.newKey()
    const keyId = await addKey(renter, key, [id])
    const session = client.startSsh({ user: `ins_${id}`, key, options: ['-N', '-v'], input: null })
    await expect.poll(countOpen).toBe(1)
    await end(keyId, id)
    expect(await session.ended).toMatchObject({ code: 255, stderr: expect.stringContaining('Connection') })
    expect((await login(id, key, 'whoami')).code).toBe(255)
  })

  it('is disconnected when an operator disables the account, and told so until it is enabled', async () => {
    const owner = await app.newKey(null, someCredit)
    const key = client.newKey()
    await addKey(owner, key)
    const id = await rentals.rentToStatus(owner, 'running')
    const session = client.startSsh({ user: `ins_${id}`, key, options: ['-N', '-v'], input: null })
    await expect.poll(countOpen).toBe(1)
    const [row] = (await app.sql(`SELECT account_id FROM instances WHERE id = ${id}`)) as { account_id: number }[]
    const account = { id: row?.account_id as number }
    await other.operations.accounts.disable(account, { reason: 'Fraud.', keepInstances: true })
    expect(await session.ended).toMatchObject({ code: 255, stderr: expect.stringContaining('Connection') })
    const { stderr } = await login(id, key, 'whoami')
    expect(stderr).toContain('An operator of the service has disabled the account.')
    await other.operations.accounts.enable(account)
    expect(await login(id, key, 'whoami')).toMatchObject({ code: 0 })
  })

  it('is counted and logged, without what it sent', async () => {
    app.logLines.length = 0
    await login(running, mine, 'echo', 'a-secret-word')
    await login('a-secret-name', mine, 'whoami')
    const lines = () => app.logLines.filter(({ msg }) => msg === 'ssh')
    await expect.poll(() => lines().length).toBeGreaterThanOrEqual(2)
    expect(lines().slice(-2)).toMatchObject([
      { outcome: 'accepted', instanceId: String(running), fingerprint: expect.stringMatching(/^SHA256/) },
      { outcome: 'refused', refusals: 1, address: '127.0.0.1' },
    ])
    expect(JSON.stringify(app.logLines)).not.toContain('a-secret')
    expect(await readMetrics()).toMatch(/berth_ssh_logins_total\{outcome="refused"\} [1-9]/)
  })

  it('is told the address of the gateway in answers', async () => {
    const { data } = await app.graphql(renter, `{ instance(id: "ins_${running}") { connection { sshCommand } } }`)
    expect(data.instance.connection.sshCommand).toBe(`ssh -p 2222 ins_${running}@127.0.0.1`)
  })
})

async function readMetrics(): Promise<string> {
  return await (await app.fetch(new Request('http://berth.test/metrics'))).text()
}

async function countOpen(): Promise<number> {
  const [, count] = /^berth_ssh_connections (\d+)$/m.exec(await readMetrics()) ?? []
  return Number(count)
}
