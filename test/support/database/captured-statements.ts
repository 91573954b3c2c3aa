import pg from 'pg'

/** A statement as it was sent. A named statement is prepared once per connection. */
export type Statement = { text: string; name: string | undefined; values: unknown[] }

/** The lists of those who capture at this moment. */
const captures = new Set<Statement[]>()

let interruption: { statement: RegExp; work: () => Promise<unknown> } | undefined

/** Asks on the connection on which a statement is about to be sent. */
export type Ask = (text: string) => Promise<pg.QueryResult>
type Preview = (statement: Statement, ask: Ask, inTransaction: boolean) => Promise<unknown>

let preview: Preview | undefined

const previewed = new WeakMap<pg.Client, Promise<unknown>>()
/** Statements of a connection may be sent at once: each preview waits for the one ahead. */
function afterPreviews(client: pg.Client, next: () => Promise<unknown>): Promise<unknown> {
  const ready = (previewed.get(client) ?? Promise.resolve()).then(next)
  // A failed one does not stop those behind it.
  const settled = ready.catch(() => {})
  previewed.set(client, settled)
  return ready
}

type Query = string | QueryConfig

type QueryConfig = { text?: string; name?: string; values?: unknown }

/** Every statement of this process goes through here: Prisma's and the handwritten ones. */
const { query } = pg.Client.prototype
pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
  const statement = statementOf(args as [Query, unknown])
  if (statement.text) for (const capture of captures) capture.push(statement)
  const send = (...all: unknown[]) => (query as (...all: unknown[]) => unknown).apply(this, all)
  const { text } = statement
  if (preview && dataStatement.test(text)) {
    const ask: Ask = asked => send(asked) as Promise<pg.QueryResult>
    const before = preview
    const ready = afterPreviews(this, () => before(statement, ask, this.getTransactionStatus() === 'T'))
    const callback = args.at(-1)
    if (typeof callback !== 'function') return ready.then(() => send(...args))
    return void ready.then(
      () => send(...args),
      error => callback(error),
    )
  }
  if (!interruption?.statement.test(text)) return send(...args)
  const { work } = interruption
  interruption = undefined
  const callback = args.at(-1)
  if (typeof callback !== 'function')
    return (send(...args) as Promise<unknown>).then(result => work().then(() => result))
  return send(...args.slice(0, -1), (...result: unknown[]) => void work().finally(() => callback(...result)))
} as typeof query

function statementOf([query, separateValues]: [Query, unknown]): Statement {
  const { text = '', name, values = separateValues }: QueryConfig = typeof query === 'string' ? { text: query } : query
  return { text, name: name || undefined, values: Array.isArray(values) ? values : [] }
}

/**
 * The texts of the statements that the work sends to the database, without those that identify API keys or read all engines:
 * a gateway remembers these for a second, so their number depends on the time.
 */
export async function captureQueries(work: () => Promise<unknown>): Promise<string[]> {
  return (await captureStatements(work)).map(({ text }) => text).filter(text => !readsRemembered.test(text))
}

const readsRemembered =
  /FROM api_keys k JOIN accounts a ON a.id = k.account_id\s+WHERE k.public_id|UPDATE api_keys SET last_used_at|FROM engines$/

/** The statements that the work sends to the database, with their names and values. */
export async function captureStatements(work: () => Promise<unknown>): Promise<Statement[]> {
  const sent: Statement[] = []
  captures.add(sent)
  await work().finally(() => captures.delete(sent))
  return sent
}

/** Statements that read or write rows. */
const dataStatement = /^\s*(WITH|SELECT|UPDATE|INSERT|DELETE)\b/

/** Runs `work`, and `before` ahead of each statement that reads or writes rows. */
export async function previewStatements<T>(work: () => Promise<T>, before: Preview): Promise<T> {
  preview = before
  return await work().finally(() => {
    preview = undefined
  })
}

/** Runs `ask`, and runs `work` once: after the first statement that matches, before the next statement is sent. */
export async function interruptAfterStatement<T>(
  ask: () => Promise<T>,
  statement: RegExp,
  work: () => Promise<unknown>,
): Promise<T> {
  let done = false
  const trackedWork = async () => {
    await work()
    done = true
  }
  interruption = { statement, work: trackedWork }
  const answer = await ask().finally(() => {
    interruption = undefined
  })
  if (!done) throw new Error(`No statement matches ${statement}.`)
  return answer
}
