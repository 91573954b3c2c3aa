import pg from 'pg'

const heard: string[] = []

let meanwhile: { statement: RegExp; work: () => Promise<unknown> } | undefined

type Query = string | { text?: string }

/** Every statement of this process goes through here, Prisma's and our own. */
const { query } = pg.Client.prototype
pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
  const [statement] = args as [Query]
  const text = typeof statement === 'string' ? statement : statement.text
  if (text) heard.push(text)
  const send = (...all: unknown[]) => (query as (...all: unknown[]) => unknown).apply(this, all)
  if (!text || !meanwhile?.statement.test(text)) return send(...args)
  const { work } = meanwhile
  meanwhile = undefined
  const answered = args.at(-1)
  if (typeof answered !== 'function')
    return (send(...args) as Promise<unknown>).then(result => work().then(() => result))
  return send(...args.slice(0, -1), (...result: unknown[]) => void work().finally(() => answered(...result)))
} as typeof query

/** The statements that the work sends to the database. */
export async function queriesOf(work: () => Promise<unknown>): Promise<string[]> {
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
