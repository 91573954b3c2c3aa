// No secret that a client sends or gets is found afterwards in what the gateway writes: its output, log, metrics, traces,
// answers that refuse, and the database with its events and its ledger.

import { once } from 'node:events'
import pg from 'pg'
import { Client } from 'ssh2'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { createSecrets } from '../../src/services/secrets.ts'
import { createDatabase, type TestDatabase } from '../support/database/database.ts'
import { dumpDatabase } from '../support/database/dump.ts'
import { freePort } from '../support/engine/registry.ts'
import { type HostProcess, startHosts } from '../support/machines/host-processes.ts'
import { engineFacts, joinAsHost } from '../support/machines/hosts.ts'
import {
  type GatewayProcess,
  makeDataDir,
  type RunningProgram,
  runBerth,
  startGateway,
  stopProgram,
} from '../support/processes/programs.ts'
import { writeTraceSetup } from '../support/processes/trace-setup.ts'
import { openRawSocket } from '../support/streams.ts'
import { openReceiver, type Receiver } from '../support/webhooks/receiver.ts'

/** What clients send. Each is found by its own value. */
const sent = {
  registryPassword: 'Canary-registry-51c0a9',
  templatePassword: 'Canary-template-c81f20',
  imageLogin: 'Canary-login-9e7b14',
  secretEnv: 'Canary-env-0d3f62',
  changedEnv: 'Canary-changed-77a1c3',
  secretVariable: 'Canary-variable-b40e98',
  notebookToken: 'Canary-notebook-2f6d75',
  wrongNotebookToken: 'Canary-wrongbook-a95c01',
  webhookPath: 'Canary-webhook-e2904b',
  changedWebhookPath: 'Canary-rehooked-64bb8d',
  privateKey: 'CanaryPrivateKey18d5fe',
  sshPassword: 'Canary-ssh-3ca07b',
  wrongKey: 'berth_canarycanary_WrongKey90ffe1',
  socketKey: 'berth_canarycanary_SocketKey5e8c02',
  hostSocketKey: `berth_host_CanarySocket${'3f9d'.repeat(8)}`,
  queryKey: 'berth_canarycanary_QueryKey7d21b6',
  invite: 'berth_invite_Canary5b88d0',
  hostKey: 'berth_host_Canary0a11c7',
  badType: 'Canary-type-f3e6a2',
  badJson: 'Canary-json-81d94c',
  badSyntax: 'Canary-syntax-26c7f0',
  onStart: 'Canary-onstart-d5a3e9',
  command: 'Canary-command-4907be',
  idempotencyKey: 'Canary-idempotency-c6f18a',
}

/** Where a value may be all the same, and why. */
const exceptions: Partial<Record<keyof typeof sent, { place: string; why: string }>> = {
  onStart: { place: 'database', why: 'The renter reads it again as part of the launch. Secrets belong in variables.' },
  idempotencyKey: { place: 'database', why: 'It names a request, and opens nothing.' },
}

const ownSecret = 'CanaryBerthSecret7f02be'
let database: TestDatabase
let folder: Awaited<ReturnType<typeof makeDataDir>>
let gateway: GatewayProcess
let receiver: Receiver
/** Gets the spans. */
let collector: Receiver
let traceSetup: Awaited<ReturnType<typeof writeTraceSetup>>
let agent: HostProcess
const programs: RunningProgram[] = []
let key: string
/** What the gateway made, with what it is. */
const made = new Map<string, string>()
/** Answers that refuse. */
const refusals: string[] = []
let [sshPort, notebookPort] = [0, 0]

beforeAll(async () => {
  database = await createDatabase()
  folder = await makeDataDir()
  receiver = await openReceiver()
  collector = await openReceiver()
  traceSetup = await writeTraceSetup(collector.url)
  sshPort = await freePort()
  notebookPort = await freePort()
  gateway = await startGateway({
    ...{ BERTH_DATA_DIR: folder.dataDir, DATABASE_URL: database.url, BERTH_SECRET: ownSecret },
    ...{ DEMO_MARKET: 'true', SIMULATED_DELAY: '0', LOG_LEVEL: 'trace', WEBHOOK_PRIVATE_ADDRESSES: 'true' },
    ...{ SSH_PORT: String(sshPort), NOTEBOOK_PORT: String(notebookPort), ...traceSetup.env },
  })
  programs.push(gateway)
  const account = await berth('account', 'create', '--email', 'ada@example.com', '--credit', '1000')
  key = keep('API key', account.apiKey)
})

afterAll(async () => {
  // They have ended, unless the test has failed.
  for (const { child } of programs) child.kill('SIGKILL')
  await receiver.close()
  await collector.close()
  await traceSetup.remove()
  await folder.remove()
  await database.drop()
})

