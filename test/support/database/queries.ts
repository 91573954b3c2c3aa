import pg from 'pg'

/** A statement as it was sent. One with a name is prepared once per connection. */
export type Statement = { text: string; name: string | undefined; values: unknown[] }

const heard: Statement[] = []

let meanwhile: { statement: RegExp; work: () => Promise<unknown> } | undefined

type Query = string | Config

type Config = { text?: string; name?: string; values?: unknown[] }

/** Every statement of this process goes through here, Prisma's and our own. */
const { query } = pg.Client.prototype
pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
  const [statement, given] = args as [Query, unknown]
  const { text, name, values = given } = typeof statement === 'string' ? { text: statement } : (statement as Config)
  if (text) heard.push({ text, name: name || undefined, values: Array.isArray(values) ? values : [] })
  const send = (...all: unknown[]) => (query as (...all: unknown[]) => unknown).apply(this, all)
  if (!text || !meanwhile?.statement.test(text)) return send(...args)
  const { work } = meanwhile
  meanwhile = undefined
  const answered = args.at(-1)
  if (typeof answered !== 'function')
    return (send(...args) as Promise<unknown>).then(result => work().then(() => result))
  return send(...args.slice(0, -1), (...result: unknown[]) => void work().finally(() => answered(...result)))
} as typeof query

/** The texts of the statements that the work sends to the database. */
export async function queriesOf(work: () => Promise<unknown>): Promise<string[]> {
  return (await statementsOf(work)).map(({ text }) => text)
}

/** The statements that the work sends to the database, with their names and values. */
export async function statementsOf(work: () => Promise<unknown>): Promise<Statement[]> {
  const start = heard.length
  await work()
  return heard.slice(start)
}

/** What is asked, of which a statement is followed by other work before the next one is sent. */
export async function interrupted<T>(
  ask: () => Promise<T>,
  statement: RegExp,
  work: () => Promise<unknown>,
): Promise<T> {
  let done = false
  const noted = async () => {
    await work()
    done = true
  }
  meanwhile = { statement, work: noted }
  const answer = await ask().finally(() => {
    meanwhile = undefined
  })
  if (!done) throw new Error(`No statement was like ${statement}`)
  return answer
}
