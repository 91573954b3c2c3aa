import pg from 'pg'

const heard: string[] = []

type Query = string | { text?: string }

/** Every statement of this process goes through here, Prisma's and our own. */
const { query } = pg.Client.prototype
pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
  const [statement] = args as [Query]
  const text = typeof statement === 'string' ? statement : statement.text
  if (text) heard.push(text)
  return (query as (...all: unknown[]) => unknown).apply(this, args)
} as typeof query

/** The statements that the work sends to the database. */
export async function queriesOf(work: () => Promise<unknown>): Promise<string[]> {
  const start = heard.length
  await work()
  return heard.slice(start)
}