async function berth(...args: string[]) {
  const env = { BERTH_DATA_DIR: folder.dataDir, DATABASE_URL: database.url, BERTH_SECRET: ownSecret }
  const { code, result, errors } = await runBerth(env, ...args)
  expect([code, errors]).toEqual([0, ''])
  return result
}

function keep(what: string, secret: unknown): string {
  expect(secret, what).toMatch(/\w{12}/)
  made.set(what, String(secret))
  return String(secret)
}

async function ask(method: string, path: string, body?: unknown, apiKey = key) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` }
  const response = await fetch(`${gateway.url}${path}`, { method, headers, ...(body !== undefined && { body: text }) })
  const answer = await response.text()
  const isRefusal = response.status >= 400 || /"errors"|"(?:Error|\w+Error)"|"success":false/.test(answer)
  if (isRefusal) refusals.push(answer)
  return { status: response.status, isRefusal, answer, body: parse(answer) }
}

// biome-ignore lint/suspicious/noExplicitAny: the shape depends on the request
function parse(text: string): any {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function gql(query: string, variables?: object, apiKey?: string) {
  return await ask('POST', '/graphql', { query, variables }, apiKey)
}
async function answerOf(field: string, input: object, success: string) {
  const name = `${field[0]?.toUpperCase()}${field.slice(1)}`
  const query = `mutation ($input: ${name}Input!) { answer: ${field}(input: $input) {
    __typename ... on ${name}Success { ${success} } ... on Error { code message } } }`
  const { answer, body } = await gql(query, { input })
  return { text: answer, answer: body?.data?.answer ?? {} }
}
async function mutate(field: string, input: object, success: string) {
  const { answer, text } = await answerOf(field, input, success)
  expect(answer.__typename, text).toMatch(/Success$/)
  return answer
}
async function refuse(field: string, input: object, success: string) {
  const { answer, text } = await answerOf(field, input, success)
  expect(answer.code, text).toMatch(/^[A-Z_]+$/)
}

const hostedMachine = 1

/** A host joins, and its agent connects: all that its containers get goes through it. */
async function joinHost(): Promise<void> {
  const id = ['--id', String(hostedMachine)]
  await berth('machine', 'set', ...id, '--vmsEnabled', 'false', '--cpuArch', 'amd64')
  const invite = await berth('machine', 'invite', ...id, '--gpu-access', 'none')
  const host = await joinAsHost(gateway.url, {
    ...{
      token: keep('invite', invite.token),
      facts: engineFacts('of a host', { cpuCores: 1_024, cpuRamMb: 4_000_000 }),
    },
  })
  agent = await startHosts({ gateway: gateway.url, keys: [keep('key of a host', host.key)], database: database.url })
  programs.push(agent)
}

const findOffer = async (machineId?: number) => {
  const on = machineId === undefined ? 'verified: true' : `machineId: { eq: "mch_${machineId}" }`
  const query = `{ offers(first: 1, filter: { ${on}, availability: AVAILABLE }) { nodes { id } } }`
  return (await gql(query)).body.data.offers.nodes[0].id as string
}
const registry = { host: 'ghcr.io', username: 'ada', password: sent.registryPassword }

async function rentEverything(): Promise<string> {
  const spec = {
    ...{ source: { image: 'ubuntu' }, mode: { jupyter: {} }, registry, onStart: `echo ${sent.onStart}` },
    env: [
      { name: 'TOKEN', value: sent.secretEnv, secret: true },
      { name: 'JUPYTER_TOKEN', value: sent.notebookToken, secret: true },
    ],
  }
  const rent = { offerId: await findOffer(hostedMachine), spec, idempotencyKey: sent.idempotencyKey }
  const { instance } = await mutate('rentInstance', rent, 'instance { id }')
  // The same key for another request is refused.
  await refuse('rentInstance', { ...rent, spec: { source: { image: 'debian' } } }, 'instance { id }')
  const offer = (await findOffer()).replace(/\D/g, '')
  const login = { image: 'ubuntu', image_login: `-u ada -p ${sent.imageLogin} ghcr.io`, runtype: 'ssh_proxy' }
  const rented = await ask('PUT', `/api/v0/asks/${offer}/`, login)
  keep('key of an instance', rented.body.instance_api_key)
  await ask('PUT', '/api/v0/asks/999999999/', login)
  const broken = { image: 'simulated/no-start', disk: 16, env: { '-x': sent.badType }, image_login: sent.imageLogin }
  expect((await ask('PUT', `/api/v0/asks/${offer}/`, broken)).isRefusal).toBe(true)
  return instance.id
}

async function changeEverything(instance: string): Promise<void> {
  const variable = { name: 'HIDDEN', value: sent.secretVariable }
  await mutate('updateSecretVariables', { variables: [variable] }, '__typename')
  await refuse('updateSecretVariables', { variables: [{ ...variable, name: 'not a name' }] }, '__typename')
  const template = {
    ...{ name: 'trainer', image: 'ubuntu', registry: { ...registry, password: sent.templatePassword } },
    env: [{ name: 'TOKEN', value: sent.changedEnv, secret: true }],
  }
  await mutate('createTemplate', template, 'template { id }')
  await refuse('createTemplate', { ...template, public: true }, 'template { id }')
  const kinds = ['API_KEY_CREATED', 'SSH_KEY_CREATED', 'WEBHOOK_UPDATED']
  const url = `${receiver.url}/${sent.webhookPath}?token=${sent.webhookPath}`
  const hook = await mutate('createWebhook', { url, kinds }, 'secret webhook { id }')
  keep('secret of a webhook', hook.secret)
  const { id } = hook.webhook
  keep('new secret of a webhook', (await mutate('rotateWebhookSecret', { id }, 'secret')).secret)
  await refuse('createWebhook', { url: `ftp://${sent.webhookPath}/`, kinds }, 'secret')
  const apiKey = await mutate('createApiKey', { name: 'made', fullAccess: true }, 'secret apiKey { id }')
  keep('secret of an API key', apiKey.secret)
  await mutate('rotateApiKeySecret', { id: apiKey.apiKey.id }, 'secret').then(({ secret }) =>
    keep('rotated key', secret),
  )
  const closed = `http://127.0.0.1:1/${sent.changedWebhookPath}`
  await expect.poll(() => receiver.received.length, slowly).toBeGreaterThan(0)
  await mutate('updateWebhook', { id, url: closed }, 'webhook { id }')
  await mutate('testWebhook', { id }, 'delivery { id }')
  const deliveries = `query ($id: ID!) { node(id: $id) { ... on Webhook { recentDeliveries { error } } } }`
  await expect.poll(async () => (await gql(deliveries, { id })).answer, slowly).toContain('The connection failed')
  const status = 'query ($id: ID!) { instance(id: $id) { status connection { notebookToken } } }'
  await expect.poll(async () => (await gql(status, { id: instance })).body.data.instance.status, slowly).toBe('RUNNING')
  await mutate('executeCommand', { id: instance, command: `echo ${sent.command}` }, 'output')
  const number = instance.replace(/\D/g, '')
  const command = await ask('PUT', `/api/v0/instances/command/${number}/`, { command: 'ls /' })
  const result = new URL(command.body.result_url)
  keep('link to a result', result.searchParams.get('token'))
  await ask('GET', `${result.pathname}${result.search}`)
  keep('unused invite', (await berth('machine', 'invite', '--id', '2')).token)
}

