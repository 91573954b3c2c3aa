import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createFullAccount, type FullAccount } from '../accounts/full-account.ts'
import { startApp, type TestApp } from '../app.ts'
import { type Rentals, rentalsOf } from '../instances/rentals.ts'
import { createAnswerChecker, type OpenApiDocument } from './answer-checker.ts'
import { createExample } from './examples.ts'
import { everyRoute, type GeneratedRequest, requestArbitrary } from './request-arbitraries.ts'

// FC_SEED repeats a run, FC_RUNS makes it longer.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)

/** Internal details that no failure may contain. */
const internalDetails =
  /prisma|postgres|sqlstate|violates|relation "|\bzod\b|node_modules|\.ts:\d|\[object |\bundefined\b|\bNaN\b|Unexpected token|at position \d/i
const changesPerAccount = 40

/** Sends every route `runs` valid, nearly valid and invalid requests. All answers must match the OpenAPI document. */
export function fuzzEveryRoute({ runs }: { runs: number }): void {
  const numRuns = Number(process.env['FC_RUNS'] ?? runs)
  let app: TestApp
  let rentals: Rentals
  let document: OpenApiDocument
  let check: ReturnType<typeof createAnswerChecker>
  let account: FullAccount | undefined
  /** Number of requests that may have changed or used up data of the account. */
  let changes = 0
  const answers: { name: string; status: number }[] = []

  beforeAll(async () => {
    app = await startApp()
    rentals = rentalsOf(app)
    document = (await app.rest(undefined, 'GET', '/openapi.json')).body
    check = createAnswerChecker(document)
  })

  afterAll(async () => {
    const byStatus = Object.groupBy(answers, ({ status }) => status)
    const counts = Object.entries(byStatus).map(([status, of]) => `${of?.length} times ${status}`)
    process.stdout.write(`FC_SEED=${seed}: ${answers.length} requests, answered ${counts.join(', ')}\n`)
    await app.close()
  })

  /** Sends a request and returns its status, or throws if the answer is wrong. */
  async function sendRequest({ target, ...init }: GeneratedRequest): Promise<number> {
    const request = new Request(`http://berth.test${target}`, init)
    const [{ pathname }, { method }] = [new URL(request.url), request]
    const response = await app.fetch(request)
    const { status, headers } = response
    const text = await response.text()
    const type = headers.get('content-type') ?? ''
    const problem =
      status === 500 || status > 501 ? 'the gateway failed' : check({ method, pathname, status, type, text })
    const [leaked] = (status !== 200 && internalDetails.exec(text)) || []
    const isEcho = leaked && `${target}${init.body}`.includes(leaked)
    if (!problem && (!leaked || isEcho)) return status
    throw new Error(
      `${method} ${target} was answered ${status} ${text.slice(0, 2_000)}: ${problem ?? `the answer contains ${leaked}`}`,
    )
  }

  it.each(everyRoute)('answers every request to %s as documented', async (name, route) => {
    // Every route has its own seeds.
    const start = seed + 100_000 * everyRoute.findIndex(([other]) => other === name)
    for (let run = 0; run < numRuns; run += 5) {
      const isUsable =
        account &&
        changes < changesPerAccount &&
        (await app.rest(account.keys.whole, 'GET', '/users/current')).status === 200
      if (!account || !isUsable) [account, changes] = [await createFullAccount(app, rentals), 0]
      const example = await createExample(route, { app, rentals, key: account.keys.whole })
      const property = fc.asyncProperty(requestArbitrary(route, { document, stock: account, example }), async sent => {
        const status = await sendRequest(sent)
        answers.push({ name, status })
        if (status === 200 && sent.method !== 'GET') changes += 1
      })
      await fc.assert(property, { seed: start + run, numRuns: Math.min(5, numRuns - run), endOnFailure: true })
    }
    expect(app.logLines.filter(({ level }) => level === 50)).toEqual([])
  })

  it.runIf(numRuns >= 200)('has at least one success on every route', () => {
    const done = new Set(answers.filter(({ status }) => status === 200 || status === 501).map(({ name }) => name))
    expect(everyRoute.map(([name]) => name).filter(name => !done.has(name))).toEqual([])
  })
}
