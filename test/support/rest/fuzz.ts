import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Stock, stockOf } from '../accounts/full-account.ts'
import { startApp, type TestApp } from '../app.ts'
import { type Rentals, rentalsOf } from '../instances/rentals.ts'
import { checkerOf, type Document } from './document.ts'
import { exampleOf } from './examples.ts'
import { everyRoute, requestsOf, type Sent } from './requests.ts'

// FC_SEED repeats a run, FC_RUNS makes it longer.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)

/** What only somebody who reads the program knows. */
const internal =
  /prisma|postgres|sqlstate|violates|relation "|\bzod\b|node_modules|\.ts:\d|\[object |\bundefined\b|\bNaN\b|Unexpected token|at position \d/i
const stockLasts = 40

/** Asks every route so many times: as the document says, nearly so, and otherwise. All answers are of the document. */
export function askEveryRoute({ runs }: { runs: number }): void {
  const numRuns = Number(process.env['FC_RUNS'] ?? runs)
  let app: TestApp
  let rentals: Rentals
  let document: Document
  let check: ReturnType<typeof checkerOf>
  let stock: Stock | undefined
  /** How many requests may have changed or used up something of the stock. */
  let changes = 0
  const answers: { name: string; status: number }[] = []

  beforeAll(async () => {
    app = await startApp()
    rentals = rentalsOf(app)
    document = (await app.rest(undefined, 'GET', '/openapi.json')).body
    check = checkerOf(document)
  })

  afterAll(async () => {
    const byStatus = Object.groupBy(answers, ({ status }) => status)
    const counts = Object.entries(byStatus).map(([status, of]) => `${of?.length} times ${status}`)
    process.stdout.write(`FC_SEED=${seed}: ${answers.length} requests, answered ${counts.join(', ')}\n`)
    await app.close()
  })

  /** An answer to what was sent, or an error that says what is wrong with it. */
  async function ask({ target, ...init }: Sent): Promise<number> {
    const request = new Request(`http://berth.test${target}`, init)
    const [{ pathname }, { method }] = [new URL(request.url), request]
    const response = await app.fetch(request)
    const { status, headers } = response
    const text = await response.text()
    const type = headers.get('content-type') ?? ''
    const problem = status === 500 || status > 501 ? 'it failed' : check({ method, pathname, status, type, text })
    const [leaked] = (status !== 200 && internal.exec(text)) || []
    const echoes = leaked && `${target}${init.body}`.includes(leaked)
    if (!problem && (!leaked || echoes)) return status
    throw new Error(
      `${method} ${target} was answered ${status} ${text.slice(0, 2_000)}: ${problem ?? `it says ${leaked}`}`,
    )
  }

  it.each(everyRoute)('answers whatever is sent to %s as it is documented', async (name, route) => {
    // Every route has choices of its own.
    const start = seed + 100_000 * everyRoute.findIndex(([other]) => other === name)
    for (let run = 0; run < numRuns; run += 5) {
      const usable =
        stock && changes < stockLasts && (await app.rest(stock.keys.whole, 'GET', '/users/current')).status === 200
      if (!stock || !usable) [stock, changes] = [await stockOf(app, rentals), 0]
      const example = await exampleOf(route, { app, rentals, key: stock.keys.whole })
      const property = fc.asyncProperty(requestsOf(route, { document, stock, example }), async sent => {
        const status = await ask(sent)
        answers.push({ name, status })
        if (status === 200 && sent.method !== 'GET') changes += 1
      })
      await fc.assert(property, { seed: start + run, numRuns: Math.min(5, numRuns - run), endOnFailure: true })
    }
    expect(app.log.filter(({ level }) => level === 50)).toEqual([])
  })

  it.runIf(numRuns >= 200)('does at every route at least once what it was asked for', () => {
    const done = new Set(answers.filter(({ status }) => status === 200 || status === 501).map(({ name }) => name))
    expect(everyRoute.map(([name]) => name).filter(name => !done.has(name))).toEqual([])
  })
}