async function failEverywhere(instance: string): Promise<void> {
  const privateKey = `-----BEGIN OPENSSH PRIVATE KEY-----\n${sent.privateKey}\n-----END OPENSSH PRIVATE KEY-----`
  await refuse('createSshKey', { publicKey: privateKey }, 'sshKey { id }')
  await ask('POST', '/api/v0/ssh/', { ssh_key: privateKey })
  await gql('{ viewer { apiKey { id } } }', {}, sent.wrongKey)
  await ask('GET', `/api/v0/users/current/?api_key=${sent.queryKey}`, undefined, '')
  await ask('GET', `/api/v0/nowhere/?api_key=${sent.queryKey}`)
  await ask('PUT', '/api/v0/asks/1/', `{"image_login": "${sent.badJson}`)
  await ask('POST', '/graphql', `{"query": "${sent.badJson}`)
  await gql(`mutation { updateSecretVariables(input: { variables: [{ name: "A", value: "${sent.badSyntax}" `)
  const input = { offerId: 'off_1', spec: { source: { image: 'a' }, registry: { password: { secret: sent.badType } } } }
  await gql('mutation ($input: RentInstanceInput!) { rentInstance(input: $input) { __typename } }', { input })
  await ask('POST', '/host/join', { key: sent.hostKey, facts: {} }, sent.invite)
  await ask('GET', '/host/toolbox', undefined, sent.hostKey)
  await openSockets()
  await askNotebook(instance, sent.wrongNotebookToken)
  await askNotebook(instance, sent.notebookToken)
  const client = new Client()
  client.connect({ host: '127.0.0.1', port: sshPort, username: instance, password: sent.sshPassword })
  await once(client, 'ready').catch(() => client.end())
}

/** Sockets of clients and of hosts, with keys that are valid and with others. */
async function openSockets(): Promise<void> {
  for (const [secret, isValid] of [
    [key, true],
    [sent.socketKey, false],
  ] as const) {
    const { socket, heard, closed, say } = await openRawSocket(gateway.url)
    say({ type: 'connection_init', payload: { authorization: `Bearer ${secret}` } })
    if (isValid) await expect.poll(() => heard, slowly).toEqual([{ type: 'connection_ack' }])
    else refusals.push(String(await closed))
    socket.terminate()
  }
  const url = `${gateway.url.replace('http', 'ws')}/host`
  const host = new WebSocket(url, ['berth.host.2'], { headers: { authorization: `Bearer ${sent.hostSocketKey}` } })
  host.on('error', () => {})
  const [, response] = await once(host, 'unexpected-response')
  let text = ''
  for await (const part of response) text += part
  refusals.push(text)
}

async function askNotebook(instance: string, token: string): Promise<void> {
  const host = `${instance.replace('_', '-')}.localhost:${notebookPort}`
  const { request } = await import('node:http')
  const path = `/lab?token=${token}`
  const [response] = await once(
    request({ host: '127.0.0.1', port: notebookPort, path, headers: { host } }).end(),
    'response',
  )
  let text = JSON.stringify(response.headers)
  for await (const part of response) text += part
  refusals.push(text)
}

/** What opens the gateways, the database and what is sealed in it. */
async function keepOwnSecrets(): Promise<void> {
  keep('secret of the gateways', ownSecret)
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const { rows } = await client.query('SELECT sealed FROM ssh_host_key').finally(() => client.end())
  const lines = createSecrets(ownSecret).open(rows[0].sealed).split('\n')
  keep('host key of SSH', lines.at(Math.floor(lines.length / 2)))
}

const slowly = { timeout: 60_000, interval: 200 }

/** A value as text, as bytes in hexadecimal, and in Base64 after any bytes. */
function formsOf(value: string): string[] {
  const bytes = Buffer.from(value)
  const base64 = [0, 1, 2].map(before => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    // The first and the last characters also depend on what is around.
    return text.slice(before === 0 ? 0 : 4, -4)
  })
  return [value, encodeURIComponent(value), bytes.toString('hex'), ...base64]
}

const finds = (text: string, value: string) =>
  formsOf(value).some(form => text.includes(form) || text.includes(form.replaceAll('+', '-').replaceAll('/', '_')))

it('finds a value in each of its forms', () => {
  for (const before of ['', 'a', 'ab']) {
    const text = `${before}${sent.secretEnv} and more`
    for (const coding of ['utf8', 'hex', 'base64', 'base64url'] as const)
      expect(finds(Buffer.from(text).toString(coding), sent.secretEnv), coding).toBe(true)
  }
  expect(finds(Buffer.from('nothing of it').toString('base64'), sent.secretEnv)).toBe(false)
})

it('finds no secret after a session that uses and breaks everything', { timeout: 180_000 }, async () => {
  await joinHost()
  const instance = await rentEverything()
  await changeEverything(instance)
  await failEverywhere(instance)
  await mutate('destroyInstance', { id: instance }, 'instance { id }')
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text()
  const dump = await dumpDatabase(database.url)
  await keepOwnSecrets()
  expect(await stopProgram(agent)).toBe(0)
  expect(await stopProgram(gateway)).toBe(0)
  const places = {
    ...{
      database: dump,
      metrics,
      output: gateway.output(),
      log: gateway.errors(),
      agent: agent.output() + agent.errors(),
    },
    refusals: refusals.join('\n'),
    // The gateway has sent the last ones before its end.
    traces: collector.received.map(({ body }) => body).join('\n'),
  }
  // What is no secret is found, so each place has what was searched.
  expect(finds(places.database, 'ada@example.com')).toBe(true)
  expect(places.metrics).toContain('berth_http_requests_total')
  expect(places.output).toMatch(/^Berth [\d.]+ is ready\.$/m)
  expect(places.log).toContain('"path":"/api/v0/users/current/"')
  expect(places.agent).toContain('connected')
  for (const name of ['POST /graphql', 'PUT /api/v0/asks/{id}/', 'mutation', 'due instances', 'agent ensure'])
    expect(places.traces).toContain(JSON.stringify(name))
  expect(refusals.length).toBeGreaterThan(15)
  const secrets = [...Object.entries(sent), ...made]
  const found = secrets.flatMap(([what, value]) =>
    Object.entries(places)
      .filter(([place, text]) => finds(text, value) && exceptions[what as keyof typeof sent]?.place !== place)
      .map(([place]) => `${what} in ${place}`),
  )
  expect(found).toEqual([])
  // An exception that is not needed is none.
  for (const [what, { place, why }] of Object.entries(exceptions))
    expect(finds(places[place as keyof typeof places], sent[what as keyof typeof sent]), `${what}: ${why}`).toBe(true)
})
